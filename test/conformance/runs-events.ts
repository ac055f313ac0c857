// Every store's promises about events as those of runs and streams find them: by session, by words, by order of arrival
// (event/port).
import { describe, expect, it } from 'vitest';
import type { DocumentStore } from '../../src/shared/ports/store.ts';
import { aBatch } from './events.ts';
import { anEvent, type Open, sharedStore, t0, uuid } from './fixtures.ts';
import { ofSession } from './runs.ts';

const all = { env: null };

export function runEventsContract(name: string, open: Open): void {
  describe(`${name}: events of runs`, () => {
    const shared = sharedStore(open);

    it('are found by session, parent session, words and places', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const verdicts = ['call_allowed', 'call_denied', 'call_blocked', 'odd'];
      const events = verdicts.map((verdict, i) =>
        ofSession(
          i < 2 ? 's1' : 's2',
          { verdict, timestamp: t0 + i },
          { parent_session_id: i % 2 === 0 ? 'p' : null },
        ),
      );
      await store.events.ingest(aBatch(tenantId, events));
      const found = async (filter: object) =>
        (await store.events.search(tenantId, { ...all, ...filter }, 10, null)).events
          .map((e) => e.verdict)
          .reverse();
      expect(await found({ sessionId: 's1' })).toEqual(['call_allowed', 'call_denied']);
      expect(await found({ parentSessionId: 'p' })).toEqual(['call_allowed', 'call_blocked']);
      expect(await found({ verdicts: { any: ['call_denied', 'call_blocked'], others: false } })).toEqual([
        'call_denied',
        'call_blocked',
      ]);
      expect(await found({ verdicts: { any: [], others: true } })).toEqual(['odd']);
      expect(await found({ verdicts: { any: ['call_allowed'], others: true } })).toEqual([
        'call_allowed',
        'odd',
      ]);
      expect(await found({ verdicts: { any: [], others: false } })).toEqual([]);
      const { events: stored } = await store.events.search(tenantId, all, 10, null);
      const seqs = stored.map((event) => event.seq).sort((a, b) => a - b);
      expect(await found({ fromSeq: seqs[1], toSeq: seqs[2] })).toEqual(['call_denied', 'call_blocked']);
    });

    it('the flat form comes back, and its call id is found', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = [
        ofSession('s', { flat: true, givenCallId: 'call-77' }),
        ofSession('s', { flat: true, unnamed: true, timestamp: t0 - 1 }),
      ];
      await store.events.ingest(aBatch(tenantId, events));
      const { events: stored } = await store.events.search(tenantId, all, 10, null);
      expect(stored.map(({ flat, givenCallId, unnamed }) => [flat, givenCallId, unnamed])).toEqual([
        [true, 'call-77', undefined],
        [true, undefined, true],
      ]);
      const { events: found } = await store.events.search(tenantId, { ...all, search: 'CALL-77' }, 10, null);
      expect(found).toHaveLength(1);
    });

    it('arrive when they are stored, however long ago their request came', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const settled = await store.events.settledBy(await store.events.getNewestSeq());
      const events = Array.from({ length: 5 }, () => ofSession('s'));
      await store.events.ingest(aBatch(tenantId, events, { receivedAt: Date.now() - 60_000 }));
      const arrived = await store.events.listArrivals(tenantId, settled, 9);
      expect(arrived.events.map(({ callId }) => callId)).toEqual(events.map(({ callId }) => callId));
    });

    it('arrive in order, each once, after any place', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const before = await store.events.getNewestSeq();
      for (let i = 0; i < 3; i++) {
        const events = Array.from({ length: 5 }, (_, n) =>
          ofSession('s', { agentId: `a${n % 2}`, timestamp: t0 - i * 10 + n }),
        );
        await store.events.ingest(aBatch(tenantId, events, { receivedAt: Date.now() }));
      }
      const seen = [];
      for (let after = Math.min(before, (await first(store, tenantId)) - 1), more = true; more; ) {
        const arrived = await store.events.listArrivals(tenantId, after, 4);
        expect(arrived.events.length).toBeLessThanOrEqual(4);
        seen.push(...arrived.events);
        after = arrived.events.at(-1)?.seq ?? after;
        more = arrived.more;
      }
      expect(seen).toHaveLength(15);
      expect(new Set(seen.map((event) => event.id)).size).toBe(15);
      expect(seen.map((event) => event.seq)).toEqual(seen.map((event) => event.seq).sort((a, b) => a - b));
      expect(await store.events.getNewestSeq()).toBeGreaterThanOrEqual(seen.at(-1)?.seq ?? Number.NaN);
      expect((await store.events.listArrivals(tenantId, seen.at(-1)?.seq ?? 0, 4)).events).toEqual([]);
      expect((await store.events.listArrivals(uuid(), 0, 4)).events).toEqual([]);
    });

    it('tell when each agent reported last', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const events = [
        ofSession('s', { timestamp: t0 + 9 }),
        ofSession('s'),
        anEvent({ agentId: 'b', timestamp: t0 + 2 }),
      ];
      await store.events.ingest(aBatch(tenantId, events));
      const agentIds = ['agent-1', 'b', 'none'];
      const found = await store.events.newestOf(tenantId, { agentIds, env: null });
      expect(found).toEqual([
        ['agent-1', t0 + 9],
        ['b', t0 + 2],
      ]);
      const inStaging = { agentIds, env: 'staging' } as const;
      await store.events.ingest(
        aBatch(tenantId, [anEvent({ agentId: 'b', timestamp: t0 + 1 })], { env: 'staging' }),
      );
      expect(await store.events.newestOf(tenantId, inStaging)).toEqual([['b', t0 + 1]]);
      expect(await store.events.newestOf(uuid(), { agentIds, env: null })).toEqual([]);
    });
  });
}

async function first(store: DocumentStore, tenantId: string): Promise<number> {
  const { events } = await store.events.search(tenantId, { env: null }, 1000, null);
  return Math.min(...events.map((event) => event.seq));
}
