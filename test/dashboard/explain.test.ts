// Denied two days ago, and why: three steps from the overview to the compared values, and the contract's text of now.
import { expect, it } from 'vitest';
import { accessible, countPresses, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();

async function deploy(text: string): Promise<string> {
  const { body } = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: text } });
  const path = `/api/v1/bundles/shop/${body.version}/deploy`;
  expect((await hub.call('POST', path, { cookie, body: { env: 'production' } })).status).toBe(201);
  return body.revision_hash;
}

it('shows the compared values three steps from the overview, and what runs now', async () => {
  const policy_version = await deploy(library);
  const events = ['/srv/shop/.env', '/srv/app/.env'].map((path, n) => ({
    call_id: `denied-${n}`,
    agent_id: 'checkout-010',
    tool_name: 'read_file',
    verdict: 'call_denied',
    mode: 'enforce',
    timestamp: new Date(Date.now() - 2 * 24 * 3_600_000 - n * 60_000).toISOString(),
    payload: { tool_args: { path }, decision_name: 'no-secrets', policy_version },
  }));
  expect((await hub.call('POST', '/api/v1/events', { key, body: { events } })).status).toBe(200);
  await deploy(library.replace('".env", ', ''));
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/');
  const count = await countPresses(page);
  // Range, query, row: the range takes a press more, which opens its choices.
  await page.getByRole('button', { name: /^Time range/ }).click();
  await page.getByText('Last 7 days').click();
  await page.getByRole('region', { name: 'Top contracts' }).getByRole('link', { name: 'no-secrets' }).click();
  await page.getByRole('grid', { name: 'Events' }).getByText('/srv/shop/.env').click();
  const explain = page.getByRole('region', { name: 'Explain', exact: true });
  await explain.getByText('recomputed', { exact: true }).waitFor();
  const condition = explain.locator('.explain-condition');
  await expect
    .poll(() => condition.textContent())
    .toMatch(/^args\.path contains_any \["\.env","id_rsa"\] metactual "\/srv\/shop\/\.env"$/);
  expect(await count()).toBeLessThanOrEqual(4);
  await explain.getByText(/^v2 runs now: /).waitFor();
  await explain.getByText('1 line added, 1 line removed').waitFor();
  await explain.getByRole('link', { name: '2 similar calls in this range' }).waitFor();
  await accessible(page, 'twice');
  noFaults(visit);
  await visit.context.close();
});

it('names the denial in mode observe by the word of its lists', async () => {
  const call = { call_id: 'observed', agent_id: 'watcher', tool_name: 'read_file', verdict: 'call_denied' };
  const payload = { decision_name: 'no-secrets', session_id: 'watched' };
  const events = [{ ...call, mode: 'observe', payload }];
  expect((await hub.call('POST', '/api/v1/events', { key, body: { events } })).status).toBe(200);
  const { body } = await hub.call('GET', '/api/v1/events?agent_id=watcher', { cookie });
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const explain = page.getByRole('region', { name: 'Explain', exact: true });
  await page.goto(`/dashboard/events/${body[0].id}`);
  await explain.getByText('would deny', { exact: true }).waitFor();
  await page.goto('/dashboard/runs/watcher/watched');
  const step = page.getByRole('region', { name: 'History' }).getByRole('listitem');
  await step.getByText('would deny', { exact: true }).waitFor();
  await step.getByRole('button').click();
  await explain.getByText('would deny', { exact: true }).waitFor();
  noFaults(visit);
  await visit.context.close();
});

it('follows a deployment and an outcome while the event is open', async () => {
  const policy_version = await deploy(library.replace('A refund of', 'The refund of'));
  const call = { call_id: 'open', agent_id: 'followed', tool_name: 'read_file', mode: 'enforce' };
  const payload = { tool_args: { path: '/srv/.env' }, decision_name: 'no-secrets', policy_version };
  const report = async (...events: object[]): Promise<void> =>
    expect((await hub.call('POST', '/api/v1/events', { key, body: { events } })).status).toBe(200);
  await report({ ...call, verdict: 'call_denied', payload });
  const { body } = await hub.call('GET', '/api/v1/events?agent_id=followed', { cookie });
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto(`/dashboard/events/${body[0].id}`);
  await page.getByText(/^This version still runs: /).waitFor();
  await deploy(library.replace('A refund of', 'Each refund of'));
  await page.getByText(/^v\d+ runs now: /).waitFor();
  const outcome = { ...call, verdict: 'call_failed', payload: { error: 'stopped by the disk' } };
  await report(outcome, { ...call, call_id: 'next', verdict: 'call_allowed' });
  await page.getByText('stopped by the disk').first().waitFor();
  noFaults(visit);
  await visit.context.close();
});
