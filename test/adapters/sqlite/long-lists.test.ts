// Lists of runs and of the audit chain whose filters fit little: they are looked through step by step, so that other
// reads come between, and what takes too long can be ended.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { agentStore } from '../../../adapters/sqlite/agents.ts';
import { approvalStore } from '../../../adapters/sqlite/approvals.ts';
import { appendNotes, auditStore } from '../../../adapters/sqlite/audit.ts';
import { contractStore } from '../../../adapters/sqlite/contracts.ts';
import { Database } from '../../../adapters/sqlite/database.ts';
import { exportStore } from '../../../adapters/sqlite/exports.ts';
import { runStore } from '../../../adapters/sqlite/runs.ts';
import { migrate } from '../../../adapters/sqlite/schema/index.ts';
import { isSteps, type Steps } from '../../../adapters/sqlite/sync.ts';
import type { AgentQuery } from '../../../src/agent/port.ts';
import type { AgentPlace, RegistrationSummary } from '../../../src/agent/record.ts';
import type { AuditNote } from '../../../src/audit/record.ts';
import type { ContractVersion } from '../../../src/contract/record.ts';
import type { RunPlace } from '../../../src/run/record.ts';
import type { Page } from '../../../src/shared/ports/page.ts';
import { aContract, t0, uuid } from '../../conformance/fixtures.ts';
import { itAtNight } from '../../runs.ts';

let db: Database;
beforeEach(() => {
  db = new Database(':memory:');
  migrate(db);
});
afterEach(() => db.close());

const byId = { order: 'agentId', descending: false, search: null, limit: 50, after: null } as const;

/** The result, and in how many steps it came. */
function walked<R>(result: R | Steps<R>): { readonly result: R; readonly steps: number } {
  if (!isSteps(result)) return { result, steps: 1 };
  const walk = result as Steps<R>;
  for (let steps = 1; ; steps++) {
    const step = walk.next();
    if (step.done) return { result: step.value, steps };
  }
}

it('runs of a status are found a few thousand at a time, each once, with how many there are', () => {
  const tenantId = uuid();
  for (let i = 0; i < 9_000; i++) {
    db.run(
      `INSERT INTO runs (tenant_id, agent, session, env, standing, started_at, last_at, received_at, sample)
         VALUES (?, ?, ?, 'production', ?, ?, ?, ?, 0)`,
      // Many of one time: the order goes on by agent and session.
      [tenantId, `a${i % 7}`, `s${i}`, i % 1_000 === 5 ? 'blocked' : 'completed', t0, t0 + (i % 3), t0],
    );
  }
  const time = { now: t0 + 10, staleAfterMs: 1_000 };
  const filter = { env: null, statuses: ['blocked'] } as const;
  const seen: string[] = [];
  let after: RunPlace | undefined;
  for (;;) {
    const page = { limit: 4, offset: 0, ...(after ? { after } : {}) };
    const { result, steps } = walked(runStore(db).list(tenantId, filter, page, time));
    expect(result.total).toBe(9);
    expect(steps).toBeGreaterThan(4);
    seen.push(...result.items.map(({ sessionId }) => sessionId));
    after = result.items.at(-1);
    if (!result.more) break;
  }
  expect(seen.length).toBe(9);
  expect(new Set(seen).size).toBe(9);
  const passed = walked(runStore(db).list(tenantId, filter, { limit: 4, offset: 6 }, time)).result;
  expect(passed.items.map(({ sessionId }) => sessionId)).toEqual(seen.slice(6));
  const usual = walked(runStore(db).list(tenantId, { env: null }, { limit: 50, offset: 0 }, time));
  expect(usual).toMatchObject({ steps: 1, result: { total: 9_000, more: true } });
});

it('contracts are listed with one that has a new version between two steps, each once', () => {
  const { list, listTags, create, update } = contractStore(db);
  const tenantId = uuid();
  for (let i = 0; i < 450; i++)
    create(aContract({ tenantId, contractId: `c${i}`, createdAt: t0 + i, tags: [`tag-${i}`] }));
  const page = { limit: 1000, offset: 0 };
  for (const [read, idOf] of [
    [() => list(tenantId, {}, page), (one: unknown) => (one as ContractVersion).contractId],
    [() => listTags(tenantId, page), String],
  ] as const) {
    const steps = read() as Steps<Page<unknown>>;
    let step = steps.next();
    update(tenantId, 'c3', { tags: ['tag-3'] }, { id: uuid(), createdBy: 'ann', createdAt: t0 + 1000 });
    while (!step.done) step = steps.next();
    const ids = step.value.items.map(idOf);
    expect([ids.length, new Set(ids).size]).toEqual([450, 450]);
  }
});

it('approvals are counted some at a time, each once', () => {
  const tenantId = uuid();
  for (let i = 0; i < 45_000; i++) {
    db.run(
      `INSERT INTO approvals (id, tenant_id, status, agent_id, tool_name, message, env, timeout_seconds, timeout_effect,
         created_at, deadline) VALUES (?, ?, ?, ?, 'send', 'may I', 'production', 60, 'deny', ?, ?)`,
      [uuid(), tenantId, i % 2 ? 'approved' : 'pending', `a${i % 5}`, t0 + (i % 3), t0 + 60_000],
    );
  }
  const { count } = approvalStore(db, () => true);
  const all = walked(count(tenantId, { env: null }, t0));
  expect(all.result).toBe(45_000);
  expect(all.steps).toBe(3);
  expect(walked(count(tenantId, { env: null, status: 'pending', agentId: 'a2' }, t0)).result).toBe(4_500);
  expect(walked(count(tenantId, { env: null, until: t0, since: t0 }, t0)).result).toBe(15_000);
  expect(walked(count(uuid(), { env: null }, t0)).result).toBe(0);
});

it('agents are listed and searched a few thousand at a time, each once, in every order', () => {
  const tenantId = uuid();
  for (let i = 0; i < 5_000; i++) {
    const [agentId, name] = [`a${(i * 7_919) % 5_000}`, i % 500 === 3 ? 'Rare' : null];
    db.run(
      `INSERT INTO registrations (id, tenant_id, agent_id, display_name, tags, last_seen_at, created_at)
         VALUES (?, ?, ?, ?, '{}', ?, ?)`,
      [uuid(), tenantId, agentId, name, i % 9 === 0 ? null : t0 + (i % 4), t0 + (i % 3)],
    );
  }
  const { search: find } = agentStore(db);
  const idOf = ({ agentId }: { readonly agentId: string }) => agentId;
  const all = walked(find(tenantId, { ...byId, limit: 5_000 })).result.items;
  expect(all).toHaveLength(5_000);
  for (const order of ['agentId', 'lastSeenAt', 'createdAt'] as const)
    for (const descending of [false, true])
      for (const search of [null, 'rare', 'A12']) {
        const timeOf = (one: (typeof all)[number]) => (order === 'agentId' ? 0 : (one[order] ?? 0));
        const expected = all
          .filter(({ agentId, displayName }) =>
            `${agentId} ${displayName ?? ''}`.toLowerCase().includes(search?.toLowerCase() ?? ''),
          )
          .sort(
            (a, b) =>
              (descending ? timeOf(b) - timeOf(a) : timeOf(a) - timeOf(b)) ||
              (a.agentId < b.agentId ? -1 : 1) * (order === 'agentId' && descending ? -1 : 1),
          );
        const ids: string[] = [];
        let after: AgentPlace | null = null;
        for (;;) {
          const query: AgentQuery = { order, descending, search, limit: search === null ? 1_700 : 4, after };
          const { result }: { readonly result: Page<RegistrationSummary> } = walked(find(tenantId, query));
          ids.push(...result.items.map(idOf));
          const last = result.items.at(-1);
          if (!result.more || !last) break;
          after = { agentId: last.agentId, at: timeOf(last) };
        }
        expect(ids).toEqual(expected.map(idOf));
      }
  for (const order of ['agentId', 'lastSeenAt'] as const) {
    const none = walked(find(tenantId, { ...byId, order, search: 'nobody' }));
    expect(none).toEqual({ result: { items: [], more: false }, steps: 3 });
  }
});

it('exports look at the outcomes of other tenants some at a time, and go on behind them', () => {
  const [tenantId, other] = [uuid(), uuid()];
  db.exec(`INSERT INTO tenant_numbers (number, tenant_id) VALUES (1, '${tenantId}'), (2, '${other}')`);
  const row = `INSERT INTO outcomes (segment, position, key, outcome, after_segment) VALUES (1, 0, ?, '{}', 0)`;
  db.atomically(() => {
    for (let i = 0; i < 60_000; i++) db.run(row, [String(i)]);
  });
  const { list: lines } = exportStore(db);
  const first = walked(lines(tenantId, 'events', null, 100));
  expect(first.result).toMatchObject({ lines: [], hasMore: true });
  expect(first.steps).toBeGreaterThan(50);
  const rest = walked(lines(tenantId, 'events', first.result.end, 100));
  expect(rest.result).toMatchObject({ lines: [], hasMore: false });
  expect(rest.steps).toBeLessThan(first.steps);
});

itAtNight('a chain is looked through a few thousand entries at a time, and nothing of it is left out', () => {
  const tenantId = uuid();
  const note = (i: number): AuditNote => ({
    id: uuid(),
    at: t0 + i,
    tenantId,
    actor: { type: 'operator', id: i % 3_000 === 7 ? 'seldom' : 'often', display: 'somebody' },
    action: 'key.created',
    subject: { id: uuid(), name: null },
    summary: 'a key was made',
    details: {},
    agentId: null,
    sessionId: null,
  });
  for (let i = 0; i < 9_000; i++) appendNotes(db, [note(i)]);
  const filter = { from: null, to: null, actor: 'seldom', actions: null, subjects: null };
  const first = walked(auditStore(db).list(tenantId, filter, null, 2));
  expect(first.result.map(({ seq }) => seq)).toEqual([6_008, 3_008]);
  const rest = walked(auditStore(db).list(tenantId, filter, first.result.at(-1) ?? null, 2));
  expect(rest.result.map(({ seq }) => seq)).toEqual([8]);
  const none = walked(auditStore(db).list(tenantId, { ...filter, actor: 'nobody' }, null, 2));
  expect(none).toMatchObject({ result: [] });
  expect(none.steps).toBeGreaterThan(2);

  // Links of many entries, as batches of events make them.
  const other = uuid();
  for (let i = 0; i < 9; i++) {
    appendNotes(
      db,
      Array.from({ length: 1_000 }, (_, k) => ({ ...note(i * 1_000 + k), tenantId: other })),
    );
  }
  const batched = walked(auditStore(db).list(other, filter, null, 10));
  expect(batched.result.map(({ seq, position }) => [seq, position])).toEqual([
    [7, 7],
    [4, 7],
    [1, 7],
  ]);
  expect(batched.steps).toBeGreaterThan(2);
});
