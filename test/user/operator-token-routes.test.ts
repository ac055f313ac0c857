// Operator tokens that admins make: recorded, listed, revoked; and who reads what is the whole installation's.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant('ann@example.com');
});
afterEach(() => t.close());

const make = async (as = user) =>
  (await t.call('createOperatorToken', { body: { role: 'operator', ttl_seconds: 60 } }, as)).body;
const list = async (as = user) => (await t.call('listOperatorTokens', {}, as)).body;
const revoke = (token_id: string, as = user) => t.call('revokeOperatorToken', { params: { token_id } }, as);
const entries = async () => {
  const filter = {
    from: null,
    to: null,
    actor: null,
    actions: null,
    subjects: ['operator_token', 'signing_key'] as const,
  };
  return (await t.hub.store.audit.list(user.tenantId, filter, null, 9)).map(({ entry }) => entry);
};

it('are listed without the token until they expire, for their tenant alone', async () => {
  const { id, token, expires_at } = await make();
  expect(await list()).toEqual([
    { id, role: 'operator', created_by: 'ann@example.com', created_at: expect.any(String), expires_at },
  ]);
  expect(JSON.stringify(await list())).not.toContain(token);
  expect(await list(await t.tenant())).toEqual([]);
  t.clock.advance(60_000);
  expect(await list()).toEqual([]);
});

it('are refused from their revocation on, which every node hears of', async () => {
  const { id, token } = await make();
  const other = await make();
  expect(await t.hub.app.operatorTokens.identify(token)).toMatchObject({ tokenId: id });
  await expect(revoke(id, await t.tenant())).rejects.toMatchObject({ code: 'not_found' });
  expect((await revoke(id)).status).toBe(204);
  await expect(t.hub.app.operatorTokens.identify(token)).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(await t.hub.app.operatorTokens.identify(other.token)).toMatchObject({ tokenId: other.id });
  expect(t.controls).toContainEqual({ kind: 'operator_token_revoked', tokenId: id });
  await expect(revoke(id)).rejects.toMatchObject({ code: 'not_found' });
});

it('leave audit entries when they are made and revoked', async () => {
  const { id, token } = await make();
  t.clock.advance(1);
  await revoke(id);
  expect(await entries()).toMatchObject([
    { action_type: 'operator_token.revoked', subject: { id }, details: { role: 'operator' } },
    {
      action_type: 'operator_token.created',
      actor: { type: 'operator', id: user.userId },
      subject: { type: 'operator_token', id },
    },
  ]);
  expect(JSON.stringify(await entries())).not.toContain(token);
});

it('have neighbours in the chain: rotations of the signing key', async () => {
  const before = await t.hub.store.signing.getActive(user.tenantId);
  const { body } = await t.call('rotateSigningKey', { body: { compromised: true } } as never, user);
  expect(await entries()).toMatchObject([
    {
      action_type: 'signing_key.rotated',
      actor: { type: 'operator', id: user.userId },
      details: {
        compromised: true,
        previous_key: before?.publicKey,
        public_key: (body as { public_key: string }).public_key,
      },
    },
  ]);
});

it.each(['healthCluster', 'healthMetrics', 'healthSeries'] as const)(
  '%s is for the operator alone from the second tenant on',
  async (operation) => {
    expect((await t.call(operation, {}, user)).status).toBe(200);
    const second = await t.tenant();
    for (const admin of [user, second]) {
      await expect(t.call(operation, {}, admin)).rejects.toMatchObject({ code: 'forbidden' });
    }
    expect((await t.call(operation, {}, { kind: 'operator' })).status).toBe(200);
  },
);
