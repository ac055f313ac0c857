// The store on MongoDB while its server is away or hangs; acknowledged writes outlive a kill.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMongo } from '../../adapters/mongo/index.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { anEvent, aUser, t0, uuid } from '../conformance/fixtures.ts';
import { runsOf } from '../runs.ts';
import { until } from '../services/service.ts';
import { type Service, startOwnMongo } from '../services/start.ts';
import { noLog } from './stage.ts';

let mongo: Service;
let stop: () => Promise<void>;
let store: DocumentStore;

beforeAll(async () => {
  ({ mongo, stop } = await startOwnMongo());
  store = await openMongo({ url: mongo.url, log: noLog, clock: systemClock });
});
afterAll(async () => {
  await store.close();
  await stop();
});

const back = () =>
  until('the store', async () => {
    await store.ping();
  });
const refusal = { name: 'HubError', code: 'unavailable', detail: { retryAfter: 2 } };

describe('mongo away', () => {
  it('every call is refused as unavailable, and works when the server is back', async () => {
    await mongo.kill9();
    const tenantId = uuid();
    const batch = { tenantId, env: 'production' as const, receivedAt: t0, events: [anEvent()] };
    const calls: (() => Promise<unknown>)[] = [
      () => store.tenants.getUserByEmail('a@example.org'),
      () => store.tenants.createUser(aUser()),
      () => store.events.ingest(batch),
      () => store.events.search(tenantId, { env: null }, 10, null),
      () => store.signing.getActive(tenantId),
      () => store.ping(),
    ];
    await Promise.all(calls.map((call) => expect(call()).rejects.toMatchObject(refusal)));
    await expect(openMongo({ url: mongo.url, log: noLog, clock: systemClock })).rejects.toMatchObject(
      refusal,
    );
    await mongo.start();
    await back();
    expect(await store.events.ingest(batch)).toMatchObject({ accepted: 1, duplicates: 0 });
  });

  it('a server that hangs is told by a ping', async () => {
    await mongo.pause();
    try {
      await expect(store.ping()).rejects.toMatchObject(refusal);
    } finally {
      await mongo.resume();
    }
    await back();
  });
});

describe('mongo killed under load', () => {
  it('keeps every batch that it acknowledged, and a batch sent again is stored once', async () => {
    const tenantId = uuid();
    const batches = Array.from({ length: runsOf(60, 30) }, (_, i) => ({
      tenantId,
      env: 'production' as const,
      receivedAt: t0 + i,
      events: Array.from({ length: 20 }, () => anEvent({ timestamp: t0 + i })),
    }));
    let acknowledged = 0;
    let reachedSome: () => void = () => {};
    const some = new Promise<void>((resolve) => {
      reachedSome = resolve;
    });
    const sent = Promise.allSettled(
      batches.map((batch) =>
        store.events.ingest(batch).then((answer) => {
          if (++acknowledged === 15) reachedSome();
          return answer;
        }),
      ),
    );
    await some;
    await mongo.kill9();
    const answers = await sent;
    await mongo.start();
    await back();
    for (const [i, answer] of answers.entries()) {
      const batch = batches[i];
      if (!batch) throw new Error('no batch');
      const again = await store.events.ingest(batch);
      if (answer.status === 'fulfilled') expect(again).toMatchObject({ accepted: 0, duplicates: 20 });
      else expect(again.accepted + again.duplicates).toBe(20);
    }
    expect((await store.events.counts(tenantId, null, 0, 0)).events).toBe(20 * batches.length);
  });
});
