// The matrix of the fleet: which versions run where, and in two steps who runs an old one and since when.
import { beforeAll, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { AgentStreams } from './agent-streams.ts';
import { accessible, countPresses, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();
const agents = new AgentStreams(hub, key);

beforeAll(async () => {
  const hashes: string[] = [];
  for (const text of [library, library.replace('.env', '.secret')]) {
    const bundle = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: text } });
    hashes.push(bundle.body.revision_hash);
    const path = `/api/v1/bundles/shop/${bundle.body.version}/deploy`;
    expect((await hub.call('POST', path, { cookie, body: { env: 'production' } })).status).toBe(201);
  }
  const running = (hash: string | undefined): string =>
    `&bundle_name=shop${hash ? `&policy_version=${hash}` : ''}`;
  await agents.open('current-1', running(hashes[1]));
  await agents.open('current-2', running(hashes[1]));
  await agents.open('behind-1', running(hashes[0]));
  await agents.open('silent-1', running(undefined));
});

it('counts documents and agents of the chosen environment alone', async () => {
  await agents.open('without-document');
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/fleet?env=staging');
  await page.getByText('No documents yet').waitFor();
  await page.goto('/dashboard/fleet?env=production');
  await page.getByText('1 document, 1 connected agent without a document').waitFor();
  noFaults(visit);
  await visit.context.close();
});

it('answers in two steps who runs an old version, and since when', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/');
  const count = await countPresses(page);
  await page
    .getByRole('navigation', { name: 'Main' })
    .getByRole('link', { name: /^Fleet/ })
    .click();
  const grid = page.getByRole('grid', { name: 'Matrix' });
  const cell = grid.getByRole('row', { name: /^shop/ }).getByRole('gridcell').nth(2);
  await cell.getByText('v2', { exact: true }).waitFor();
  await cell.getByText(/^oldest \d+ (s|min)/).waitFor();
  const button = (name: string) => cell.getByRole('button', { name });
  await button('v2 2 of 4 agents').waitFor();
  await button('? 1 of 4 agents').waitFor();
  await accessible(page);
  await button('v1 1 of 4 agents').click();
  const row = page.getByRole('grid', { name: 'Agents' }).getByRole('row', { name: /behind-1/ });
  await row.getByText('v1', { exact: true }).waitFor();
  await row.getByText('v2', { exact: true }).waitFor();
  await row
    .getByText(/ago$|just now/)
    .first()
    .waitFor();
  expect(await count()).toBeLessThanOrEqual(2);
  expect(await page.getByRole('grid', { name: 'Agents' }).getByText('current-1').count()).toBe(0);
  // Their calls are those of the range of the top bar.
  await page.getByRole('grid', { name: 'Agents' }).getByRole('columnheader', { name: 'Calls' }).waitFor();
  await row.getByText('none', { exact: true }).waitFor();
  await expect
    .poll(() => page.getByRole('button', { name: /^Time range/ }).getAttribute('aria-disabled'))
    .toBeNull();
  await accessible(page);
  await button('? 1 of 4 agents').click();
  await page.getByRole('grid', { name: 'Agents' }).getByText('silent-1').waitFor();
  // The address keeps what is open, and the environment chosen at the top leaves one column.
  await page.reload();
  await page.getByRole('grid', { name: 'Agents' }).getByText('silent-1').waitFor();
  await page.getByRole('radio', { name: 'Production' }).check({ force: true });
  await expect.poll(() => grid.getByRole('columnheader').count()).toBe(2);
  noFaults(visit);
  await visit.context.close();
});

itAtNight('shows on one axis when an agent was connected, and which documents it got', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/agents/behind-1');
  const lanes = page.getByRole('region', { name: 'Timeline' });
  await lanes.getByText(/^Connected by sse, .* to now$/).waitFor({ state: 'attached' });
  await lanes.getByText(/ shop v2 deployed$/).waitFor({ state: 'attached' });
  await lanes.getByText('v2', { exact: true }).waitFor();
  await lanes.getByText('None in this range').waitFor();
  await accessible(page);
  // An hour that ended a year ago has none of them: the page follows the range of the top bar.
  await page.goto('/dashboard/agents/behind-1?from=2025-01-01T00:00:00Z&to=2025-01-01T01:00:00Z');
  await expect.poll(() => lanes.getByText('None in this range').count()).toBe(3);
  await page.getByRole('button', { name: /^Time range/ }).click();
  await page.getByRole('dialog', { name: 'Time range' }).waitFor();
  noFaults(visit);
  await visit.context.close();
});

it('counts the calls of an agent by tool as they come', async () => {
  const send = async (call: string): Promise<void> => {
    const event = { call_id: call, agent_id: 'behind-1', tool_name: 'read_ledger', verdict: 'call_allowed' };
    const body = { events: [event] };
    expect((await hub.call('POST', '/api/v1/events', { key, agent: 'behind-1', body })).status).toBe(200);
  };
  await send('first');
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/agents/behind-1/tools');
  const row = page.getByRole('region', { name: 'Coverage' }).getByRole('row', { name: /read_ledger/ });
  await row.getByText('1', { exact: true }).waitFor();
  await send('second');
  await row.getByText('2', { exact: true }).waitFor();
  noFaults(visit);
  await visit.context.close();
});

itAtNight('is usable at 360 px, and follows agents that go', async () => {
  const visit = await view(hub.url, { cookie, width: 360, height: 740 });
  const { page } = visit;
  await page.goto('/dashboard/fleet');
  await page.getByRole('button', { name: 'v2 2 of 4 agents' }).waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  await accessible(page);
  agents.close();
  await page.getByText('no agents').first().waitFor();
  noFaults(visit);
  await visit.context.close();
});
