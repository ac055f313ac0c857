// Tasks of people from the overview to their end, with the number of presses that each may take. The browser counts.
import type { Locator } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { AgentStreams } from './agent-streams.ts';
import { ask, countPresses, noFaults, type View, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library, reportTool } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();

const must = async (method: string, path: string, body: object, by: object = { cookie }) => {
  const answer = await hub.call(method, path, { ...by, body });
  expect(answer.status, path).toBeLessThan(300);
  return answer.body;
};

let secondHash = '';

beforeAll(async () => {
  await must('POST', '/api/v1/bundles', { yaml_content: library });
  const second = { yaml_content: library.replace('id_rsa', 'id_ed25519') };
  secondHash = (await must('POST', '/api/v1/bundles', second)).revision_hash;
  await must('POST', '/api/v1/bundles/shop/1/deploy', { env: 'production' });
  await must('POST', '/api/v1/sample-run', {});
  // Early: the hub looks for what needs attention once in 5 s.
  await must('PUT', '/api/v1/tool-pin-modes', { env: 'production', server: null, mode: 'hold' });
  await reportTool(hub, key, 'Reads a file');
  await reportTool(hub, key, 'Reads a file and sends it away');
});

/** A view of the overview, and the presses from then on. */
async function begin(): Promise<View & { readonly count: () => Promise<number> }> {
  const visit = await view(hub.url, { cookie });
  await visit.page.goto('/dashboard/');
  await visit.page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  return { ...visit, count: await countPresses(visit.page) };
}

const press = (what: Locator): Promise<void> => what.click();

it('deploys a version, sees it done, and rolls back, in at most 8 presses', async () => {
  const agents = new AgentStreams(hub, key);
  await agents.open('shop-1', `&bundle_name=shop&policy_version=${secondHash}`);
  const { page, count, ...visit } = await begin();
  const main = page.getByRole('main');
  await press(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Policies' }));
  await press(page.getByRole('tab', { name: 'Documents' }));
  await press(page.getByRole('table', { name: 'bundles' }).getByRole('link', { name: 'shop' }));
  await press(page.getByRole('complementary').getByRole('link', { name: 'Open page' }));
  await press(main.getByRole('button', { name: /^Deploy v2/ }));
  await main.getByRole('region', { name: 'Impact' }).getByText('1 changed, 2 unchanged.').waitFor();
  await press(main.getByRole('button', { name: 'Deploy v2 to production' }));
  await main.getByText('1 of 1 connected agent runs v2.').waitFor();
  const back = main.getByRole('button', { name: 'Roll back production to v1' });
  await press(back);
  await page.waitForURL(/changes\/new/);
  await press(back);
  await main.getByText('shop v1 is deployed to production.').waitFor();
  expect(await count()).toBeLessThanOrEqual(8);
  // The environment of the change stays with the change.
  await page.reload();
  await main.getByText('shop v1 is deployed to production.').waitFor();
  expect(new URL(page.url()).search).toBe('');
  await expect.poll(() => page.getByRole('radio', { name: 'All' }).isChecked()).toBe(true);
  agents.close();
  noFaults({ page, ...visit });
  await visit.context.close();
});

it('shows what changed before denials rose in at most 2 presses, with the difference', async () => {
  await must('POST', '/api/v1/bundles/shop/2/deploy', { env: 'staging' });
  const runs = '/api/v1/deployments/current?bundle_name=shop&env=staging';
  expect((await hub.call('DELETE', runs, { cookie })).status).toBeLessThan(300);
  await must('POST', '/api/v1/bundles/shop/2/deploy', { env: 'production' });
  const denied = Array.from({ length: 25 }, (_, n) => ({
    ...{ call_id: `spike-${n}`, agent_id: 'shop-1', tool_name: 'read_file', verdict: 'call_denied' },
    payload: { decision_name: 'no-secrets', policy_version: secondHash },
  }));
  await must('POST', '/api/v1/events', { events: denied }, { key });
  const { page, count, ...visit } = await begin();
  await page.getByRole('slider', { name: 'Calls over time' }).waitFor();
  // Deployments of the same minutes are one flag.
  const flags = page.getByRole('list', { name: 'Deployments in this range' });
  const recent = page.getByRole('region', { name: 'Recent changes' }).getByRole('listitem');
  await recent.filter({ hasText: /admin@example\.com\S* undeployed shop v2 from staging/ }).waitFor();
  await recent.filter({ hasText: /rolled back to shop v1 in production/ }).waitFor();
  await press(flags.getByRole('link', { name: /^\d+ changes: .* undeployed shop v2 from staging by admin/ }));
  // The flag has the name in its text, too, and stands until the code of the next page has loaded.
  const changes = page.getByRole('table', { name: 'deployments' });
  await changes.getByText('deployed, undeployed', { exact: true }).waitFor();
  await changes.getByText('rolled back', { exact: true }).first().waitFor();
  await press(changes.getByRole('link', { name: 'shop v2' }).first());
  const difference = page.getByRole('region', { name: 'Difference' });
  await difference.getByText('1 line added, 1 line removed').waitFor();
  await difference.getByText('id_ed25519').waitFor();
  expect(await count()).toBeLessThanOrEqual(2);
  noFaults({ page, ...visit });
  // The same flag stands above the chart of Explore.
  await page.goto('/dashboard/explore?q=verdict:denied');
  await flags.getByRole('link', { name: /^\d+ changes/ }).waitFor();
  await visit.context.close();
});

it('approves a call on a phone in at most 2 taps after its arguments were read, and none before', async () => {
  const lines = Array.from({ length: 40 }, (_, n) => [`argument_${n}`, `value ${n}`]);
  const id = await ask(hub, key, { tool_name: 'pay_out', tool_args: Object.fromEntries(lines) });
  const visit = await view(hub.url, { cookie, width: 360, height: 740, touch: true });
  const { page } = visit;
  await page.goto(`/dashboard/inbox?id=${id}`);
  const count = await countPresses(page);
  const approve = page.getByRole('button', { name: /^Approve/ });
  await page.getByText('argument_0', { exact: true }).waitFor();
  expect(await approve.isDisabled()).toBe(true);
  await page.locator('.read-end').scrollIntoViewIfNeeded();
  await expect.poll(() => approve.isEnabled()).toBe(true);
  expect(await count()).toBe(0);
  await approve.tap();
  await page.getByRole('button', { name: /^Approve .*value 0/ }).tap();
  await expect
    .poll(async () => (await hub.call('GET', `/api/v1/approvals/${id}`, { cookie })).body.status)
    .toBe('approved');
  expect(await count()).toBeLessThanOrEqual(2);
  noFaults(visit);
  await visit.context.close();
});

it('accepts a changed tool in at most 4 presses, after its difference', async () => {
  const { page, count, ...visit } = await begin();
  const main = page.getByRole('main');
  const attention = page.getByRole('region', { name: /^Needs attention/ });
  await press(attention.getByRole('listitem').filter({ hasText: 'npx:files' }).getByRole('link'));
  const waiting = main.getByRole('row').filter({ hasText: 'waiting' });
  await press(waiting.getByRole('link', { name: 'read_file' }));
  await main.getByRole('region', { name: 'Description' }).getByText('sends it away').waitFor();
  await press(main.getByRole('button', { name: 'Accept in production' }));
  await page.getByText('The definition is accepted in production.').waitFor();
  expect(await count()).toBeLessThanOrEqual(4);
  noFaults({ page, ...visit });
  await visit.context.close();
});

it('verifies a run in at most 3 presses, beside the list', async () => {
  const { page, count, ...visit } = await begin();
  await press(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Runs' }));
  await press(page.getByRole('main').getByRole('link', { name: 'sample-session' }));
  const seal = page.getByRole('region', { name: 'Seal' });
  await press(seal.getByRole('button', { name: 'Verify' }));
  await seal.getByText('Intact, signer unknown.').waitFor();
  expect(await count()).toBeLessThanOrEqual(3);
  noFaults({ page, ...visit });
  await visit.context.close();
});
