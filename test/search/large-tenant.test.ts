// Things by name in a tenant with more of each type than a page of a list has.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { entryIdOf } from '../../src/tool/rules/identity.ts';
import { aBundle, aComposition, aContract, aKey, aUser, sha256, t0, uuid } from '../conformance/fixtures.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

/** Of each type. All of their names contain the search, and none has a word that begins with it. */
const others = 1_000;
let t: TestHub;
let user: UserCaller;
beforeAll(async () => {
  t = await makeHub();
  user = await t.tenant('ada@example.com');
  // The first one stands behind all others: the newest come first in some lists, names are in order in the others.
  for (let i = 0; i <= others; i++) await create(i === 0 ? 'zebra-crossing' : `xzebra${i}`, t0 + i);
  const room = { definitions: 10_000, bytes: 1 << 30 };
  await t.hub.store.tools.observe(
    {
      ...{ tenantId: user.tenantId, env: 'production', server: 'files', info: null, refused: [] },
      ...{ agentId: 'agent-1', keyId: 'key-1', at: t0 },
      tools: Array.from({ length: others + 1 }, (_, i) => tool(i === 0 ? 'zebra-crossing' : `xzebra${i}`)),
    },
    0,
    { environment: room, key: room },
  );
});
afterAll(() => t.close());

function tool(name: string) {
  const fingerprint = `sha256:${sha256(name)}`;
  const key = { tenantId: user.tenantId, env: 'production' as const, server: 'files', tool: name };
  return {
    id: entryIdOf({ ...key, fingerprint }, sha256),
    tool: name,
    fingerprint,
    definition: null,
    bytes: 0,
  };
}

async function create(name: string, createdAt: number): Promise<void> {
  const { store } = t.hub;
  const { tenantId } = user;
  const own = { tenantId, createdAt };
  await store.contracts.create(aContract({ ...own, contractId: name, name, description: null }));
  await store.compositions.create(aComposition({ ...own, name, updatedAt: createdAt, description: null }));
  await store.bundles.upload(aBundle({ ...own, name }));
  await store.keys.create(aKey({ ...own, label: name }));
  await store.tenants.createUser(aUser({ ...own, email: `${name}@example.org` }));
  await store.serviceAccounts.create({ ...own, id: uuid(), name, roles: [], createdBy: 'ada@example.com' });
}

it('finds the one behind all others of its type', async () => {
  for (const q of ['zebra', 'zebra cross']) {
    const { results } = (await t.call('searchThings', { query: { q } }, user)).body;
    expect(results.map(({ type, name }) => [type, name])).toEqual([
      ['contract', 'zebra-crossing'],
      ['composition', 'zebra-crossing'],
      ['bundle', 'zebra-crossing'],
      ['tool', 'zebra-crossing'],
      ['key', 'zebra-crossing'],
      ['service_account', 'zebra-crossing'],
      ['person', 'zebra-crossing@example.org'],
    ]);
  }
});
