// A fleet with more agents than a list loads: few rows are drawn at a time, a sort covers the loaded rows, and a query
// finds the others.
import { beforeAll, expect, it } from 'vitest';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const agents = 2_300;
/** Rows that a list loads. */
const maxRows = 2_000;
/** Rows in the document: what is seen and a little around it. */
const maxDrawn = 80;
const nameOf = (n: number): string => `agent-${String(n).padStart(4, '0')}`;

const { hub, cookie } = await tenantOfFile();

beforeAll(async () => {
  const { key } = await hub.key(cookie);
  const events = Array.from({ length: agents }, (_, n) => ({
    call_id: `c${n}`,
    agent_id: nameOf(n),
    tool_name: 'read_file',
    verdict: 'call_allowed',
  }));
  for (let at = 0; at < agents; at += 1_000) {
    const { status } = await hub.call('POST', '/api/v1/events', {
      key,
      agent: nameOf(0),
      body: { events: events.slice(at, at + 1_000) },
    });
    expect(status).toBeLessThan(300);
  }
}, 120_000);

it('draws few of thousands of rows at a time, and loads at most 2,000', { timeout: 120_000 }, async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/fleet?view=agents');
  const table = page.getByRole('grid', { name: 'Agents' });
  await table.getByText(nameOf(0), { exact: true }).waitFor();
  // A descending sort by name begins with the last loaded row, once all of these are there.
  const head = table.getByRole('button', { name: 'Agent', exact: true });
  await head.click();
  await head.click();
  await page.getByText('2,000 agents loaded. For others, narrow the list').waitFor({ timeout: 60_000 });
  await table.getByText(nameOf(maxRows - 1), { exact: true }).waitFor();
  expect(await table.getByRole('row').count()).toBeLessThan(maxDrawn);
  const region = page.getByRole('region', { name: 'agents' });
  for (let step = 1; step <= 20; step += 1) {
    await region.evaluate((box, share) => {
      box.scrollTop = box.scrollHeight * share;
    }, step / 20);
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    expect(await table.getByRole('row').count()).toBeLessThan(maxDrawn);
  }
  await table.getByText(nameOf(0), { exact: true }).waitFor();
  await page.waitForTimeout(500);
  expect(await table.getAttribute('aria-rowcount')).toBe(String(maxRows + 1));
  await page.getByRole('combobox', { name: 'Query' }).fill(`agent:${nameOf(agents - 1)}`);
  await page.keyboard.press('Enter');
  await table.getByText(nameOf(agents - 1), { exact: true }).waitFor();
  await accessible(page);
  noFaults(visit);
  await visit.context.close();
});
