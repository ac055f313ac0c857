// The console's figures of the fleet and of changes in numbers and names: an agent's open streams, how many follow a
// deploy and keep what is taken away, which version decided a call, and who changed keys and rules.
import { once } from 'node:events';
import { beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { itAtNight } from '../runs.ts';
import { AgentStreams } from './agent-streams.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();

beforeAll(async () => {
  const { status } = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: library } });
  expect(status).toBe(201);
});

async function deployed(version: number, env = 'production'): Promise<string> {
  const { status } = await hub.call('POST', `/api/v1/bundles/shop/${version}/deploy`, {
    cookie,
    body: { env },
  });
  expect(status).toBe(201);
  return (await hub.call('GET', `/api/v1/bundles/shop/${version}`, { cookie })).body.revision_hash;
}

describe('an agent', { timeout: 120_000 }, () => {
  itAtNight(
    'has its open streams listed, with how each came and what it follows, as they come and go',
    async () => {
      const agents = new AgentStreams(hub, key);
      await agents.open('watched', '&bundle_name=shop', '/v1/stream');
      const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/v1/stream?env=production`, {
        headers: { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'watched' },
      });
      await once(socket, 'open');
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      await page.goto('/dashboard/agents/watched');
      const table = page.getByRole('table', { name: 'streams of an agent' });
      const sse = table.getByRole('row').filter({ hasText: 'SSE' });
      await sse.getByText('shop (requested)').waitFor();
      await sse.getByText('SSE, /v1', { exact: true }).waitFor();
      const other = table.getByRole('row').filter({ hasText: 'WebSocket' });
      await other.getByText('everything').waitFor();
      await other.getByText('WebSocket, /api/v1', { exact: true }).waitFor();
      await expect.poll(() => table.getByRole('columnheader', { name: 'Node' }).count()).toBe(1);
      await accessible(page);
      // The second stream of an agent that stays is not told of: the page looks by itself.
      socket.close();
      await other.waitFor({ state: 'hidden', timeout: 30_000 });
      agents.close();
      await page.getByText('No open streams. Streams appear here when the agent connects.').waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );
});

describe('a deploy', () => {
  itAtNight('says how many agents get it, as they come and go while the dialog is open', async () => {
    await deployed(1);
    // A deployment of what runs already gives nobody anything.
    const next = library.replace('What the agents of the shop may do', 'What they may do');
    const bundle = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: next } });
    expect(bundle.body.version).toBe(2);
    const agents = new AgentStreams(hub, key);
    await agents.open('first', '&bundle_name=shop');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/bundles/shop');
    await page.getByRole('button', { name: 'Deploy v2' }).click();
    const dialog = page.getByRole('region', { name: /^(Change|Deployment of) shop/ });
    await dialog.getByText('1 connected agent gets it immediately').waitFor();
    await agents.open('second', '&bundle_name=shop');
    await dialog.getByText('2 connected agents get it immediately').waitFor();
    for (const hash of ['a', 'b'])
      await agents.open(`other-${hash}`, `&bundle_name=shop&policy_version=${hash.repeat(64)}`);
    await dialog.getByText('Currently 2 on other documents, 2 unknown.').waitFor();
    await accessible(page);
    agents.close();
    await dialog.getByText('No connected agents use this bundle in production.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('of a ruleset is taken away with the number of agents that keep it', async () => {
    const yaml = library.replace('name: shop', 'name: rules');
    const bundle = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml } });
    await hub.call('POST', '/api/v1/bundles/rules/1/deploy', { cookie, body: { env: 'production' } });
    const agents = new AgentStreams(hub, key);
    const runs = `&bundle_name=rules&policy_version=${bundle.body.revision_hash}`;
    await agents.open('keeper-1', runs);
    await agents.open('keeper-2', runs);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/rulesets/rules');
    await page.getByRole('button', { name: 'Undeploy from production' }).click();
    const plan = page.getByRole('region', { name: /^Undeploy rules from production/ });
    await plan.getByText('2 connected agents run it until they restart').waitFor();
    await accessible(page);
    agents.close();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('an event', () => {
  it('names the version that its policy version is, and the hash where the hub has none', async () => {
    const revision = await deployed(1, 'staging');
    const event = (call_id: string, policy_version: string) => ({
      call_id,
      agent_id: 'caller',
      tool_name: 'read_file',
      verdict: 'call_allowed',
      payload: { policy_version },
    });
    const events = [event('known', revision), event('foreign', 'f'.repeat(64))];
    await hub.call('POST', '/api/v1/events', { key, agent: 'caller', body: { events } });
    const { body } = await hub.call('GET', '/api/v1/events?agent_id=caller', { cookie });
    const idOf = (call: string): string => body.find((one: { call_id: string }) => one.call_id === call).id;
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard/events/${idOf('foreign')}`);
    await page.getByText('not a bundle from this hub').waitFor();
    await page.goto(`/dashboard/events/${idOf('known')}`);
    const version = page.locator('dl').getByRole('link', { name: 'shop v1' });
    await version.waitFor();
    await accessible(page);
    await version.click();
    await page.waitForURL((url) => url.pathname.endsWith('/bundles/shop'));
    noFaults(visit);
    await visit.context.close();
  });
});

describe('home', () => {
  it('tells who made and revoked keys and changed assignment rules, without a reload', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    const feed = page.getByRole('region', { name: 'Recent changes' });
    await feed.getByText('created the key').first().waitFor();
    const { body } = await hub.call('POST', '/api/v1/keys', {
      cookie,
      body: { label: 'short', env: 'staging' },
    });
    await feed.getByRole('listitem').filter({ hasText: 'created the key short for staging' }).waitFor();
    await hub.call('DELETE', `/api/v1/keys/${body.id}`, { cookie });
    await feed.getByRole('listitem').filter({ hasText: 'revoked the key short for staging' }).waitFor();
    const rule = { priority: 3, pattern: 'nobody-*', bundle_name: 'shop', env: 'production' };
    const newRule = await hub.call('POST', '/api/v1/assignment-rules', { cookie, body: rule });
    const patch = { cookie, body: { priority: 4 } };
    await hub.call('PATCH', `/api/v1/assignment-rules/${newRule.body.id}`, patch);
    await hub.call('DELETE', `/api/v1/assignment-rules/${newRule.body.id}`, { cookie });
    for (const became of ['created', 'changed', 'deleted']) {
      const row = feed.getByRole('listitem').filter({ hasText: `${became} the assignment rule nobody-*` });
      await row.waitFor({ timeout: 30_000 });
    }
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });
});
