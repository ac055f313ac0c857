// A fleet of 10,000 agents in the console, at night: few rows are drawn at a time, and a sort is of all of them.
import { beforeAll, expect } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const agents = 10_000;
/** Rows in the document: what is seen and a little around it. */
const maxDrawn = 80;

const { hub, cookie } = await tenantOfFile();

beforeAll(async () => {
  const { key } = await hub.key(cookie);
  const events = Array.from({ length: agents }, (_, n) => ({
    call_id: `c${n}`,
    agent_id: `agent-${n}`,
    tool_name: 'read_file',
    verdict: 'call_allowed',
  }));
  for (let at = 0; at < agents; at += 1_000) {
    const { status } = await hub.call('POST', '/api/v1/events', {
      key,
      agent: 'agent-0',
      body: { events: events.slice(at, at + 1_000) },
    });
    expect(status).toBeLessThan(300);
  }
}, 120_000);

itAtNight(
  'draws few of thousands of rows at a time, and reads all of them before it sorts',
  {
    timeout: 120_000,
  },
  async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/fleet?view=agents');
    const table = page.getByRole('grid', { name: 'Agents' });
    await table.getByText('agent-0', { exact: true }).waitFor();
    // A descending sort by name begins with the last of all, not with the last that happened to be loaded.
    const head = table.getByRole('button', { name: 'Agent', exact: true });
    await head.click();
    await head.click();
    await table.getByText(`agent-${agents - 1}`, { exact: true }).waitFor({ timeout: 60_000 });
    await page.getByText(agents.toLocaleString('en'), { exact: false }).first().waitFor();
    expect(await table.getByRole('row').count()).toBeLessThan(maxDrawn);
    const region = page.getByRole('region', { name: 'agents' });
    for (let step = 1; step <= 20; step += 1) {
      await region.evaluate((box, share) => {
        box.scrollTop = box.scrollHeight * share;
      }, step / 20);
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      expect(await table.getByRole('row').count()).toBeLessThan(maxDrawn);
    }
    await table.getByText('agent-0', { exact: true }).waitFor();
    await accessible(page);
    noFaults(seen);
    await seen.context.close();
  },
);
