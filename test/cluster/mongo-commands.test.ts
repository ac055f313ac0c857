// How many commands a batch of events costs MongoDB: as many for many runs as for one. Runs with many approvals.
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { AgentRow } from '../../adapters/mongo/agent-rows.ts';
import { type AgentStreamRow, mongoAgentStreams } from '../../adapters/mongo/agent-streams.ts';
import type { ApprovalRow } from '../../adapters/mongo/approval-rows.ts';
import { type AuditCollections, mongoAudit } from '../../adapters/mongo/audit.ts';
import { EventIngest } from '../../adapters/mongo/event-ingest.ts';
import type { EventRow } from '../../adapters/mongo/event-row.ts';
import { lastSeen } from '../../adapters/mongo/last-seen.ts';
import { SeenTimes } from '../../adapters/mongo/seen-times.ts';
import { risingIds } from '../../adapters/mongo/uuidv7.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { Admission } from '../../src/admission/admission.ts';
import type { PastStream } from '../../src/agent/record.ts';
import { aStream } from '../conformance/agent-streams.ts';
import { aBatch } from '../conformance/events.ts';
import { anApproval, anEvent, t0, uuid } from '../conformance/fixtures.ts';
import { itAtNight } from '../runs.ts';
import { mongoDatabases } from './stage.ts';

const databases = mongoDatabases();
let client: MongoClient;
let said: string[] = [];
beforeAll(async () => {
  client = await new MongoClient(inject('mongoUrl'), { monitorCommands: true }).connect();
  client.on('commandStarted', ({ commandName, command }) =>
    said.push(`${commandName} ${command[commandName]}`),
  );
});
afterAll(() => client.close());

it('a batch of thirty runs costs as many commands as one of a single run', async () => {
  const db = client.db(`reeve_test_${uuid().slice(0, 18)}`);
  const chain = { links: db.collection('auditLinks'), heads: db.collection('auditHeads') };
  const audit = mongoAudit({
    ...chain,
    intents: db.collection('auditIntents'),
  } as unknown as AuditCollections);
  const ingest = new EventIngest(
    db.collection('events'),
    db.collection('runs'),
    audit,
    risingIds(),
    systemClock,
    // Its one command runs beside the insert (export-log.ts).
    { register: async () => {}, settle: async () => {}, written: async () => {}, abandoned: () => {} },
    new Admission(systemClock),
  );
  const tenantId = uuid();
  const costOf = async (sessions: readonly string[]): Promise<readonly string[]> => {
    said = [];
    const events = sessions.map((session_id) => anEvent({ payload: { session_id, decision_name: 'x' } }));
    await ingest.store(aBatch(tenantId, events));
    return said;
  };
  const many = Array.from({ length: 30 }, (_, i) => `run-${i}`);
  const known = ['update runs', 'insert events', 'find runs', 'update runs'];
  const commands = ['update runs', 'insert runs', ...known.slice(1)];
  expect(await costOf(['one'])).toEqual(commands);
  expect(await costOf(['one'])).toEqual(known);
  expect(await costOf(many)).toEqual(commands);
  expect(await costOf(many)).toEqual(known);
  // Some are there, some are not.
  expect(await costOf([...many, 'new-1', 'new-2'])).toEqual([
    'update runs',
    'find runs',
    ...commands.slice(1),
  ]);
  await db.dropDatabase();
});

itAtNight(
  'a run with many pending approvals hides no other run, and its list reads one of them',
  async () => {
    const name = databases.newName();
    const store = await databases.open(name);
    const tenantId = uuid();
    const request = { tenantId, agentId: 'agent-1', deadline: t0 + 60_000, toolArgs: null };
    const oldest = anApproval({ ...request, sessionId: 'many', createdAt: t0 });
    await store.approvals.request(anApproval({ ...request, sessionId: 'many', createdAt: t0 + 2 }));
    await store.approvals.request(oldest);
    await store.approvals.request(anApproval({ ...request, sessionId: 'one', createdAt: t0 + 1 }));
    const rows = client.db(name).collection<ApprovalRow>('approvals');
    const row = await rows.findOne({ 'context.sessionId': 'many', createdAt: t0 + 2 });
    if (!row) throw new Error('The approval is not there.');
    // More than a run's approvals that a list reads, so a limit before the groups would hide the other run.
    const more = 10_500;
    await rows.insertMany(Array.from({ length: more }, () => ({ ...row, _id: uuid() })));
    const listing = await store.runs.list(
      tenantId,
      { env: null, statuses: ['approval_pending'] },
      { limit: 10, offset: 0 },
      { now: t0 + 10, staleAfterMs: 1_000 },
    );
    expect(listing.items).toMatchObject([
      { sessionId: 'many', pendingApprovals: more + 2, oldestPending: { id: oldest.id } },
      { sessionId: 'one', pendingApprovals: 1 },
    ]);
    expect(listing.total).toBe(2);
    await store.close();
  },
);

it.each([
  ['a text', { env: null, search: 'needle' }],
  ['a field without an index', { env: null, toolName: 'needle', mode: 'enforce' }],
])(
  'a search for %s that finds little gives a page with its place when its time ends, and goes on behind',
  async (_, filter) => {
    const name = databases.newName();
    const store = await databases.open(name);
    const tenantId = uuid();
    await store.events.ingest(aBatch(tenantId, [anEvent({ toolName: 'needle', timestamp: t0 })]));
    const rows = client.db(name).collection<EventRow>('events');
    const row = await rows.findOne({ tenantId });
    if (!row) throw new Error('The event is not there.');
    await rows.insertMany(
      Array.from({ length: 2_500 }, (_, i) => ({
        ...row,
        _id: uuid(),
        callId: uuid(),
        toolName: 'hay',
        ts: t0 + 1 + i,
      })),
    );
    const search = (cursor: string | null) => store.events.search(tenantId, filter, 10, cursor, 'newest', 0);
    const first = await search(null);
    expect(first).toMatchObject({ events: [], searchedTo: t0 + 1_501 });
    const second = await search(first.next);
    expect(second).toMatchObject({ events: [], searchedTo: t0 + 501 });
    const ids: string[] = [];
    for (let cursor = second.next; cursor !== null; ) {
      const page = await search(cursor);
      ids.push(...page.events.map(({ id }) => id));
      cursor = page.next;
    }
    expect(ids).toEqual([row._id]);
    await store.close();
  },
);

it('an agent keeps an environment that it was seen in, though another node noted a later time in between', async () => {
  const name = databases.newName();
  const store = await databases.open(name);
  const tenantId = uuid();
  await store.agents.noteSeen(tenantId, 'a', 'production', t0, uuid());
  const agents = client.db(name).collection<AgentRow>('agents');
  const overtaken = new Proxy(agents, {
    get: (target, method) => {
      if (method !== 'bulkWrite') return Reflect.get(target, method);
      return async (...args: Parameters<typeof agents.bulkWrite>) => {
        await target.updateOne({ tenantId }, { $set: { lastSeenAt: t0 + 100, lastEnv: 'staging' } });
        return target.bulkWrite(...args);
      };
    },
  });
  const seen = { tenantId, agentId: 'a', env: 'development', now: t0 + 50, newId: null } as const;
  await lastSeen(overtaken, new SeenTimes(agents, systemClock, { warn: () => {} }))({ ...seen, on: null });
  const agent = await store.agents.get(tenantId, 'a');
  expect(agent).toMatchObject({ lastSeenAt: t0 + 100, lastEnv: 'staging' });
  expect(agent?.seenEnvs).toContain('development');
  await store.close();
});

/** Registers agents, has them seen again, and answers with the writes before and after the store closed. */
async function writesOfReturn(agentIds: readonly string[], hour: number, max?: number) {
  const db = client.db(`reeve_test_${uuid().slice(0, 18)}`);
  const agents = db.collection<AgentRow>('agents');
  const times = new SeenTimes(agents, systemClock, { warn: () => {} }, max);
  const noteSeen = lastSeen(agents, times);
  const tenantId = uuid();
  const see = (now: number, env: 'production' | 'staging' = 'production') =>
    Promise.all(
      agentIds.map((agentId) =>
        noteSeen({ tenantId, agentId, env, now, newId: uuid(), on: { api: 'console' } }),
      ),
    );
  await see(t0);
  const writes = () => said.filter((command) => command.startsWith('update')).length;
  said = [];
  await see(t0 + hour * 3_600_000);
  const before = writes();
  await times.close();
  const rows = await agents.find({ tenantId }).toArray();
  expect(rows.map(({ lastSeenAt }) => lastSeenAt)).toEqual(agentIds.map(() => t0 + hour * 3_600_000));
  return { before, after: writes() };
}

it('agents that come back wait for no write of their times, and the store has all once it is closed', async () => {
  const agentIds = Array.from({ length: 1_000 }, (_, i) => `agent-${i}`);
  const { before, after } = await writesOfReturn(agentIds, 1);
  // Writes that wait begin by their time, on a slow machine before the last answer.
  expect(before).toBeLessThan(after);
  expect(after).toBeLessThanOrEqual(11);
});

it('times above the bound, and those after a day, are written before the answer', async () => {
  const agentIds = ['a', 'b', 'c'];
  expect(await writesOfReturn(agentIds, 1)).toEqual({ before: 0, after: 1 });
  expect(await writesOfReturn(agentIds, 1, 1)).toEqual({ before: 1, after: 2 });
  expect(await writesOfReturn(agentIds, 25)).toEqual({ before: 1, after: 1 });
});

it('a time that waits brings back no agent that was retired since, and repeats a write that failed', async () => {
  const agents = client.db(`reeve_test_${uuid().slice(0, 18)}`).collection<AgentRow>('agents');
  let failures = 1;
  const failing = new Proxy(agents, {
    get: (target, method) => {
      if (method !== 'bulkWrite') return Reflect.get(target, method);
      return (...args: Parameters<typeof agents.bulkWrite>) =>
        failures-- > 0 ? Promise.reject(new Error('away')) : target.bulkWrite(...args);
    },
  });
  const warnings: object[] = [];
  const times = new SeenTimes(failing, systemClock, {
    warn: (fields) => void warnings.push(fields as object),
  });
  const tenantId = uuid();
  const see = (agentId: string, now: number) =>
    lastSeen(agents, times)({ tenantId, agentId, env: 'production', now, newId: uuid(), on: null });
  await Promise.all(['here', 'gone'].map((agentId) => see(agentId, t0)));
  await Promise.all(['here', 'gone'].map((agentId) => see(agentId, t0 + 1_000)));
  await agents.updateOne({ tenantId, agentId: 'gone' }, { $set: { retiredAt: t0 + 2_000 } });
  await expect
    .poll(async () => (await agents.findOne({ tenantId, agentId: 'here' }))?.lastSeenAt, { timeout: 10_000 })
    .toBe(t0 + 1_000);
  expect(warnings).toEqual([{ error: 'away' }]);
  expect(await agents.findOne({ tenantId, agentId: 'gone' })).toMatchObject({ retiredAt: t0 + 2_000 });
});

it('ends of streams that the store has cost one command', async () => {
  const streams = client.db(`reeve_test_${uuid().slice(0, 18)}`).collection<AgentStreamRow>('agentStreams');
  const store = mongoAgentStreams(streams);
  const tenantId = uuid();
  const open = Array.from({ length: 50 }, (_, i) => aStream({ tenantId, agentId: `a-${i}`, endedAt: null }));
  const costOf = async (recorded: readonly PastStream[]): Promise<readonly string[]> => {
    said = [];
    await store.record(recorded);
    return said;
  };
  expect(await costOf(open)).toEqual(['update agentStreams', 'aggregate agentStreams']);
  const ends = open.map((one) => ({ ...one, endedAt: t0 + 5 }));
  expect(await costOf(ends)).toEqual(['update agentStreams']);
  expect(await costOf(ends.map((one) => ({ ...one, endedAt: t0 + 9 })))).toEqual(['update agentStreams']);
  expect(await streams.countDocuments({ tenantId, endedAt: t0 + 5 })).toBe(50);
  // The first bulk of 16 looks for agents above the bound, and so does one with 16 streams of an agent.
  const some = (count: number) =>
    costOf(Array.from({ length: count }, () => aStream({ tenantId, agentId: 'many', endedAt: null })));
  for (let bulk = 3; bulk < 16; bulk++) expect(await some(1)).toEqual(['update agentStreams']);
  expect(await some(1)).toEqual(['update agentStreams', 'aggregate agentStreams']);
  expect(await some(15)).toEqual(['update agentStreams']);
  expect(await some(16)).toEqual(['update agentStreams', 'aggregate agentStreams']);
});
