// Session values.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { api } from '../../src/api/index.ts';
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
