// The page of one agent: its lanes on one axis, the values of its sessions, and the range of the address in each tab.
import { beforeAll, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();

/** More than two pages of the timeline, which the test makes shorter. */
const [approvals, pageSize] = [7, 3];
const hourMs = 3_600_000;
const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
const call = (name: string, more: object) => ({
  ...{ call_id: name, agent_id: 'busy-1', tool_name: 'read_file', verdict: 'call_allowed' },
  ...more,
});

beforeAll(async () => {
  const events = [
    call('new-1', { timestamp: ago(2 * hourMs), payload: { session_id: 'new-run' } }),
    call('new-2', { timestamp: ago(2 * hourMs), verdict: 'call_denied', payload: { session_id: 'new-run' } }),
    call('old-1', { timestamp: ago(72 * hourMs), tool_name: 'ship', payload: { session_id: 'old-run' } }),
    call('other', { agent_id: 'other-1' }),
  ];
  const sent = await hub.call('POST', '/api/v1/events', { key, agent: 'busy-1', body: { events } });
  expect(sent.status).toBe(200);
  for (let n = 0; n < approvals; n += 1) await ask(hub, key, { call_id: `${n}` }, 'busy-1');
});

it('has streams, documents, calls and approvals on one axis, and every approval of the range', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.route(/\/timeline\?/, (route) =>
    route.continue({ url: route.request().url().replace('limit=500', `limit=${pageSize}`) }),
  );
  await page.goto('/dashboard/agents/busy-1');
  const timeline = page.getByRole('region', { name: 'Timeline' });
  const names = () => timeline.getByRole('term').allTextContents();
  await expect.poll(names).toEqual(['Streams', 'Documents', 'Calls', 'Approvals']);
  // The calls of the range alone, of this agent alone.
  const chart = timeline.getByRole('slider', { name: 'Calls over time' });
  await expect
    .poll(() => chart.getAttribute('aria-valuetext'))
    .toBe('Total: 2 calls, 1 denied, 0 asked, 0 would deny');
  const group = timeline.getByText(`${approvals} approvals: ${approvals} pending`);
  await group.waitFor({ state: 'attached' });
  // Lanes and chart begin and end at the same points.
  const plot = await chart.locator('.u-over').boundingBox();
  const lane = await timeline.locator('.lane ol').last().boundingBox();
  expect(Math.abs((plot?.x ?? 0) - (lane?.x ?? 9))).toBeLessThan(2);
  expect(Math.abs((plot?.width ?? 0) - (lane?.width ?? 9))).toBeLessThan(2);
  // One line marks the time at the pointer in all of them.
  const line = timeline.locator('.lanes-line');
  expect(await line.isVisible()).toBe(false);
  const [middle, all] = [
    (lane?.x ?? 0) + (lane?.width ?? 0) / 2,
    await timeline.locator('.lanes').boundingBox(),
  ];
  await page.mouse.move(middle, (lane?.y ?? 0) + 2);
  const mark = await line.boundingBox();
  expect(Math.abs((mark?.x ?? 0) - middle)).toBeLessThan(2);
  expect([mark?.y, mark?.height]).toEqual([all?.y, all?.height]);
  await page.mouse.move(0, 0);
  await expect.poll(() => line.isVisible()).toBe(false);
  await accessible(page);
  // A press on a group leads to its minutes.
  await timeline.getByRole('link', { name: /^\d+ approvals/ }).click();
  await page.waitForURL(/from=/);
  const { searchParams } = new URL(page.url());
  const length = Date.parse(searchParams.get('to') ?? '') - Date.parse(searchParams.get('from') ?? '');
  expect(length).toBeLessThan(hourMs);
  await expect.poll(() => timeline.getByText('None in this range').count()).toBe(2);
  await page.goto('/dashboard/agents/busy-1?from=now-7d');
  await expect
    .poll(() => chart.getAttribute('aria-valuetext'))
    .toBe('Total: 3 calls, 1 denied, 0 asked, 0 would deny');
  noFaults(visit);
  await visit.context.close();
});

it('has no tools without a call in the range, which is no failure', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/agents/busy-1/tools?from=now-1h');
  await page.getByText('No tool calls in this range. Choose a longer one.').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  noFaults(visit);
  await visit.context.close();
});

it('keeps typed text when another person changes the agent, and saves the typed fields alone', async () => {
  const path = '/api/v1/agent-registrations/busy-1';
  await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: library } });
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/agents/busy-1');
  const name = page.getByLabel('Display name');
  await name.fill('Typed before');
  const changed = await hub.call('PATCH', path, { cookie, body: { bundle_name: 'shop' } });
  expect(changed.status).toBe(200);
  // A field without input follows the hub.
  const bundle = page.getByLabel('Assigned bundle');
  await expect.poll(() => bundle.inputValue()).toBe('shop');
  expect(await name.inputValue()).toBe('Typed before');
  const sent: unknown[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') sent.push(request.postDataJSON());
  });
  await page.getByRole('button', { name: 'Save agent' }).click();
  await page.getByText('Agent saved.').waitFor();
  expect(sent).toEqual([{ display_name: 'Typed before' }]);
  expect(await name.inputValue()).toBe('Typed before');
  const { body } = await hub.call('GET', path, { cookie });
  expect(body).toMatchObject({ display_name: 'Typed before', bundle_name: 'shop' });
  noFaults(visit);
  await visit.context.close();
});

it('has each deployment in its history at once', async () => {
  const { body } = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: library } });
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const history = page.getByRole('region', { name: 'History' });
  await page.goto('/dashboard/agents/busy-1/changes?from=now-7d');
  await page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();
  await history.getByText('First seen').waitFor();
  expect(await history.getByText('Deployed', { exact: true }).count()).toBe(0);
  const deployment = { cookie, body: { env: 'production' } };
  await hub.call('POST', `/api/v1/bundles/shop/${body.version}/deploy`, deployment);
  await history.getByText('Deployed', { exact: true }).waitFor();
  noFaults(visit);
  await visit.context.close();
});

itAtNight('follows the range of the address in each tab, and shows the values of a session', async () => {
  const put = await hub.call('PUT', '/api/v1/sessions/s:new-run:attempts', { key, body: { value: '14' } });
  expect(put.status).toBe(200);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const region = (name: string) => page.getByRole('region', { name });
  // An address without a range has that of the page before.
  const [day, week] = ['from=now-24h', 'from=now-7d'];
  const past = new URLSearchParams({ from: ago(96 * hourMs), to: ago(48 * hourMs) });
  await page.goto(`/dashboard/agents/busy-1/runs?${day}`);
  await region('Runs').getByText('1 run', { exact: true }).waitFor();
  await region('Runs').getByRole('link', { name: 'new-run' }).waitFor();
  const heads = await region('Runs').getByRole('columnheader').allTextContents();
  expect(heads.filter((head) => /^Calls/.test(head))).toHaveLength(1);
  await page.goto(`/dashboard/agents/busy-1/runs?${week}`);
  await region('Runs').getByRole('link', { name: 'old-run' }).waitFor();
  await accessible(page);
  // Newer runs come first: pages without one of the range are passed over.
  let pages = 0;
  await page.route(/\/v1\/runs\?/, (route) => {
    const url = route.request().url();
    if (url.includes('limit=100')) pages += 1;
    return route.continue({ url: url.replace('limit=100', 'limit=1') });
  });
  await page.goto(`/dashboard/agents/busy-1/runs?${past}`);
  await region('Runs').getByRole('link', { name: 'old-run' }).waitFor();
  expect(await region('Runs').getByRole('link', { name: 'new-run' }).count()).toBe(0);
  expect(pages).toBeGreaterThan(1);
  await page.goto(`/dashboard/agents/busy-1/values?${past}`);
  await region('Session values').waitFor();
  await expect.poll(() => page.getByLabel('Session', { exact: true }).inputValue()).toBe('old-run');
  await page.unroute(/\/v1\/runs\?/);
  await page.goto(`/dashboard/agents/busy-1/tools?${day}`);
  const tools = region('Coverage').getByRole('table');
  await tools.getByText('read_file').waitFor();
  expect(await tools.getByText('ship', { exact: true }).count()).toBe(0);
  await page.goto(`/dashboard/agents/busy-1/tools?${week}`);
  await tools.getByText('ship', { exact: true }).waitFor();
  // A range in the past counts no later call.
  await page.goto(`/dashboard/agents/busy-1/tools?${past}`);
  await tools.getByText('ship', { exact: true }).waitFor();
  expect(await tools.getByText('read_file').count()).toBe(0);
  await accessible(page);
  await page.goto('/dashboard/agents/busy-1/changes?from=2025-01-01T00:00:00Z&to=2025-01-02T00:00:00Z');
  await region('History').getByText('No deployments in this range.').waitFor();
  await page.goto(`/dashboard/agents/busy-1/changes?${week}`);
  await region('History').getByText('First seen').waitFor();
  await page.goto(`/dashboard/agents/busy-1?${week}`);
  await page.getByText('Recent calls').waitFor();
  await page.getByRole('listitem').getByText('ship', { exact: true }).waitFor();
  await page.getByRole('tab', { name: 'Values' }).click();
  const session = page.getByLabel('Session', { exact: true });
  const attempts = region('Session values').locator('.fact').filter({ hasText: 'Attempts' });
  await attempts.getByText('14').waitFor();
  await session.selectOption('old-run');
  await region('Session values')
    .getByText(/No session counters in the hub/)
    .waitFor();
  await accessible(page);
  noFaults(visit);
  await visit.context.close();
});
