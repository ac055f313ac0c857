// The first start: one winner, the setup token, the environment, missing signing keys.
import { afterEach, expect, it, vi } from 'vitest';
import { bootstrapFromEnvironment, printedSetupToken } from '../../src/hub/first-admin.ts';
import { makeHub, type TestHub } from '../harness.ts';

let t: TestHub;
afterEach(() => t.close());

const setupToken = { value: 'let me in, I was here first', isGenerated: false };
const body = { email: 'First@Example.com', password: 'correct horse battery' };

it('creates the tenant, an admin who can sign in, and a signing key', async () => {
  t = await makeHub();
  const answer = await t.call('setup', { body });
  expect(answer.status).toBe(201);
  expect(answer.body.message).toBe('Admin created');
  expect(await t.hub.store.signing.getActive(answer.body.tenant_id)).toMatchObject({ active: true });
  const login = await t.call('login', { body: { ...body, email: 'FIRST@example.com' } });
  expect(login.status).toBe(200);
});

it('has exactly one winner among 50 parallel calls, and answers 409 to the rest', async () => {
  t = await makeHub();
  const hashed = vi.spyOn(t.hub.secrets, 'hashPassword');
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) => t.call('setup', { body: { ...body, email: `a${i}@example.com` } })),
  );
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'conflict' });
  }
  expect(await t.hub.store.tenants.listIds()).toHaveLength(1);
  // Hashing is costly: those who come too late must not cost it.
  expect(hashed).toHaveBeenCalledTimes(1);
});

it('asks for the setup token when there is one, in the body or the header', async () => {
  t = await makeHub({ setupToken });
  await expect(t.call('setup', { body })).rejects.toMatchObject({ code: 'forbidden' });
  await expect(t.call('setup', { body: { ...body, setup_token: 'no' } })).rejects.toMatchObject({
    code: 'forbidden',
  });
  const headers = { 'x-setup-token': setupToken.value };
  expect((await t.call('setup', { body }, undefined, { headers })).status).toBe(201);
});

it('looks at no more setup tokens of one address than logins, right ones neither', async () => {
  t = await makeHub({ setupToken, loginAttempts: 2, loginWindowMs: 60_000 });
  const attempt = (token: string, network = '2001:db8:0:1::/64') =>
    t.call('setup', { body: { ...body, setup_token: token } }, undefined, { network }).then(
      ({ status }) => status,
      (error) => error.code,
    );
  expect(await attempt('no')).toBe('forbidden');
  expect(await attempt('no')).toBe('forbidden');
  expect(await attempt('no')).toBe('rate_limited');
  expect(await attempt(setupToken.value)).toBe('rate_limited');
  t.clock.advance(60_000);
  expect(await attempt(setupToken.value)).toBe(201);
});

it('asks callers on other machines for the token that it made itself', async () => {
  t = await makeHub();
  const setupToken = await printedSetupToken(t.hub.store.keyCheck, t.hub.secrets);
  expect(setupToken).toEqual({ value: expect.stringMatching(/^[\w-]{24}$/), isGenerated: true });
  expect(await printedSetupToken(t.hub.store.keyCheck, t.hub.secrets)).toEqual(setupToken);
  await t.close();
  t = await makeHub({ setupToken });
  await expect(t.call('setup', { body }, undefined, { local: false })).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringContaining('printed at startup'),
  });
  const headers = { 'x-setup-token': setupToken.value };
  expect((await t.call('setup', { body }, undefined, { local: false, headers })).status).toBe(201);
});

it('asks callers on this machine for no token that it made itself', async () => {
  t = await makeHub({ setupToken: { value: 'made by the hub itself', isGenerated: true } });
  expect((await t.call('setup', { body }, undefined, { local: true })).status).toBe(201);
});

it.each([
  ['a short password', { password: 'short' }],
  ['a NUL in the password', { password: 'correct horse\u0000battery' }],
  ['no e-mail', { email: 'nobody' }],
])('refuses %s', async (_what, changed) => {
  t = await makeHub();
  await expect(t.call('setup', { body: { ...body, ...changed } })).rejects.toMatchObject({
    code: 'validation_failed',
  });
});

it('bootstraps from the environment once, and never after', async () => {
  t = await makeHub();
  expect(
    await bootstrapFromEnvironment(t.hub.app.accounts, t.hub.log, {
      email: 'a@example.com',
      password: 'short',
    }),
  ).toBe('refused');
  expect(await bootstrapFromEnvironment(t.hub.app.accounts, t.hub.log, body)).toBe('created');
  expect(await bootstrapFromEnvironment(t.hub.app.accounts, t.hub.log, body)).toBe('taken');
  expect((await t.call('login', { body })).status).toBe(200);
});

it('finds that every tenant has a signing key', async () => {
  t = await makeHub();
  await t.tenant();
  expect(await t.hub.app.accounts.ensureSigningKeys()).toBe(0);
});
