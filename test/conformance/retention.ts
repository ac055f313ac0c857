// Every store's promises about retention (tenant/port/retention.ts).
import { describe, expect, it } from 'vitest';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import type { RetentionKind } from '../../src/tenant/rules/retention.ts';
import { sizeFor } from '../runs.ts';
import { aDelivery } from './channels.ts';
import { aBatch, readAll } from './events.ts';
import { anApproval, anEvent, firstPage, itemsOf, type Open, sharedStore, t0, uuid } from './fixtures.ts';
import { ofSession } from './runs.ts';

/** Removes until nothing is left, in slices of `limit`; returns how many went. */
export async function removeAll(
  store: DocumentStore,
  tenantId: string,
  kind: RetentionKind,
  before: number,
  limit = 3,
): Promise<number> {
  let removed = 0;
  for (let after: string | null = null; ; ) {
    const slice = await store.retention.remove(tenantId, kind, before, after, limit);
    removed += slice.removed;
    if (slice.next === null) return removed;
    expect(slice.next).not.toBe(after);
    after = slice.next;
  }
}

export function retentionContract(name: string, open: Open): void {
  describe(`${name}: retention`, () => {
    const shared = sharedStore(open);
    const ingest = (tenantId: string, receivedAt: number, events: Parameters<typeof aBatch>[1]) =>
      shared.get().events.ingest(aBatch(tenantId, events, { receivedAt }));
    const callIds = async (tenantId: string) =>
      (await readAll(shared.get(), tenantId)).map((event) => event.callId).sort();
    const runOf = (tenantId: string, sessionId: string) =>
      shared.get().runs.get(tenantId, { agentId: 'agent-1', sessionId }, t0);

    it('removes events by the time of receipt, however their agents dated them, and counts them alike', async () => {
      const store = shared.get();
      const [tenantId, other] = [uuid(), uuid()];
      const times = sizeFor(name, 20, 8);
      for (let i = 0; i < times; i++) {
        const dated = (call: string) => anEvent({ callId: call, timestamp: t0 - i * 3_600_000 });
        await ingest(tenantId, t0 + i, [dated(`a${i}`), dated(`b${i}`)]);
        await ingest(other, t0 + i, [dated(`a${i}`)]);
      }
      const before = t0 + times - 2;
      expect(await store.retention.count(tenantId, 'events', t0)).toBe(0);
      expect(await store.retention.count(tenantId, 'events', before)).toBe(2 * times - 4);
      expect(await removeAll(store, tenantId, 'events', before)).toBe(2 * times - 4);
      const rest = [times - 2, times - 1];
      expect(await callIds(tenantId)).toEqual([...rest.map((i) => `a${i}`), ...rest.map((i) => `b${i}`)]);
      expect(await callIds(other)).toHaveLength(times);
      expect(await removeAll(store, tenantId, 'events', before)).toBe(0);
      expect(await store.events.count(tenantId, { env: null })).toBe(4);
    });

    it('keeps the events of a run together, and marks a run that loses them', async () => {
      const store = shared.get();
      const tenantId = uuid();
      await ingest(tenantId, t0, [
        ofSession('live', { callId: 'live-1' }),
        ofSession('ended', { callId: 'ended-1' }),
        anEvent({ callId: 'alone' }),
      ]);
      await ingest(tenantId, t0 + 1, [ofSession('ended', { callId: 'ended-2' })]);
      await ingest(tenantId, t0 + 50, [ofSession('live', { callId: 'live-2' })]);
      expect(await store.retention.count(tenantId, 'events', t0 + 50)).toBe(3);
      expect(await removeAll(store, tenantId, 'events', t0 + 50, 1)).toBe(3);
      expect(await callIds(tenantId)).toEqual(['live-1', 'live-2']);
      expect(await runOf(tenantId, 'live')).toMatchObject({ isTrimmed: false });
      expect(await runOf(tenantId, 'ended')).toMatchObject({ isTrimmed: true });
      expect(await removeAll(store, tenantId, 'events', t0 + 51)).toBe(2);
      expect(await callIds(tenantId)).toEqual([]);
    });

    it('marks a run that loses a part of its events to a purge, and no other', async () => {
      const store = shared.get();
      const tenantId = uuid();
      await ingest(tenantId, t0, [ofSession('cut', { callId: 'cut-1' }), anEvent({ callId: 'alone' })]);
      await ingest(tenantId, t0 + 10, [ofSession('cut', { callId: 'cut-2' }), ofSession('whole')]);
      expect(await runOf(tenantId, 'cut')).toMatchObject({ isTrimmed: false });
      expect(await store.events.removeBefore(tenantId, t0 + 10, 100)).toBe(2);
      expect(await runOf(tenantId, 'cut')).toMatchObject({ isTrimmed: true });
      expect(await runOf(tenantId, 'whole')).toMatchObject({ isTrimmed: false });
      await ingest(tenantId, t0 + 20, [ofSession('cut', { callId: 'cut-3' })]);
      expect(await runOf(tenantId, 'cut')).toMatchObject({ isTrimmed: true });
    });

    it('never removes a pending approval, nor its run, nor one of a run that goes on', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const add = async (id: string, sessionId: string | null, status: 'pending' | 'timeout') => {
        const approval = anApproval({
          id,
          tenantId,
          agentId: 'agent-1',
          sessionId,
          createdAt: t0,
          deadline: t0 + 5,
          argsBytes: 5_000,
          toolArgs: null,
        });
        const { env } = approval;
        await store.approvals.createArgs(
          { tenantId, id, env, keyId: 'k', json: '{"a":1}', bytes: 5_000, createdAt: t0 },
          1e9,
        );
        await store.approvals.request(approval);
        if (status === 'timeout') await store.approvals.expire(tenantId, id, t0 + 6);
        await store.approvals.announced(tenantId, status, [id]);
        return id;
      };
      const [alone, waiting, live, ended] = [uuid(), uuid(), uuid(), uuid()];
      await add(alone, null, 'timeout');
      await add(waiting, 'waiting', 'pending');
      await add(live, 'live', 'timeout');
      await add(ended, 'ended', 'timeout');
      await ingest(tenantId, t0 + 50, [ofSession('live', { callId: 'live' })]);
      expect(await store.retention.count(tenantId, 'approvals', t0 + 50)).toBe(2);
      expect(await removeAll(store, tenantId, 'approvals', t0 + 50, 1)).toBe(2);
      const left = await itemsOf(store.approvals.list(tenantId, { env: null }, firstPage, t0 + 50));
      expect(left.map(({ id }) => id).sort()).toEqual([waiting, live].sort());
      expect(await store.approvals.getWhole(tenantId, ended)).toBeNull();
      expect((await store.approvals.getWhole(tenantId, live))?.toolArgs).toEqual({ a: 1 });
      expect(await runOf(tenantId, 'ended')).toMatchObject({ isTrimmed: true });
      expect(await store.retention.count(tenantId, 'runs', t0 + 50)).toBe(1);
      expect(await removeAll(store, tenantId, 'runs', t0 + 50)).toBe(1);
      expect(await runOf(tenantId, 'ended')).toBeNull();
      expect(await runOf(tenantId, 'waiting')).not.toBeNull();
      expect(await runOf(tenantId, 'live')).not.toBeNull();
    });

    it('keeps a run, and its approvals, that had an event a moment ago', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const approval = anApproval({
        tenantId,
        agentId: 'agent-1',
        sessionId: 's',
        ...{ createdAt: t0, deadline: t0 + 5 },
      });
      await store.approvals.request(approval);
      await store.approvals.expire(tenantId, approval.id, t0 + 6);
      await store.approvals.announced(tenantId, 'timeout', [approval.id]);
      await ingest(tenantId, t0, [ofSession('s', { callId: 'first' })]);
      expect(await runOf(tenantId, 's')).not.toBeNull();
      for (const kind of ['runs', 'approvals'] as const) {
        // No read comes between the event and the removal: a read would have the store count the event.
        await ingest(tenantId, t0 + 50, [ofSession('s', { callId: kind })]);
        expect([kind, await removeAll(store, tenantId, kind, t0 + 50)]).toEqual([kind, 0]);
      }
      expect(await runOf(tenantId, 's')).toMatchObject({ isTrimmed: false });
      expect(await store.approvals.get(tenantId, approval.id)).not.toBeNull();
    });

    it('keeps no run for a repeat that adds nothing, and makes none for it', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const event = ofSession('s', { callId: 'c' });
      await ingest(tenantId, t0, [event]);
      await ingest(tenantId, t0 + 10, [event]);
      await ingest(tenantId, t0 + 10, [ofSession('other', { callId: 'c' })]);
      expect(await store.retention.count(tenantId, 'runs', t0 + 20)).toBe(1);
      expect(await store.retention.count(tenantId, 'events', t0 + 5)).toBe(1);
      expect(await removeAll(store, tenantId, 'events', t0 + 5)).toBe(1);
      expect(await removeAll(store, tenantId, 'runs', t0 + 5)).toBe(1);
      expect(await runOf(tenantId, 's')).toBeNull();
    });

    it('keeps a run for the outcome that a repeat adds', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const event = ofSession('s', { callId: 'c', verdict: 'call_asked' });
      await ingest(tenantId, t0, [event]);
      await ingest(tenantId, t0 + 10, [{ ...event, verdict: 'call_approval_granted' }]);
      expect(await removeAll(store, tenantId, 'events', t0 + 10)).toBe(0);
      expect(await removeAll(store, tenantId, 'runs', t0 + 10)).toBe(0);
      expect(await removeAll(store, tenantId, 'runs', t0 + 11)).toBe(1);
    });

    it('keeps the events of a run with an approval that ended at the cutoff or later', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const approvalOf = (sessionId: string, seconds: number) => {
        const timing = { createdAt: t0, deadline: t0 + seconds * 1000, timeoutSeconds: seconds };
        return anApproval({ tenantId, agentId: 'agent-1', sessionId, ...timing });
      };
      const yes = { id: uuid(), approved: true, decidedBy: 'ada', reason: null, decidedVia: 'api' };
      const [decided, expired] = [approvalOf('decided', 900), approvalOf('expired', 60)];
      await ingest(tenantId, t0, [ofSession('decided'), ofSession('expired')]);
      for (const approval of [decided, expired]) await store.approvals.request(approval);
      await store.approvals.decide(tenantId, decided.id, yes, t0 + 60_000);
      await store.approvals.expire(tenantId, expired.id, t0 + 60_001);
      for (const [status, { id }] of [
        ['approved', decided],
        ['timeout', expired],
      ] as const)
        await store.approvals.announced(tenantId, status, [id]);
      for (const kind of ['events', 'approvals'] as const) {
        expect(await removeAll(store, tenantId, kind, t0 + 60_000)).toBe(0);
        expect(await removeAll(store, tenantId, kind, t0 + 60_001)).toBe(2);
      }
      expect(await removeAll(store, tenantId, 'runs', t0 + 60_001)).toBe(2);
    });

    it('keeps an approval until it was announced', async () => {
      const store = shared.get();
      const approval = anApproval({ tenantId: uuid(), createdAt: t0, deadline: t0 + 5 });
      const { tenantId, id } = approval;
      await store.approvals.request(approval);
      await store.approvals.expire(tenantId, id, t0 + 6);
      expect(await removeAll(store, tenantId, 'approvals', t0 + 50)).toBe(0);
      await store.approvals.announced(tenantId, 'timeout', [id]);
      expect(await removeAll(store, tenantId, 'approvals', t0 + 50)).toBe(1);
    });

    it('removes deliveries that ended, by their end', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const old = aDelivery({ tenantId, status: 'dead', updatedAt: 5 });
      const waiting = aDelivery({ tenantId, updatedAt: 5 });
      const later = aDelivery({ tenantId, status: 'dead', updatedAt: 6 });
      for (const one of [old, waiting, later]) await store.deliveries.create(one);
      expect(await store.retention.count(tenantId, 'deliveries', 6)).toBe(1);
      expect(await removeAll(store, tenantId, 'deliveries', 6)).toBe(1);
      expect(await store.deliveries.get(tenantId, old.id)).toBeNull();
      expect(await store.deliveries.get(tenantId, waiting.id)).toEqual(waiting);
      expect(await store.deliveries.get(tenantId, later.id)).toEqual(later);
    });

    it('hands out its counts once', async () => {
      const store = shared.get();
      const tenantId = uuid();
      expect(await store.retention.settle(tenantId)).toBeNull();
      await ingest(tenantId, t0, [anEvent(), ofSession('s')]);
      await removeAll(store, tenantId, 'events', t0 + 1, 1);
      await removeAll(store, tenantId, 'runs', t0 + 1, 1);
      const counts = { events: 2, approvals: 0, runs: 1, deliveries: 0 };
      expect(await store.retention.settle(tenantId)).toEqual(counts);
      expect(await store.retention.settle(tenantId)).toBeNull();
    });
  });
}
