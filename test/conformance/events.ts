// Every store's promises about audit events: storing, repeats, outcomes and removal (event/port). Reading is in
// events-search.ts.
import { describe, expect, it } from 'vitest';
import type { EventBatch } from '../../src/event/port.ts';
import { toEventJson } from '../../src/event/record/json.ts';
import { type EventInput, maxOutcomes } from '../../src/event/record.ts';
import type { EventFilter } from '../../src/event/rules/filter.ts';
import { uuidPattern } from '../../src/shared/ids.ts';
import { renderMicros } from '../../src/shared/instant.ts';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { sizeFor } from '../runs.ts';
import { anEvent, hostileTexts, type Open, parallel, sharedStore, t0, uuid } from './fixtures.ts';

export const aBatch = (
  tenantId: string,
  events: readonly EventInput[],
  over: Partial<EventBatch> = {},
): EventBatch => ({ tenantId, env: 'production', receivedAt: t0 + 60_000, events, ...over });

export const everything: EventFilter = { env: null };

/** All events a filter finds, over as many pages as it takes. */
export async function readAll(store: DocumentStore, tenantId: string, filter = everything, limit = 1000) {
  const found = [];
  let cursor: string | null = null;
  do {
    const page = await store.events.search(tenantId, filter, limit, cursor);
    expect(page.events.length).toBeLessThanOrEqual(limit);
    found.push(...page.events);
    cursor = page.next;
  } while (cursor !== null);
  return found;
}

const withVerdict = (event: EventInput, verdict: string, timestamp = event.timestamp + 1): EventInput => ({
  ...event,
  verdict,
  timestamp,
  payload: { decision_source: 'rule', decision_name: 'r', reason: `${verdict} it is`, tool_args: {} },
});

const outcome = (verdict: string, timestamp: number) => ({
  verdict,
  timestamp,
  decisionSource: 'rule',
  decisionName: 'r',
  reason: `${verdict} it is`,
  sentBy: 'agent-1',
});

export function eventsContract(name: string, open: Open): void {
  describe(`${name}: events`, () => {
    const shared = sharedStore(open);

    it('names the sender of events of other agents, and of a repeat among them', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const own = anEvent({ agentId: 'gateway' });
      const other = anEvent({ agentId: 'agent-1', timestamp: own.timestamp + 1 });
      const repeat = withVerdict(other, 'call_denied');
      await store.events.ingest(aBatch(tenantId, [own, other, repeat], { sender: 'gateway' }));
      const [second, first] = await readAll(store, tenantId);
      expect(first).toMatchObject({ agentId: 'gateway' });
      expect(first).not.toHaveProperty('sentBy');
      expect(second).toMatchObject({ agentId: 'agent-1', sentBy: 'gateway' });
      expect(second?.outcomes).toMatchObject([{ verdict: 'call_denied', sentBy: 'gateway' }]);
    });

    it('notes the agents of a batch before it is acknowledged: new, known, and over the caps', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const [known, fresh] = [uuid(), uuid()];
      await store.agents.noteSeen(tenantId, 'known', 'staging', t0, known);
      const batch = aBatch(tenantId, [anEvent({ agentId: 'fresh' }), anEvent({ agentId: 'known' })], {
        agents: [
          { agentId: 'fresh', newId: fresh, on: { api: 'console' } },
          { agentId: 'known', newId: uuid() },
          { agentId: 'refused', newId: null },
        ],
      });
      const { agents, ...counts } = await store.events.ingest(batch);
      expect(counts).toMatchObject({ accepted: 2, duplicates: 0 });
      expect(agents?.map(({ isNew, registration }) => [registration?.retiredAt, isNew])).toEqual([
        [null, true],
        [null, false],
        [undefined, false],
      ]);
      const noted = { lastEnv: 'production', lastSeenAt: t0 + 60_000 };
      expect(await store.agents.get(tenantId, 'fresh')).toMatchObject({ id: fresh, ...noted });
      expect(await store.agents.get(tenantId, 'known')).toMatchObject({ id: known, ...noted });
      expect(await store.agents.get(tenantId, 'refused')).toBeNull();
    });

    it('events that come with the bytes that were sent are read as the same events without them', async () => {
      const store = shared.get();
      const payload = {
        run_id: 'r',
        decision_name: 'c',
        tool_args: { path: '/é "x": 1' },
        policy_version: 'v',
      };
      const events = [0, 1, 2, 3].map((i) =>
        anEvent({ agentId: 'a', timestamp: t0 + i + 0.5, payload: i === 3 ? null : payload }),
      );
      const asSent = (list: readonly EventInput[]): Uint8Array =>
        Buffer.from(
          JSON.stringify(
            list.map((event) => ({ ...toEventJson(event), timestamp: renderMicros(event.timestamp) })),
          ),
        );
      const [first = anEvent(), second = anEvent()] = events;
      const [plain, kept] = [uuid(), uuid()];
      for (const tenantId of [plain, kept]) {
        const batch = (list: readonly EventInput[], receivedAt = t0 + 60_000) =>
          aBatch(tenantId, list, { receivedAt, ...(tenantId === kept && { sent: asSent(list) }) });
        // The second batch holds one event that is stored already, and a later word on another.
        expect(await store.events.ingest(batch([first, second]))).toMatchObject({
          accepted: 2,
          duplicates: 0,
        });
        const later = [first, withVerdict(second, 'call_executed', t0 + 9), ...events.slice(2)];
        expect(await store.events.ingest(batch(later))).toMatchObject({ accepted: 2, duplicates: 2 });
      }
      const read = async (tenantId: string, filter: EventFilter) =>
        (await readAll(store, tenantId, filter)).map(({ id: _, seq: __, ...event }) => event);
      const filters: EventFilter[] = [
        everything,
        { env: null, runId: 'r' },
        { env: null, search: first.callId },
      ];
      for (const filter of [...filters, { env: null, callId: second.callId }])
        expect(await read(kept, filter)).toEqual(await read(plain, filter));
      expect(await read(kept, everything)).toHaveLength(4);
      expect(await store.runs.get(kept, { agentId: 'a', sessionId: 'r' }, t0)).toMatchObject({
        facts: { calls: 3 },
      });
      const [stored] = await readAll(store, kept);
      expect(await store.events.get(kept, stored?.id ?? '')).toEqual(stored);
      expect(await store.events.removeBefore(kept, t0 + 60_001, 3)).toBe(3);
      expect(await read(kept, everything)).toHaveLength(1);
    });

    it('an event comes back whole, as soon as it is acknowledged', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = [
        anEvent({ timestamp: t0 + 0.123, payload: null }),
        anEvent({ timestamp: t0, payload: { a: [1.5, null, { b: 'é' }], '': true }, sentBy: 'gateway' }),
      ];
      expect(await store.events.ingest(aBatch(tenantId, events, { env: 'staging' }))).toMatchObject({
        accepted: 2,
        duplicates: 0,
      });
      const stored = await readAll(store, tenantId);
      expect(stored).toEqual(
        events.map((event, i) => ({
          ...event,
          id: stored[i]?.id,
          seq: stored[i]?.seq,
          env: 'staging',
          createdAt: t0 + 60_000,
          outcomes: [],
        })),
      );
      for (const event of stored) expect(event.id).toMatch(uuidPattern);
      expect(await readAll(store, tenantId)).toEqual(stored);
    });

    it('takes a whole batch of repeats that each say something else, again and again', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const event = anEvent({ verdict: 'v' });
      const repeats = Array.from({ length: 10_000 }, (_, i) => ({ ...event, verdict: `v${i}` }));
      expect(await store.events.ingest(aBatch(tenantId, [event, ...repeats.slice(1)]))).toMatchObject({
        accepted: 1,
        duplicates: 9_999,
      });
      expect(await store.events.ingest(aBatch(tenantId, repeats))).toMatchObject({
        accepted: 0,
        duplicates: 10_000,
      });
      const [stored] = await readAll(store, tenantId);
      const first = repeats.slice(1, maxOutcomes + 1);
      expect(stored?.outcomes.map(({ verdict }) => verdict)).toEqual(first.map(({ verdict }) => verdict));
    });

    it('keeps what the first repeats of a call say, so many and no longer than a bound', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const event = anEvent({ verdict: 'v' });
      const reason = `${'x'.repeat(999)}🦄${'y'.repeat(1000)}`;
      const repeats = Array.from({ length: maxOutcomes + 5 }, (_, i) => ({
        ...event,
        verdict: `v${i}`,
        payload: { reason, decision_name: reason, decision_source: reason },
      }));
      await store.events.ingest(aBatch(tenantId, [event]));
      // In two ways: those of one batch, and one by one.
      const atOnce = sizeFor(name, 30, maxOutcomes - 2);
      await store.events.ingest(aBatch(tenantId, repeats.slice(0, atOnce)));
      for (const repeat of repeats.slice(atOnce)) await store.events.ingest(aBatch(tenantId, [repeat]));
      const [stored] = await readAll(store, tenantId);
      const verdicts = stored?.outcomes.map(({ verdict }) => verdict);
      expect(verdicts).toEqual(repeats.slice(0, maxOutcomes).map(({ verdict }) => verdict));
      expect(stored?.outcomes[7]).toMatchObject({
        reason: 'x'.repeat(999),
        decisionName: 'x'.repeat(999),
        decisionSource: 'x'.repeat(999),
      });
    });

    it('an empty batch stores nothing', async () => {
      const store = shared.get();
      const tenantId = uuid();
      expect(await store.events.ingest(aBatch(tenantId, []))).toMatchObject({ accepted: 0, duplicates: 0 });
      expect(await readAll(store, tenantId)).toEqual([]);
    });

    it('1,000 events of many agents and times in one batch all arrive, with ids of their own', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = Array.from({ length: 1000 }, (_, i) =>
        anEvent({ agentId: `agent-${i % 7}`, timestamp: t0 + ((i * 7919) % 1000) * 60_000 }),
      );
      expect(await store.events.ingest(aBatch(tenantId, events))).toMatchObject({
        accepted: 1000,
        duplicates: 0,
      });
      const stored = await readAll(store, tenantId, everything, 300);
      expect(stored).toHaveLength(1000);
      expect(new Set(stored.map((e) => e.id)).size).toBe(1000);
      expect(new Set(stored.map((e) => e.callId))).toEqual(new Set(events.map((e) => e.callId)));
    });

    it('hostile texts come back as they went in, and each is a call id of its own', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = hostileTexts.map((text, i) =>
        anEvent({
          callId: text,
          agentId: text,
          toolName: text,
          verdict: text,
          mode: text,
          timestamp: t0 - i,
          payload: JSON.parse(`{"__proto__":{"a":1},"$where":${JSON.stringify(text)},"a.b":"\\u0000"}`),
        }),
      );
      const accepted = { accepted: events.length, duplicates: 0 };
      const repeated = { accepted: 0, duplicates: events.length };
      expect(await store.events.ingest(aBatch(tenantId, events))).toMatchObject(accepted);
      expect(await store.events.ingest(aBatch(tenantId, events))).toMatchObject(repeated);
      const stored = await readAll(store, tenantId);
      expect(stored).toMatchObject(events.map(({ payload: _, ...rest }) => rest));
      expect(stored.map((e) => JSON.stringify(e.payload))).toEqual(
        events.map((e) => JSON.stringify(e.payload)),
      );
      for (const [i, text] of hostileTexts.entries()) {
        for (const filter of [{ agentId: text }, { toolName: text }, { verdict: text }, { mode: text }]) {
          expect(await readAll(store, tenantId, { env: null, ...filter })).toEqual([stored[i]]);
        }
      }
    });

    it('call ids differ by case', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const lower = 'abcdefab-cdef-4abc-8def-abcdefabcdef';
      const ids = [lower, lower.toUpperCase(), lower.replaceAll('-', ''), `${lower} `];
      const events = ids.map((callId) => anEvent({ callId }));
      expect(await store.events.ingest(aBatch(tenantId, events))).toMatchObject({
        accepted: 4,
        duplicates: 0,
      });
      expect((await readAll(store, tenantId)).map((e) => e.callId).sort()).toEqual([...ids].sort());
    });

    it('counts the accepted events by their first verdict', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const event = (verdict: string, mode = 'enforce') => anEvent({ callId: uuid(), verdict, mode });
      const first = [event('call_allowed'), event('call_denied'), event('call_denied', 'observe')];
      const { verdicts } = await store.events.ingest(aBatch(tenantId, first));
      expect(verdicts).toEqual({ allowed: 1, denied: 1, pending: 0, observed: 1 });
      const again = [...first, event('call_approval_requested'), event('call_executed')];
      expect(await store.events.ingest(aBatch(tenantId, again))).toMatchObject({
        duplicates: 3,
        verdicts: { allowed: 1, denied: 0, pending: 1, observed: 0 },
      });
    });

    it('repeats count as duplicates: in the batch, in later batches, in other environments', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const [a, b, c] = [anEvent(), anEvent({ agentId: 'agent-2' }), anEvent({ callId: 'text-id' })];
      expect(
        await store.events.ingest(aBatch(tenantId, [a, b, a, { ...b, agentId: 'other' }])),
      ).toMatchObject({
        accepted: 2,
        duplicates: 2,
      });
      expect(await store.events.ingest(aBatch(tenantId, [b, c, c]))).toMatchObject({
        accepted: 1,
        duplicates: 2,
      });
      const late = aBatch(tenantId, [c, { ...a, toolName: 'x' }], {
        env: 'staging',
        receivedAt: t0 + 99_000,
      });
      expect(await store.events.ingest(late)).toMatchObject({ accepted: 0, duplicates: 2 });
      const stored = await readAll(store, tenantId);
      expect(stored).toHaveLength(3);
      expect(stored.find((e) => e.callId === a.callId)).toMatchObject({
        ...a,
        env: 'production',
        outcomes: [],
      });
      expect(stored.find((e) => e.callId === b.callId)).toMatchObject({ ...b, outcomes: [] });
    });

    it('the same batch sent 20 times at once is stored once', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const batch = aBatch(
        tenantId,
        Array.from({ length: 50 }, (_, i) => anEvent({ timestamp: t0 + i })),
      );
      const answers = await parallel(20, () => store.events.ingest(batch));
      expect(answers.reduce((sum, a) => sum + a.accepted, 0)).toBe(50);
      expect(answers.reduce((sum, a) => sum + a.duplicates, 0)).toBe(19 * 50);
      expect(await readAll(store, tenantId)).toHaveLength(50);
    });

    it('overlapping batches at once store each call id once', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = Array.from({ length: 40 }, (_, i) => anEvent({ timestamp: t0 + i }));
      const answers = await parallel(20, (i) =>
        store.events.ingest(aBatch(tenantId, events.slice(i, i + 21))),
      );
      expect(answers.reduce((sum, a) => sum + a.accepted, 0)).toBe(40);
      const stored = await readAll(store, tenantId);
      expect(stored.map((e) => e.callId)).toEqual(events.map((e) => e.callId).reverse());
    });

    it('a repeat with another verdict or deciding contract adds an outcome, once', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const event = withVerdict(anEvent(), 'call_would_deny', t0);
      const one = (...events: EventInput[]) => store.events.ingest(aBatch(tenantId, events));
      await one(anEvent({ timestamp: t0 - 1 }), event);
      expect(await one(withVerdict(event, 'call_executed', t0 + 5))).toMatchObject({
        accepted: 0,
        duplicates: 1,
        outcomes: 1,
      });
      const again = [withVerdict(event, 'call_executed', t0 + 6), withVerdict(event, event.verdict)];
      expect(await one(...again)).toMatchObject({ outcomes: 0 });
      const failed = withVerdict(event, 'call_failed', t0 + 7);
      expect(await one(failed, anEvent({ timestamp: t0 - 2 }))).toMatchObject({ accepted: 1, outcomes: 1 });
      // Two contracts that only observe report one call with one verdict.
      const other = { ...event, payload: { ...event.payload, decision_name: 'other' } };
      await one(other, other);
      await one(other);
      const stored = (await readAll(store, tenantId)).find((e) => e.callId === event.callId);
      expect(stored).toMatchObject(event);
      expect(stored?.outcomes).toEqual([
        outcome('call_executed', t0 + 5),
        outcome('call_failed', t0 + 7),
        { ...outcome('call_would_deny', t0), decisionName: 'other' },
      ]);
    });

    it('an event without a call id, and one that was cut, come back as such', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = [
        anEvent({ unnamed: true, timestamp: t0 + 1 }),
        anEvent({ truncated: ['payload.a'], timestamp: t0 }),
      ];
      await store.events.ingest(aBatch(tenantId, events));
      expect(await readAll(store, tenantId)).toMatchObject(events);
    });

    it('names come back as they were, whatever characters they hold', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const odd = ['a\u0000b', 'half \ud800', '\u0001x', '../..\\', '__proto__', '\u202e'];
      const events = odd.map((text, i) =>
        anEvent({
          callId: text,
          agentId: text,
          toolName: text,
          verdict: text,
          mode: text,
          timestamp: t0 - i,
          payload: { [text]: text, decision_name: text },
        }),
      );
      expect(await store.events.ingest(aBatch(tenantId, events))).toMatchObject({ accepted: odd.length });
      expect(await readAll(store, tenantId)).toMatchObject(events);
      expect(await store.events.ingest(aBatch(tenantId, events))).toMatchObject({ accepted: 0 });
      expect((await readAll(store, tenantId)).map(({ outcomes }) => outcomes)).toEqual(odd.map(() => []));
    });

    it('an outcome can stand in the same batch as its event', async () => {
      const store = shared.get();
      const tenantId = uuid();
      for (const callId of [uuid(), 'not-a-uuid']) {
        const event = anEvent({ callId });
        const batch = [event, anEvent(), withVerdict(event, 'call_executed', t0 + 5), event];
        expect(await store.events.ingest(aBatch(tenantId, batch))).toMatchObject({
          accepted: 2,
          duplicates: 2,
          outcomes: 1,
        });
        const stored = (await readAll(store, tenantId)).find((e) => e.callId === callId);
        expect(stored).toMatchObject(event);
        expect(stored?.outcomes).toEqual([outcome('call_executed', t0 + 5)]);
      }
    });

    it('one outcome stays of many said at once', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const event = anEvent();
      await store.events.ingest(aBatch(tenantId, [event]));
      await parallel(20, (i) =>
        store.events.ingest(aBatch(tenantId, [withVerdict(event, i % 2 ? 'call_executed' : 'call_failed')])),
      );
      const [stored] = await readAll(store, tenantId);
      expect(stored?.outcomes.map((o) => o.verdict).sort()).toEqual(['call_executed', 'call_failed']);
    });

    it('a repeat from another environment adds nothing: those who read the call may not see what was said there', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const event = anEvent();
      await store.events.ingest(aBatch(tenantId, [event], { env: 'development' }));
      const repeat = withVerdict(event, 'call_failed');
      const there = await store.events.ingest(aBatch(tenantId, [repeat, anEvent()], { env: 'staging' }));
      expect(there).toMatchObject({ accepted: 1, duplicates: 1 });
      expect((await readAll(store, tenantId)).flatMap(({ outcomes }) => outcomes)).toEqual([]);
      await store.events.ingest(aBatch(tenantId, [repeat], { env: 'development' }));
      const stored = (await readAll(store, tenantId)).find(({ callId }) => callId === event.callId);
      expect(stored?.outcomes.map(({ verdict }) => verdict)).toEqual(['call_failed']);
    });

    it('tenants have call ids of their own and do not see each other', async () => {
      const store = shared.get();
      const [mine, other] = [uuid(), uuid()];
      const event = anEvent();
      await store.events.ingest(aBatch(mine, [event]));
      const theirs = { ...event, verdict: 'call_denied' };
      expect(await store.events.ingest(aBatch(other, [theirs]))).toMatchObject({
        accepted: 1,
        duplicates: 0,
      });
      expect(await readAll(store, mine)).toMatchObject([{ ...event, outcomes: [] }]);
      expect(await readAll(store, other)).toMatchObject([{ ...theirs, outcomes: [] }]);
      const stranger = uuid();
      expect(await readAll(store, stranger)).toEqual([]);
      expect(await store.events.histogram(stranger, everything, 60_000)).toEqual([]);
      expect((await store.events.counts(stranger, null, 0, 0)).events).toBe(0);
      expect(await store.events.removeBefore(stranger, t0 * 2, 1000)).toBe(0);
      expect(await store.events.countReceived(stranger, t0 * 2)).toBe(0);
      expect(await readAll(store, mine)).toHaveLength(1);
    });
  });

  describe(`${name}: removal of events`, () => {
    const shared = sharedStore(open);

    it('goes by time of arrival, in steps, until nothing is left', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const make = (n: number) => Array.from({ length: n }, (_, i) => anEvent({ timestamp: t0 + i }));
      const [old, young] = [make(50), make(10)];
      await store.events.ingest(aBatch(tenantId, old, { receivedAt: t0 + 1000 }));
      await store.events.ingest(aBatch(tenantId, young, { receivedAt: t0 + 2000 }));
      const received = (before: number) => store.events.countReceived(tenantId, before);
      expect([await received(t0 + 1000), await received(t0 + 2000), await received(t0 + 2001)]).toEqual([
        0, 50, 60,
      ]);
      expect(await store.events.removeBefore(tenantId, t0 + 1000, 1000)).toBe(0);
      const steps: number[] = [];
      for (;;) {
        const removed = await store.events.removeBefore(tenantId, t0 + 2000, 20);
        if (removed === 0) break;
        expect(removed).toBeLessThanOrEqual(20);
        steps.push(removed);
        const left = 60 - steps.reduce((sum, n) => sum + n, 0);
        expect(await readAll(store, tenantId)).toHaveLength(left);
        expect((await store.events.counts(tenantId, null, 0, 0)).events).toBe(left);
      }
      expect(steps.reduce((sum, n) => sum + n, 0)).toBe(50);
      expect((await readAll(store, tenantId)).map((e) => e.callId)).toEqual(
        young.map((e) => e.callId).reverse(),
      );
    });

    it('frees the call ids of what it removed, and only of that', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const [gone, kept] = [anEvent(), anEvent({ callId: 'kept' })];
      await store.events.ingest(
        aBatch(tenantId, [gone, withVerdict(gone, 'call_executed')], { receivedAt: t0 }),
      );
      await store.events.ingest(aBatch(tenantId, [kept], { receivedAt: t0 + 10 }));
      expect(await store.events.removeBefore(tenantId, t0 + 10, 1000)).toBe(1);
      expect(await store.events.ingest(aBatch(tenantId, [gone, kept]))).toMatchObject({
        accepted: 1,
        duplicates: 1,
      });
      const stored = await readAll(store, tenantId);
      expect(stored).toHaveLength(2);
      expect(stored.every((e) => e.outcomes.length === 0)).toBe(true);
    });

    it('leaves the other tenant alone', async () => {
      const store = shared.get();
      const [mine, other] = [uuid(), uuid()];
      await store.events.ingest(aBatch(mine, [anEvent()], { receivedAt: t0 }));
      await store.events.ingest(aBatch(other, [anEvent()], { receivedAt: t0 }));
      expect(await store.events.removeBefore(mine, t0 + 1, 1000)).toBe(1);
      expect(await readAll(store, mine)).toEqual([]);
      expect(await readAll(store, other)).toHaveLength(1);
    });
  });
}
