// Home: the figures of the fleet follow the agents by the stream alone, in every tab.
import { describe, expect, it } from 'vitest';
import { AgentStreams } from './agent-streams.ts';
import { noFaults, view } from './browser.ts';
import { hubOfFile } from './file-hub.ts';

const { hub, cookie } = await hubOfFile();

describe('the figures of the fleet', () => {
  it('follow agents that come and go, without asking for their list', async () => {
    const { key } = await hub.key(cookie);
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    const asked: string[] = [];
    seen.context.on('request', (request) => asked.push(request.url()));
    const connected = (tab: typeof page, value: string) =>
      tab.locator('.figure', { hasText: 'Connected agents' }).getByText(value, { exact: true }).waitFor();
    await page.goto('/dashboard/');
    await connected(page, '0');
    const agents = new AgentStreams(hub, key);
    await agents.open('agent-7');
    await connected(page, '1');
    // A tab that is opened later shares the connection, which told the numbers before.
    const later = await seen.context.newPage();
    await later.goto('/dashboard/');
    await connected(later, '1');
    agents.close();
    await connected(page, '0');
    await connected(later, '0');
    // The first steps of a new hub ask for one agent, to name it.
    const lists = asked.filter((url) => url.includes('/agents/status') && !url.endsWith('?limit=1'));
    expect(lists).toEqual([]);
    noFaults(seen);
    await seen.context.close();
  });
});

it('has figures and a chart of the chosen environment', async () => {
  for (const [env, calls] of [
    ['production', 3],
    ['staging', 2],
  ] as const) {
    const { key } = await hub.key(cookie, env);
    const events = Array.from({ length: calls }, (_, i) => ({
      call_id: `${env}-${i}`,
      agent_id: 'figures',
      tool_name: 'read_file',
      verdict: 'call_denied',
      mode: 'enforce',
      timestamp: new Date().toISOString(),
    }));
    expect((await hub.call('POST', '/api/v1/events', { key, body: { events } })).status).toBe(200);
  }
  const seen = await view(hub.url, { cookie });
  const { page } = seen;
  const denied = (value: string) =>
    page.locator('.figure', { hasText: 'Denied in 24 h' }).getByText(value, { exact: true }).waitFor();
  await page.goto('/dashboard/');
  await denied('5');
  await page.goto('/dashboard/?env=staging');
  await denied('2');
  const chart = page.getByRole('region', { name: 'Calls in the last 24 hours' });
  await chart.getByText('2', { exact: true }).first().waitFor();
  noFaults(seen);
  await seen.context.close();
});
