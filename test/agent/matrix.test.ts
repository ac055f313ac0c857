// The fleet by bundle and environment, and agents that run another document than they should, the longest first.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { settled } from '../clock.ts';
import { deploy } from '../deployment/deploy.ts';
import { type KeyCaller, makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
});
afterEach(() => t.close());

async function connect(caller: KeyCaller, query: object = {}) {
  const streams = streamHandlers(t.hub, agentStreamsOf(t.hub, 'node-1'));
  const id = `${caller.env}/${caller.agentId}`;
  const stream = await streams.admitAgent(caller, { env: caller.env, ...query }, id);
  await stream.catchUp();
  await settled();
}

const agent = (id: string) => t.key(user, 'production', id);
const iso = (at: number): string => new Date(at).toISOString();
const matrix = async (query = {}, as = user) => (await t.call('fleetMatrix', { query }, as)).body;

it('counts connected agents by bundle, environment and version, with the longest drift', async () => {
  const first = await deploy(t, user, 'shop', '1');
  await connect(agent('a'), { bundle_name: 'shop', policy_version: first.revisionHash });
  await connect(agent('b'), { bundle_name: 'shop', policy_version: first.revisionHash });
  await connect(agent('c'), { bundle_name: 'shop', policy_version: 'f'.repeat(64) });
  await connect(agent('d'));
  await t.clock.advance(60_000);
  const deployedAt = t.clock.now();
  const second = await deploy(t, user, 'shop', '2');
  await connect(agent('b'), { bundle_name: 'shop', policy_version: second.revisionHash });
  const body = await matrix();
  expect(body.unassigned).toBe(1);
  const [shop] = body.bundles;
  const cell = shop?.cells.find(({ env }) => env === 'production');
  expect(cell).toMatchObject({
    connected: 3,
    deployment: { version: 2, revision_hash: second.revisionHash },
  });
  const versions = cell?.versions.map(({ version, agents, oldest_since }) => [version, agents, oldest_since]);
  expect(versions?.sort()).toEqual(
    [
      [1, 1, iso(deployedAt)],
      [2, 1, null],
      [null, 1, iso(deployedAt)],
    ].sort(),
  );
  expect(shop?.cells.find(({ env }) => env === 'staging')).toMatchObject({ connected: 0, deployment: null });

  const query = { policy_version: first.revisionHash };
  expect((await t.call('listAgents', { query }, user)).body.map(({ agent_id }) => agent_id)).toEqual(['a']);
  const drifting = { sort: 'drift_since', limit: '1' };
  const page = await t.call('listAgents', { query: drifting }, user);
  expect(page.body.map(({ agent_id }) => agent_id)).toEqual(['a']);
  const cursor = String(page.headers['X-Next-Cursor']);
  const rest = await t.call('listAgents', { query: { ...drifting, cursor } }, user);
  expect(rest.body.map(({ agent_id }) => agent_id)).toEqual(['c']);
  expect(rest.headers['X-Next-Cursor']).toBeUndefined();
});

describe('of more agents than a page looks at', () => {
  /** Puts portions of agents that never connected before those of the store; each takes `ms`. */
  function fillBefore(portions: number, ms: number): void {
    const { agents } = t.hub.store;
    const search = agents.search.bind(agents);
    let read = 0;
    vi.spyOn(agents, 'search').mockImplementation(async (tenantId, query) => {
      t.clock.advance(ms);
      if (read++ >= portions) return search(tenantId, { ...query, after: null });
      const { items } = await search(tenantId, { ...query, after: null });
      const [one] = items;
      if (!one) throw new Error('no agent is registered');
      const fillers = Array.from({ length: 500 }, (_, i) => ({ ...one, agentId: `0-${read}-${i}` }));
      return { items: fillers, more: true };
    });
  }

  beforeEach(async () => {
    const { revisionHash } = await deploy(t, user, 'shop', '1');
    await connect(agent('z'), { bundle_name: 'shop', policy_version: revisionHash });
    await deploy(t, user, 'shop', '2');
  });
  const drifting = () => t.call('listAgents', { query: { sort: 'drift_since' } }, user);

  it('finds the drift of the last agent', async () => {
    fillBefore(25, 1);
    const { body, headers } = await drifting();
    expect(body.map(({ agent_id }) => agent_id)).toEqual(['z']);
    expect(headers['X-Search-Complete']).toBe('true');
  });

  it('ends after six seconds, and marks its list as incomplete', async () => {
    fillBefore(25, 1_000);
    const { body, headers } = await drifting();
    expect(body).toEqual([]);
    expect(headers['X-Search-Complete']).toBe('false');
  });
});

it('lists one environment alone, with its bundles and its agents without one', async () => {
  await deploy(t, user, 'shop', '1');
  await connect(agent('a'));
  await connect(t.key(user, 'staging', 'b'), { bundle_name: 'billing' });
  const staging = await matrix({ env: 'staging' });
  expect(staging).toMatchObject({ unassigned: 0, next_cursor: null });
  expect(staging.bundles).toMatchObject([{ name: 'billing', cells: [{ env: 'staging', connected: 1 }] }]);
  const production = await matrix({ env: 'production' });
  expect(production.unassigned).toBe(1);
  expect(production.bundles.map(({ name }) => name)).toEqual(['shop']);
});

it('leaves out environments without a role', async () => {
  await deploy(t, user, 'shop', '1');
  await connect(agent('a'), { bundle_name: 'shop' });
  const stranger = { ...user, roles: [{ role: 'viewer', env: 'staging' }] as const };
  expect(await matrix({}, stranger)).toEqual({ bundles: [], unassigned: 0, next_cursor: null });
});
