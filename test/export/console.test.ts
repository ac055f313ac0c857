// Exports by cursor as the console API answers them: sealed cursors, roles, waiting, formats, and expired cursors.
import { CloudEvent } from 'cloudevents';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createSecrets } from '../../adapters/node/secrets.ts';
import type { EventInput } from '../../src/event/record.ts';
import { sealCursor } from '../../src/http/contract/cursor.ts';
import { aBatch } from '../conformance/events.ts';
import { aNote, anApproval, anEvent, t0, uuid } from '../conformance/fixtures.ts';
import { removeAll } from '../conformance/retention.ts';
import { type CallInput, makeHub, type TestHub, type UserCaller } from '../harness.ts';

let t: TestHub;
let user: UserCaller;
beforeEach(async () => {
  t = await makeHub();
  user = await t.tenant();
});
afterEach(() => t.close());

type Operation = 'exportEventLines' | 'exportApprovalLines' | 'exportAuditLines';

interface Line {
  readonly cursor: string;
  readonly type: string;
  readonly data: { readonly [name: string]: unknown };
}

async function read(operation: Operation, query: CallInput['query'] = {}, caller = user) {
  const { body, headers } = await t.call(operation, { query }, caller);
  const lines = String(body)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
  return { lines, next: headers['X-Next-Cursor'] };
}

const ingest = (events: readonly EventInput[], over: object = {}) =>
  t.hub.store.events.ingest(aBatch(user.tenantId, events, over));
const repeat = (event: EventInput, verdict: string): EventInput => ({ ...event, verdict });

it('sends a line for each event and outcome, and goes on from the cursor of any line', async () => {
  const events = ['a', 'b', 'c'].map((callId) => anEvent({ callId }));
  await ingest(events);
  await ingest([repeat(events[0] as EventInput, 'call_executed')]);
  const { lines, next } = await read('exportEventLines');
  expect(lines.map(({ type, data }) => [type, data.call_id])).toEqual([
    ['event', 'a'],
    ['event', 'b'],
    ['event', 'c'],
    ['outcome', 'a'],
  ]);
  expect(lines[0]?.data).not.toHaveProperty('outcomes');
  expect(lines[3]?.data).toMatchObject({
    verdict: 'call_executed',
    tool_name: 'read_file',
    env: 'production',
  });
  const byOne: unknown[] = [];
  for (let after: string | undefined; ; ) {
    const page = await read('exportEventLines', { limit: '1', ...(after ? { after } : {}) });
    if (page.lines.length === 0) break;
    byOne.push(...page.lines.map(({ data }) => data));
    after = page.lines[0]?.cursor;
  }
  expect(byOne).toEqual(lines.map(({ data }) => data));
  expect((await read('exportEventLines', { after: next ?? '' })).lines).toEqual([]);
});

it('refuses a cursor of another kind, tenant or hub, and one that was made up', async () => {
  await ingest([anEvent()]);
  const { lines } = await read('exportEventLines');
  const after = lines[0]?.cursor ?? '';
  const otherHub = { secrets: createSecrets('the master secret of another hub', { cost: 16 }) };
  const refusals: readonly [Operation, string, UserCaller][] = [
    ['exportApprovalLines', after, user],
    ['exportEventLines', after, await t.tenant()],
    [
      'exportEventLines',
      sealCursor(otherHub, { tenantId: user.tenantId, list: 'export-events' }, '0 '),
      user,
    ],
    ['exportEventLines', `${after.slice(0, -2)}AA`, user],
  ];
  for (const [operation, cursor, caller] of refusals)
    await expect(read(operation, { after: cursor }, caller)).rejects.toMatchObject({ code: 'bad_request' });
});

it.each([{ wait: '31' }, { limit: '1001' }, { format: 'csv' }, { limit: '0' }])(
  'refuses %j',
  async (query) => {
    await expect(read('exportEventLines', query as never)).rejects.toMatchObject({
      code: 'validation_failed',
    });
  },
);

it('shows lines of the environments of a role alone, and goes on behind the others', async () => {
  await ingest([anEvent({ callId: 'p' })]);
  await ingest([anEvent({ callId: 's' })], { env: 'staging' });
  await ingest([anEvent({ callId: 'p2' })]);
  const viewer: UserCaller = { ...user, roles: [{ role: 'viewer', env: 'staging' }] };
  const { lines, next } = await read('exportEventLines', {}, viewer);
  expect(lines.map(({ data }) => data.call_id)).toEqual(['s']);
  const rest = await read('exportEventLines', { after: next ?? '' }, viewer);
  expect(rest.lines).toEqual([]);
  await ingest([anEvent({ callId: 's2' })], { env: 'staging' });
  const later = await read('exportEventLines', { after: lines[0]?.cursor ?? '' }, viewer);
  expect(later.lines.map(({ data }) => data.call_id)).toEqual(['s2']);
  await expect(read('exportAuditLines', {}, viewer)).rejects.toMatchObject({ code: 'forbidden' });
});

/** Moves the clock until the promise has settled; returns its value and the milliseconds that passed. */
async function settled<T>(promise: Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  let isDone = false;
  const done = promise.finally(() => {
    isDone = true;
  });
  const begun = t.clock.monotonic();
  while (!isDone) await t.clock.advanceAsync(100);
  return { value: await done, ms: t.clock.monotonic() - begun };
}

it('waits for the first line, and ends the wait without one', async () => {
  const waiting = read('exportEventLines', { wait: '30' });
  await t.clock.advanceAsync(2_000);
  await ingest([anEvent({ callId: 'late' })]);
  const { value, ms } = await settled(waiting);
  expect(value.lines.map(({ data }) => data.call_id)).toEqual(['late']);
  expect(ms).toBeLessThan(2_000);
  const empty = await settled(read('exportEventLines', { wait: '2', after: value.lines[0]?.cursor ?? '' }));
  expect(empty.value.lines).toEqual([]);
  expect(empty.ms).toBeGreaterThanOrEqual(1_900);
  expect(empty.ms).toBeLessThan(3_500);
});

it('lets ten exports of a tenant wait at once', async () => {
  const waiting = Array.from({ length: 10 }, () => read('exportEventLines', { wait: '1' }));
  await expect(read('exportEventLines')).rejects.toMatchObject({ code: 'rate_limited' });
  await settled(Promise.all(waiting));
  expect((await read('exportEventLines')).lines).toEqual([]);
});

it('answers a cursor that retention has passed with the oldest good one and the number of missing lines', async () => {
  for (let i = 0; i < 5; i++) await ingest([anEvent({ callId: `c${i}` })], { receivedAt: t0 + i });
  const { lines } = await read('exportEventLines', { limit: '1' });
  await removeAll(t.hub.store, user.tenantId, 'events', t0 + 3);
  const refusal = await read('exportEventLines', { after: lines[0]?.cursor ?? '' }).catch((error) => error);
  expect(refusal).toMatchObject({ code: 'cursor_expired', detail: { members: { lines_removed: 3 } } });
  const { oldest_cursor: after } = refusal.detail.members;
  const rest = await read('exportEventLines', { after });
  expect(rest.lines.map(({ data }) => data.call_id)).toEqual(['c3', 'c4']);
  expect((await read('exportEventLines')).lines).toHaveLength(2);
});

it('exports changes of approvals, and the audit chain for admins', async () => {
  const approval = anApproval({ tenantId: user.tenantId, createdAt: t0, deadline: t0 + 5 });
  await t.hub.store.approvals.request(approval);
  await t.hub.store.approvals.expire(user.tenantId, approval.id, t0 + 6);
  const changes = await read('exportApprovalLines');
  expect(changes.lines.map(({ type, data }) => [type, data.status])).toEqual([
    ['approval_requested', 'pending'],
    ['approval_expired', 'timeout'],
  ]);
  await t.hub.store.audit.append([aNote({ tenantId: user.tenantId }), aNote({ tenantId: user.tenantId })]);
  const first = await read('exportAuditLines', { limit: '3' });
  const begun = ['user.created', 'user.exported_events'];
  expect(first.lines.map(({ data }) => data.action_type)).toEqual([...begun, 'key.created']);
  const rest = await read('exportAuditLines', { after: first.lines[2]?.cursor ?? '' });
  // The read of the chain began an export, too.
  expect(rest.lines.map(({ data }) => data.action_type)).toEqual(['key.created', 'user.exported_events']);
});

it('writes CloudEvents that their library accepts', async () => {
  const event = anEvent({ callId: 'x', agentId: '' });
  await ingest([event, anEvent()]);
  await ingest([repeat(event, 'call_executed')]);
  await t.hub.store.approvals.request(anApproval({ tenantId: user.tenantId }));
  const ids: string[] = [];
  for (const operation of ['exportEventLines', 'exportApprovalLines', 'exportAuditLines'] as const) {
    const { lines } = await read(operation, { format: 'cloudevents' });
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      const cloudEvent = new CloudEvent(line as never);
      expect(cloudEvent.validate()).toBe(true);
      expect(cloudEvent.source).toBe(`urn:reeve:tenant:${user.tenantId}`);
      ids.push(`${cloudEvent.type} ${cloudEvent.id}`);
    }
  }
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => id.startsWith('reeve.event'))).toHaveLength(3);
});

it('has nothing for a tenant without events', async () => {
  expect(await read('exportEventLines', {}, { ...user, tenantId: uuid() })).toEqual({
    lines: [],
    next: undefined,
  });
});
