// Answers to a client when the hub has no place for its work, class by class: status, code, message and Retry-After.
import { MongoError } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { EventIngest } from '../../adapters/mongo/event-ingest.ts';
import { asHubError } from '../../adapters/mongo/failure.ts';
import { createEvaluator } from '../../adapters/node/evaluator/evaluator.ts';
import { createReplayer } from '../../adapters/node/evaluator/replayer.ts';
import { createPasswords } from '../../adapters/node/passwords.ts';
import { gatherCalls } from '../../adapters/sqlite/threads/gather.ts';
import { Admission, type AdmissionSubject, refusalOf } from '../../src/admission/admission.ts';
import type { AdmissionClass } from '../../src/admission/admission-class.ts';
import { checkAnswer, checkRoom, createBudgets } from '../../src/admission/byte-budgets.ts';
import { ShortStreams } from '../../src/admission/short-streams.ts';
import { admissionTable } from '../../src/admission/table.ts';
import { createAssistant } from '../../src/assistant/use-cases/conversation.ts';
import { createExplanations } from '../../src/evaluation/use-cases/explanations.ts';
import { createReplays } from '../../src/evaluation/use-cases/replays.ts';
import { createEventExports } from '../../src/event/use-cases/exports.ts';
import { createEventScans } from '../../src/event/use-cases/scans.ts';
import { createExports } from '../../src/export/use-cases.ts';
import { IncomingBody } from '../../src/http/incoming-body.ts';
import { createSocketMessages } from '../../src/http/live/socket-messages.ts';
import { problemOf } from '../../src/http/problem.ts';
import { createEvidence } from '../../src/run/use-cases/evidence.ts';
import { createKeyedMutex } from '../../src/shared/concurrency/keyed-mutex.ts';
import type { Principal } from '../../src/shared/principal.ts';
import { createAccounts } from '../../src/tenant/use-cases/accounts.ts';
import { aSystem } from '../actors/runtime/counter.ts';
import { ManualClock, settled } from '../clock.ts';
import { memoryLog } from '../log.ts';
import { recordedRefusals } from './recorded-refusals.ts';

const mib = 1024 * 1024;

/** Every method of it begins and never ends. */
// biome-ignore lint/suspicious/noExplicitAny: it stands for ports of any form.
const endless: any = new Proxy(() => {}, {
  get: (_, name) => (name === 'then' ? undefined : endless),
  apply: () => new Promise(() => {}),
});
const principal: Principal = {
  tenantId: 't1',
  env: null,
  roles: new Set(['viewer', 'operator', 'admin'] as const),
  envRoles: null,
  actor: { kind: 'user', id: 'u', email: 'u@example.com' },
  agentId: null,
  agentPattern: null,
};
const user = { tenantId: 't1', caller: { kind: 'user', userId: 'u' } } as const;
const agent = {
  tenantId: 't1',
  caller: { kind: 'key', keyId: 'k', agentId: 'a', network: 'n' },
} as const;
const never = () => new Promise<never>(() => {});

let clock: ManualClock;
/** Of the node, new for each test. */
let admission: Admission;

/** Begins so many, of which the last one must be refused at once, and no other. @throws the refusal */
async function last(count: number, begin: (n: number) => Promise<unknown>): Promise<unknown> {
  const refused: number[] = [];
  const works = Array.from({ length: count }, (_, n) => {
    const work = begin(n);
    work.catch(() => refused.push(n));
    return work;
  });
  await settled();
  expect(refused).toEqual([count - 1]);
  return works.at(-1);
}

/** Begins so many, then lets the last one wait for too long. @throws the refusal */
async function late(count: number, ms: number, begin: () => Promise<unknown>): Promise<unknown> {
  for (let i = 0; i < count; i++) void begin().catch(() => {});
  const last = begin();
  last.catch(() => {});
  clock.advance(ms - 1);
  await settled();
  clock.advance(1);
  return last;
}

/** Worker threads that never become ready. */
const threads = () => ({
  clock,
  accepted: endless,
  entry: new URL('data:text/javascript,setInterval(()=>{},1e9)'),
});
const idle = <T extends { close(): Promise<void> }>(pool: T) =>
  Object.assign(pool, { [Symbol.asyncDispose]: () => pool.close() });

const searches = () => {
  return (subject: AdmissionSubject, search: () => Promise<unknown>) =>
    admission.run(subject, 'searches', search);
};
const evidence = () => createEvidence({ admission, store: endless, secrets: endless, clock, runs: endless });
const replayRequest = { env: null, agentId: null, sessionId: null, until: null, since: null } as never;
const budgetsWith = (held: readonly (readonly [string, number])[]) => {
  const budgets = createBudgets();
  for (const [holder, bytes] of held) budgets.unsent.take(holder, bytes);
  return budgets;
};
const bodyOf = (budgets: ReturnType<typeof createBudgets>) =>
  new IncomingBody({ limit: mib, declared: null, received: budgets.received, network: 'n' });

/** Makes the class refuse. @throws the refusal */
const refusals: { readonly [name: string]: () => Promise<unknown> } = {
  'a stream request that waited for 30 s': () => {
    const enter = () =>
      new Promise((resolve, reject) => {
        admission.enter({ credential: 'c' }, 'streamRequests', { open: true }, (permit) =>
          permit ? resolve(permit) : reject(refusalOf('streamRequests')),
        );
      });
    return late(512, 30_000, enter);
  },
  'a stream opening that waited for 30 s': () => {
    return late(512, 30_000, () => admission.run(user, 'streamOpenings', never));
  },
  'a search of a user': () => {
    const search = searches();
    return last(21, () => search(user, never));
  },
  'a search of an agent': () => {
    const search = searches();
    return last(7, () => search(agent, never));
  },
  'a search of a tenant': () => {
    const search = searches();
    return last(81, (n) => search({ ...user, caller: { kind: 'user', userId: `u${n}` } }, never));
  },
  'a search that waited for 2 s': () => {
    const search = searches();
    return late(4, 2_000, () => search(user, never));
  },
  'an answer that waited for 10 s': () => {
    return late(16, 10_000, () => admission.run(user, 'reads', never));
  },
  'an answer beside 4,000 that wait': () => {
    return last(4_017, () => admission.run(user, 'reads', never));
  },
  'a large batch that waited for 10 s': () => {
    return late(4, 10_000, () => admission.run(agent, 'largeBatches', never));
  },
  'a request of a caller with unread answers': async () =>
    checkRoom(budgetsWith([['c', 32 * mib - 64 * 1024 + 1]]), () => 'c'),
  'an answer to a caller with unread answers': async () =>
    checkAnswer(budgetsWith([['c', 31 * mib]]), () => 'c', mib + 1),
  'a request while all unread answers are too many': async () =>
    checkRoom(budgetsWith(Array.from({ length: 9 }, (_, i) => [`c${i}`, 28.5 * mib] as const)), () => 'c'),
  'a body from a network with too many': async () => {
    const budgets = createBudgets();
    budgets.received.take('n', 128 * mib);
    const body = bodyOf(budgets);
    body.push(new Uint8Array(1), true);
    return body.read();
  },
  'a body while the node holds too many': async () => {
    const budgets = createBudgets();
    for (const network of ['m', 'o']) budgets.received.take(network, 128 * mib);
    const body = bodyOf(budgets);
    body.push(new Uint8Array(1), true);
    return body.read();
  },
  'an 11th stream that ends at once': async () => {
    const shortStreams = new ShortStreams();
    for (let i = 0; i < 10; i++) shortStreams.ended('a', i * 100, i * 100 + 1);
    shortStreams.check('a', 1_000);
    shortStreams.ended('a', 1_000, 1_001);
    shortStreams.check('a', 2_500);
  },
  'a WebSocket after 64 mistakes': async () => {
    const messages = createSocketMessages({
      handlers: endless,
      received: createBudgets().received,
      turns: { next: async () => {} } as never,
      clock,
      log: endless,
    });
    for (let socket = 0; socket < 9; socket++) {
      const stream = { caller: agent.caller, incoming: null, end: () => {} } as never;
      for (let i = 0; i < 8; i++) messages.pinged(stream, true);
    }
    messages.admit(agent.caller as never);
  },
  'a set-up beside 1,000': () => {
    const accounts = createAccounts({
      store: { tenants: { anyUser: async () => false }, signing: endless },
      secrets: { uuid: () => 'id', hashPassword: never },
      clock,
      admission,
      settings: { setupToken: null },
      log: endless,
      meters: endless,
    } as never);
    return last(1_002, () =>
      accounts.setUp({ tenantName: 't', email: 'e', password: 'p' } as never, endless),
    );
  },
  'a tenth explanation of a person': () => {
    const explanations = createExplanations({
      store: endless,
      evaluator: endless,
      clock,
      admission,
      eventSearches: endless,
      runs: endless,
      recentToolSettings: endless,
    });
    return last(10, () => explanations.explain(principal, 'e', { env: null, since: null, until: null }));
  },
  'a third replay of a tenant': () => {
    const replays = createReplays({
      store: endless,
      evaluator: endless,
      replayer: endless,
      clock,
      admission,
    } as never);
    return last(3, () => replays.run(principal, replayRequest, never));
  },
  'a fifth replay': () => {
    const replays = createReplays({
      store: endless,
      evaluator: endless,
      replayer: endless,
      clock,
      admission,
    } as never);
    return last(5, (n) => replays.run({ ...principal, tenantId: `t${n}` }, replayRequest, never));
  },
  'a sixth decision bundle of a tenant': () => {
    const bundles = evidence();
    return last(6, () => bundles.collect(principal, {} as never, {} as never, endless, endless));
  },
  'a decision bundle that waited for 2 s': () => {
    const bundles = evidence();
    return late(1, 2_000, () => bundles.collect(principal, {} as never, {} as never, endless, endless));
  },
  'a third export of events': async () => {
    const exports = createEventExports({ admission, store: endless, clock, secrets: endless });
    for (let i = 0; i < 3; i++) exports.start(principal, {} as never);
  },
  'an eleventh export by cursor': () => {
    const exports = createExports({
      admission,
      store: endless,
      clock,
      secrets: endless,
      health: endless,
      sampleRuns: endless,
    } as never);
    const recheckReader = async () => true;
    const request = { kind: 'events', format: '', after: null, limit: 1, waitMs: 0, recheckReader } as const;
    return last(11, () => exports.list(principal, request));
  },
  'a third search of texts': () => {
    const scans = createEventScans(endless, clock, admission);
    return last(3, (n) =>
      scans.search({ ...principal, actor: { kind: 'system', name: `${n}` } }, {} as never, 1, null, 1),
    );
  },
  'a ninth AI answer': () => {
    const assistant = createAssistant({
      admission,
      access: endless,
      log: endless,
      secrets: endless,
    } as never);
    return last(9, () => assistant.assist(principal, { messages: [], currentYaml: null }, endless));
  },
  'a write to MongoDB beside 256 that wait': () => {
    const ingest = new EventIngest(endless, endless, endless, () => 'id', clock, endless, admission);
    const batch = {
      tenantId: 't1',
      events: [{ callId: 'c', agentId: 'a', payload: { session_id: 's' } }],
      receivedAt: 0,
    } as never;
    return last(16 + 256 + 1, () => ingest.store(batch));
  },
  'a write to MongoDB that waited for 5 s': () => {
    const ingest = new EventIngest(endless, endless, endless, () => 'id', clock, endless, admission);
    const batch = {
      tenantId: 't1',
      events: [{ callId: 'c', agentId: 'a', payload: { session_id: 's' } }],
      receivedAt: 0,
    } as never;
    return late(16, 5_000, () => ingest.store(batch));
  },
  'a change of a document in MongoDB that waited for over 5 s': async () => {
    const { ms } = admissionTable.mongoDocumentChanges;
    const refusal = () => refusalOf('mongoDocumentChanges');
    const turn = createKeyedMutex({ now: () => clock.monotonic(), maxWaitMs: ms, refusal });
    let end = (): void => {};
    const held = new Promise<void>((resolve) => {
      end = resolve;
    });
    void turn('libraries/t1', () => held);
    const late = turn('libraries/t1', never);
    late.catch(() => {});
    clock.advance(ms + 1);
    end();
    return late;
  },
  'a command to MongoDB that waited for a connection': async () => {
    class PoolTimeout extends MongoError {
      override get name() {
        return 'MongoWaitQueueTimeoutError';
      }
    }
    throw asHubError(new PoolTimeout('Timed out while checking out a connection'), memoryLog());
  },
  'a password beside 64 that wait': () => {
    const { checkPassword } = createPasswords({ cost: 2 ** 4 });
    return last(67, () => checkPassword('p', null));
  },
  'a call beside 100,000 for the store': async () => {
    const gathered = gatherCalls({ send: never, onFailure: () => {} });
    let last: Promise<unknown> | null = null;
    for (let i = 0; i <= 100_500; i++) {
      last = gathered('agents', 'noteSeen', [i]);
      last?.catch(() => {});
    }
    return last;
  },
  'a message to a full mailbox': async () => {
    const { actors, latch } = aSystem();
    latch('held');
    const held = actors.ask('counter', 'a', 'add', { n: 1, hold: 'held' });
    held.catch(() => {});
    await settled();
    return last(1_001, () => actors.ask('counter', 'a', 'add', { n: 1 }));
  },
  'a dry run beside 16 of its tenant that wait': async () => {
    await using evaluator = idle(createEvaluator(threads()));
    return await last(21, () => evaluator.evaluate('t1', endless));
  },
  'a dry run that waited for a second': async () => {
    await using evaluator = idle(createEvaluator(threads()));
    return await late(4, 1_000, () => evaluator.evaluate('t1', endless));
  },
  'a bundle beside 32 of its tenant that wait': async () => {
    await using evaluator = idle(createEvaluator(threads()));
    return await last(34, () => evaluator.assemble('t1', endless));
  },
  'a bundle that waited for 10 s': async () => {
    await using evaluator = idle(createEvaluator(threads()));
    return await late(1, 10_000, () => evaluator.assemble('t1', endless));
  },
  'a part of a replay beside 4 of its tenant that wait': async () => {
    await using replayer = idle(createReplayer(threads()));
    return await last(7, () => replayer.outline('t1', endless));
  },
};

describe('a refusal', () => {
  it.each(Object.keys(refusals))('of %s is as recorded', async (name) => {
    clock = new ManualClock();
    admission = new Admission(clock);
    const error = await (refusals[name] ?? never)().catch((reason: unknown) => reason);
    const { status, headers, body } = problemOf(error);
    const wait = headers.find(([header]) => header === 'Retry-After')?.[1];
    const answer = [status, body.code, wait === undefined ? null : Number(wait), body.detail];
    expect(answer).toEqual(recordedRefusals[name]);
  });

  it('is recorded for each class', () => {
    expect(Object.keys(refusals)).toEqual(Object.keys(recordedRefusals));
    const messages = new Set(Object.values(recordedRefusals).map(([, , , message]) => message));
    const others = Object.entries<AdmissionClass>(admissionTable)
      .filter(([, { refusal }]) => refusal && !messages.has(refusal.message))
      .map(([name, { refusal }]) => [name, refusal?.message]);
    expect(others).toEqual([
      // The stream ends; no client gets an answer.
      ['missedEvents', 'Too many streams reconnect at once. Try again shortly.'],
      // test/adapters/sqlite/durability.test.ts provokes this one.
      ['tenantEvents', 'Too many events from this tenant wait to be stored. Try again shortly.'],
    ]);
  });
});
