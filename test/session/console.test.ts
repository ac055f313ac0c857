// Session values.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { api } from '../../src/hub/api/console-routes.ts';
import { type KeyCaller, makeHub, type TestHub } from '../harness.ts';

let t: TestHub;
let key: KeyCaller;
beforeEach(async () => {
  t = await makeHub();
  key = t.key(await t.tenant());
});
afterEach(() => t.close());

const name = 's:run/1:attempts';
const params = { key: name };

it('are written, read and removed under keys with slashes', async () => {
  expect((await t.call('setSession', { params, body: { value: 'x' } }, key)).body).toEqual({ value: 'x' });
  expect((await t.call('getSession', { params }, key)).body).toEqual({ value: 'x' });
  expect((await t.call('deleteSession', { params }, key)).body).toEqual({ value: null });
  expect((await t.call('deleteSession', { params }, key)).body).toEqual({ value: null });
  await expect(t.call('getSession', { params }, key)).rejects.toMatchObject({
    code: 'not_found',
    message: 'Key not found',
  });
});

it('may have exactly 1 MiB, in bytes, however JSON writes them; a byte more is too large', async () => {
  const value = 'ü'.repeat(524_288);
  await t.call('setSession', { params, body: { value } }, key);
  expect((await t.call('getSession', { params }, key)).body).toEqual({ value });
  await expect(t.call('setSession', { params, body: { value: `${value}x` } }, key)).rejects.toMatchObject({
    code: 'payload_too_large',
    message: 'Session value too large. Maximum allowed: 1MB.',
  });
  const escaped = JSON.stringify({ value: '\u0001'.repeat(1_048_576) });
  expect(escaped.length).toBeLessThanOrEqual(api.setSession.bodyLimit);
});

it('that could not be read again, because of how JSON writes them, are refused', async () => {
  const value = '\u0001'.repeat(1_048_576);
  await expect(t.call('setSession', { params, body: { value } }, key)).rejects.toMatchObject({
    code: 'payload_too_large',
  });
});

it('are looked at by the people of the tenant, who change none', async () => {
  const person = await t.tenant('ann@example.com');
  const own = t.key(person);
  await t.call('setSession', { params, body: { value: 'x' } }, own);
  const keys = [name, 'missing'];
  expect((await t.call('readSessions', { body: { keys } }, person)).body).toEqual({
    values: { [name]: 'x', missing: null },
  });
  // Of another tenant nobody sees more than that it is not there.
  expect((await t.call('readSessions', { body: { keys } }, await t.tenant('bob@example.com'))).body).toEqual({
    values: { [name]: null, missing: null },
  });
  expect(api.readSessions.auth).toEqual(['key', 'cookie']);
  for (const route of [api.setSession, api.incrementSession, api.deleteSession])
    expect(route.auth).toEqual(['key']);
});

it('are read in one batch up to 4 MiB, never in part', async () => {
  const keys = ['a', 'b', 'c', 'd', 'e'];
  for (const one of keys) {
    await t.call('setSession', { params: { key: one }, body: { value: 'x'.repeat(1_000_000) } }, key);
  }
  const { values } = (await t.call('readSessions', { body: { keys: keys.slice(1) } }, key)).body;
  expect(Object.values(values).map((value) => value?.length)).toEqual([1e6, 1e6, 1e6, 1e6]);
  await expect(t.call('readSessions', { body: { keys } }, key)).rejects.toMatchObject({
    code: 'response_too_large',
    message: expect.stringContaining('fewer keys'),
  });
  // One that is named twice is read once.
  const twice = { keys: ['a', 'a', 'a', 'a', 'a'] };
  expect(Object.keys((await t.call('readSessions', { body: twice }, key)).body.values)).toEqual(['a']);
});

it('fill a quota of their environment; the refusal says what to do, and what goes on does', async () => {
  await t.close();
  t = await makeHub({ quotas: { ...t.hub.settings.quotas, sessionBytes: 100, sessionKeys: 2 } });
  const user = await t.tenant();
  key = t.key(user);
  const set = (name: string, length: number, caller = key) =>
    t.call('setSession', { params: { key: name }, body: { value: 'x'.repeat(length) } }, caller);
  await set('a', 90);
  await expect(set('b', 10)).rejects.toMatchObject({
    code: 'quota_exceeded',
    message: expect.stringMatching(/'production'.*100 bytes.*Delete some.*SESSION_VALUES_MAX_BYTES/),
  });
  await set('a', 80);
  await set('b', 10);
  await expect(set('c', 1)).rejects.toMatchObject({
    code: 'quota_exceeded',
    message: expect.stringMatching(/2 keys.*SESSION_VALUES_MAX_KEYS/),
  });
  const add = (name: string) => t.call('incrementSession', { params: { key: name } }, key);
  for (const name of ['n1', 'n2']) expect((await add(name)).body).toEqual({ value: 1 });
  await expect(add('n3')).rejects.toMatchObject({ code: 'quota_exceeded' });
  expect((await add('n1')).body).toEqual({ value: 2 });
  await set('c', 80, t.key(user, 'staging'));
  await t.call('deleteSession', { params: { key: 'a' } }, key);
});

it('count from 0, by 1 by default, and read back as whole numbers', async () => {
  expect((await t.call('incrementSession', { params }, key)).body).toEqual({ value: 1 });
  expect((await t.call('incrementSession', { params, body: { amount: 2.5 } }, key)).body).toEqual({
    value: 3.5,
  });
  expect((await t.call('incrementSession', { params, body: { amount: -0.5 } }, key)).body).toEqual({
    value: 3,
  });
  expect((await t.call('getSession', { params }, key)).body).toEqual({ value: '3' });
});

it('lose no increment of 100 parallel ones', async () => {
  await Promise.all(Array.from({ length: 100 }, () => t.call('incrementSession', { params }, key)));
  expect((await t.call('getSession', { params }, key)).body).toEqual({ value: '100' });
});

it('that are no numbers cannot be incremented', async () => {
  await t.call('setSession', { params, body: { value: 'x' } }, key);
  await expect(t.call('incrementSession', { params }, key)).rejects.toMatchObject({ code: 'conflict' });
});

it('are read in one batch, null for what is missing, whatever the key is called', async () => {
  await t.call('setSession', { params, body: { value: 'x' } }, key);
  const { body } = await t.call('readSessions', { body: { keys: [name, 'gone', '__proto__'] } }, key);
  expect(JSON.stringify(body)).toBe(`{"values":{"${name}":"x","gone":null,"__proto__":null}}`);
});

it('expire 7 days after the last write', async () => {
  await t.call('setSession', { params, body: { value: 'x' } }, key);
  t.clock.advance(6 * 86_400_000);
  await t.call('setSession', { params, body: { value: 'y' } }, key);
  t.clock.advance(7 * 86_400_000 - 1);
  expect((await t.call('getSession', { params }, key)).body).toEqual({ value: 'y' });
  t.clock.advance(1);
  await expect(t.call('getSession', { params }, key)).rejects.toMatchObject({ code: 'not_found' });
});

it('belong to their tenant', async () => {
  await t.call('setSession', { params, body: { value: 'x' } }, key);
  const stranger = t.key(await t.tenant());
  await expect(t.call('getSession', { params }, stranger)).rejects.toMatchObject({ code: 'not_found' });
});

it.each(['', 'a b', 'ä', 'x'.repeat(257)])('refuse the key %j everywhere', async (bad) => {
  const wrong = { code: 'validation_failed' };
  await expect(t.call('getSession', { params: { key: bad } }, key)).rejects.toMatchObject(wrong);
  await expect(t.call('readSessions', { body: { keys: [bad] } }, key)).rejects.toMatchObject(wrong);
});

it('refuse a batch of more than 100 keys', async () => {
  const keys = Array.from({ length: 101 }, (_, i) => `k${i}`);
  await expect(t.call('readSessions', { body: { keys } }, key)).rejects.toMatchObject({
    code: 'validation_failed',
  });
});
