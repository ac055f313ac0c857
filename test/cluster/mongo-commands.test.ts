// How many commands a batch of events costs MongoDB: as many for many runs as for one. Runs with many approvals.
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { AgentRow } from '../../adapters/mongo/agent-rows.ts';
import type { ApprovalRow } from '../../adapters/mongo/approval-rows.ts';
import { type AuditCollections, mongoAudit } from '../../adapters/mongo/audit.ts';
import { EventIngest } from '../../adapters/mongo/event-ingest.ts';
import type { EventRow } from '../../adapters/mongo/event-row.ts';
import { lastSeen } from '../../adapters/mongo/last-seen.ts';
import { risingIds } from '../../adapters/mongo/uuidv7.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { Admission } from '../../src/admission/admission.ts';
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
  const made = ['update runs', 'insert runs', ...known.slice(1)];
  expect(await costOf(['one'])).toEqual(made);
  expect(await costOf(['one'])).toEqual(known);
  expect(await costOf(many)).toEqual(made);
  expect(await costOf(many)).toEqual(known);
  // Some are there, some are not.
  expect(await costOf([...many, 'new-1', 'new-2'])).toEqual(['update runs', 'find runs', ...made.slice(1)]);
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

it('a search for a text that finds little gives a page with its place when its time ends, and goes on behind', async () => {
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
  const search = (cursor: string | null) =>
    store.events.search(tenantId, { env: null, search: 'needle' }, 10, cursor, 'newest', 0);
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
});

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
  await lastSeen(overtaken)({ ...seen, on: null });
  const agent = await store.agents.get(tenantId, 'a');
  expect(agent).toMatchObject({ lastSeenAt: t0 + 100, lastEnv: 'staging' });
  expect(agent?.seenEnvs).toContain('development');
  await store.close();
});
