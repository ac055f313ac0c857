// Idempotency-Key of a route that declares it, over a real store.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openSqliteInline } from '../../adapters/sqlite/index.ts';
import { type Caller, Reply } from '../../src/http/contract/call.ts';
import { createIdempotency, type Idempotency } from '../../src/http/idempotency.ts';
import { HubError } from '../../src/shared/error.ts';
import { ManualClock } from '../clock.ts';
import { silentLog } from '../log.ts';
import { secrets } from './fixtures.ts';

let store: Awaited<ReturnType<typeof openSqliteInline>>;
let clock: ManualClock;
let idempotency: Idempotency;
beforeEach(async () => {
  store = await openSqliteInline(':memory:');
  clock = new ManualClock();
  idempotency = createIdempotency({ store: store.idempotency, secrets, clock, log: silentLog });
});
afterEach(() => store.close());

const caller = { kind: 'hostedOperator', tenantId: 't', issuer: 'i', subject: 's' } as Caller;
type Handle = (newId: string | null) => Promise<unknown>;

function send(handle: Handle, { kind = 'answer' as 'answer' | 'once', operation = 'make', body = {} } = {}) {
  const declaration = { idempotent: kind, status: 201 };
  const headers = new Map([['idempotency-key', 'k']]);
  const sent = { operation, declaration, caller, headers };
  return idempotency.run(sent, idempotency.keyOf(sent), { body }, handle);
}
const create: Handle = async (newId) => ({ id: newId });
const never: Handle = async () => {
  throw new Error('carried out again');
};
const reason = (name: string) => ({ detail: { reason: name } });

it('answers a repeat as the first, status and headers too, and never carries it out', async () => {
  const first = (await send(
    async (newId) => new Reply({ id: newId }, { status: 202, headers: { 'X-A': 'b' } }),
  )) as Reply<unknown>;
  expect(await send(never)).toEqual(
    new Reply(first.body, { status: 202, headers: { 'X-A': 'b', 'Idempotency-Replayed': 'true' } }),
  );
  await expect(send(never, { body: { other: 1 } })).rejects.toMatchObject(reason('idempotency_key_reused'));
  // Another route's keys are its own.
  expect(await send(create, { operation: 'other' })).not.toEqual(first.body);
});

it('refuses a repeat while the first runs, and takes over from one whose node died, under its id', async () => {
  let finish = (_result: unknown): void => {};
  const ids: (string | null)[] = [];
  const slow = send((newId) => {
    ids.push(newId);
    return new Promise((resolve) => {
      finish = resolve;
    });
  });
  while (ids.length === 0) await Promise.resolve();
  await expect(send(never)).rejects.toMatchObject({
    code: 'conflict',
    detail: { reason: 'idempotency_in_progress', retryAfter: 1 },
  });
  clock.advance(10_000);
  const second = await send(create);
  expect(second).toEqual({ id: ids[0] });
  finish(second);
  expect(await slow).toEqual(second);
});

it('carries a request out again that failed, under its id', async () => {
  const ids: (string | null)[] = [];
  const failing = send(async (newId) => {
    ids.push(newId);
    throw new HubError('unavailable', 'Nobody knows.');
  });
  await expect(failing).rejects.toMatchObject({ code: 'unavailable' });
  expect(await send(create)).toEqual({ id: ids[0] });
});

it('refuses a repeat of an answer with a secret, of which nothing is stored', async () => {
  await send(async () => ({ key: 'svk_secret' }), { kind: 'once' });
  await expect(send(never, { kind: 'once' })).rejects.toMatchObject(reason('idempotency_replay_refused'));
});

it('keeps no large answer: it is made again of what was made', async () => {
  const large = 'x'.repeat(200_000);
  const first = (await send(async (newId) => ({ id: newId, large }))) as { id: string };
  expect(await send(async (newId) => ({ id: newId, large }))).toEqual(
    new Reply({ id: first.id, large }, { status: 201, headers: { 'Idempotency-Replayed': 'true' } }),
  );
});

it('forgets a key after 24 hours', async () => {
  const first = await send(create);
  clock.advance(24 * 3_600_000);
  expect(await send(create, { body: { other: 1 } })).not.toEqual(first);
});

it('answers although the answer could not be kept', async () => {
  const broken = {
    ...store.idempotency,
    answered: async () => {
      throw new HubError('unavailable', 'no');
    },
  };
  idempotency = createIdempotency({ store: broken, secrets, clock, log: silentLog });
  expect(await send(create)).toMatchObject({ id: expect.any(String) });
});
