// Every store's promises about reading audit events: order, pages, filters, histogram and counts (event/port).
import { describe, expect, it } from 'vitest';
import type { EventPage } from '../../src/event/port.ts';
import type { EventInput } from '../../src/event/record.ts';
import type { EventFilter } from '../../src/event/rules/filter.ts';
import { maxPageBytes } from '../../src/shared/ports/page.ts';
import { rowsFor, sizeFor } from '../runs.ts';
import { aBatch, everything, readAll } from './events.ts';
import { anEvent, hostileTexts, type Open, sharedStore, t0, uuid } from './fixtures.ts';

const hour = 3_600_000;

export function eventsSearchContract(name: string, open: Open): void {
  describe(`${name}: reading events`, () => {
    const shared = sharedStore(open);
    const ids = (events: readonly EventInput[]) => events.map((e) => e.callId);

    it('newest first by timestamp, and of equal ones the last to arrive', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const at = (callId: string, timestamp: number, agentId = 'a') =>
        anEvent({ callId, timestamp, agentId });
      await store.events.ingest(
        aBatch(tenantId, [at('1', t0 + 5), at('2', t0, 'b'), at('3', t0 + 9), at('4', t0), at('5', t0, 'b')]),
      );
      await store.events.ingest(aBatch(tenantId, [at('6', t0 - 7), at('7', t0), at('8', t0 + 0.5)]));
      expect(ids(await readAll(store, tenantId))).toEqual(['3', '1', '8', '7', '5', '4', '2', '6']);
      expect(ids(await readAll(store, tenantId, everything, 1))).toEqual([
        '3',
        '1',
        '8',
        '7',
        '5',
        '4',
        '2',
        '6',
      ]);
    });

    it('oldest first in exactly the other order, page by page', async () => {
      const store = shared.get();
      const tenantId = uuid();
      for (let batch = 0; batch < 12; batch++) {
        const events = Array.from({ length: 15 }, (_, i) => {
          // Batches overlap, times repeat, and some span days.
          const hours = (batch * 7 + i * 11) % 30;
          const late = i % 5 === 0 ? hours * 3_600_000 : ((batch * 31 + i * 17) % 40) * 60_000;
          return anEvent({ timestamp: t0 + late + (i % 3), agentId: `a${i % 2}` });
        });
        await store.events.ingest(aBatch(tenantId, events));
      }
      for (const filter of [
        everything,
        { env: null, agentId: 'a1', since: t0 + 60_000, until: t0 + 7_200_000 },
      ]) {
        const newest = (await readAll(store, tenantId, filter)).map(({ id }) => id);
        for (const limit of rowsFor(name, [7, 1000, 1], 2)) {
          const found: string[] = [];
          for (let cursor: string | null = null; ; ) {
            const page: EventPage = await store.events.search(tenantId, filter, limit, cursor, 'oldest');
            found.push(...page.events.map(({ id }) => id));
            cursor = page.next;
            if (cursor === null) break;
          }
          expect(found).toEqual([...newest].reverse());
        }
      }
      expect(await store.events.search(uuid(), everything, 5, null, 'oldest')).toEqual({
        events: [],
        next: null,
      });
    });

    it('counts what fits, without the sample run', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const words = ['call_allowed', 'call_blocked', 'call_executed'];
      const events = words.map((verdict, i) => anEvent({ verdict, timestamp: t0 + i, payload: null }));
      await store.events.ingest(aBatch(tenantId, events));
      await store.events.ingest(aBatch(tenantId, [anEvent({ timestamp: t0 })], { sample: true }));
      expect(await store.events.count(tenantId, everything)).toBe(3);
      expect(await store.events.count(tenantId, { env: null, since: t0 + 1 })).toBe(2);
      const decided = { any: ['call_allowed', 'call_blocked'], others: true };
      expect(await store.events.count(tenantId, { env: null, verdicts: decided })).toBe(2);
      expect(await store.events.count(uuid(), everything)).toBe(0);
    });

    it('any timestamp can be stored and found: negative, zero, far ahead, all in one batch', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const times = [
        -62_135_596_800_000,
        -1.5,
        0,
        1,
        t0 - hour,
        t0,
        t0 + 0.001,
        t0 + 400 * 24 * hour,
        253_402_300_799_999,
      ];
      await store.events.ingest(
        aBatch(
          tenantId,
          times.map((timestamp) => anEvent({ timestamp })),
        ),
      );
      expect((await readAll(store, tenantId, everything, 2)).map((e) => e.timestamp)).toEqual(
        [...times].reverse(),
      );
      for (const time of times) {
        const filter = { env: null, since: time, until: time };
        expect((await readAll(store, tenantId, filter)).map((e) => e.timestamp)).toEqual([time]);
      }
    });

    it('a page ends when it holds enough bytes, and the next goes on there', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const payload = { text: 'é'.repeat(30_000) };
      for (let i = 0; i < 4; i++) {
        const events = Array.from({ length: 30 }, (_, n) =>
          anEvent({ timestamp: t0 + n, agentId: `a${n % 7}`, payload }),
        );
        await store.events.ingest(aBatch(tenantId, events));
      }
      const sizes: number[] = [];
      const found = new Set<string>();
      let cursor: string | null = null;
      do {
        const page = await store.events.search(tenantId, everything, 1000, cursor);
        for (const { callId } of page.events) found.add(callId);
        sizes.push(page.events.length);
        cursor = page.next;
      } while (cursor !== null);
      expect(found.size).toBe(120);
      expect(sizes.reduce((a, b) => a + b)).toBe(120);
      // Each holds a little more than 60,000 bytes.
      for (const size of sizes) expect(size * 60_000).toBeLessThanOrEqual(maxPageBytes + 120_000);
      for (const size of sizes.slice(0, -1)) expect(size * 62_000).toBeGreaterThan(maxPageBytes - 120_000);
    });

    it('one event is read by its id, within its tenant', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const twice = anEvent({ verdict: 'call_denied' });
      const events = [
        ...Array.from({ length: 20 }, () => anEvent()),
        anEvent({ verdict: 'call_allowed' }),
        twice,
      ];
      await store.events.ingest(aBatch(tenantId, events));
      await store.events.ingest(aBatch(tenantId, [{ ...twice, verdict: 'call_allowed' }]));
      const all = await readAll(store, tenantId);
      for (const event of all) expect(await store.events.get(tenantId, event.id)).toEqual(event);
      expect(all.flatMap(({ outcomes }) => outcomes)).toHaveLength(1);
      expect(await store.events.get(uuid(), all[0]?.id ?? '')).toBeNull();
      for (const id of [uuid(), 'nonsense', '', '0', (all[0]?.id ?? '').toUpperCase().replace(/^0/, 'f')]) {
        expect(await store.events.get(tenantId, id)).toBeNull();
      }
    });

    it('pages cover everything once, and events that arrive later do not shift them', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const old = Array.from({ length: 60 }, (_, i) =>
        anEvent({ agentId: `a${i % 3}`, timestamp: t0 + ((i * 37) % 60) * 1000 }),
      );
      for (let i = 0; i < 60; i += 20) await store.events.ingest(aBatch(tenantId, old.slice(i, i + 20)));
      const expected = [...old].sort((a, b) => b.timestamp - a.timestamp);
      const found: EventInput[] = [];
      let cursor: string | null = null;
      for (let page = 0; page < 100; page++) {
        const read = await store.events.search(tenantId, everything, 7, cursor);
        found.push(...read.events);
        await store.events.ingest(
          aBatch(tenantId, [anEvent({ agentId: 'a0', timestamp: t0 + 2 * hour + page })]),
        );
        cursor = read.next;
        if (cursor === null) break;
      }
      expect(ids(found)).toEqual(ids(expected));
    });

    it('the end of a page that is just full is not an endless chain', async () => {
      const store = shared.get();
      const tenantId = uuid();
      await store.events.ingest(aBatch(tenantId, [anEvent(), anEvent()]));
      expect(await readAll(store, tenantId, everything, 2)).toHaveLength(2);
      const whole = await store.events.search(tenantId, everything, 3, null);
      expect(whole.next).toBeNull();
    });

    it('refuses a cursor that is not one of its own', async () => {
      const store = shared.get();
      const tenantId = uuid();
      await store.events.ingest(aBatch(tenantId, [anEvent(), anEvent()]));
      const { next } = await store.events.search(tenantId, everything, 1, null);
      expect(next).not.toBeNull();
      const bad = [
        ...hostileTexts,
        'x',
        'AAAA',
        'e30',
        `${next}x`,
        `${next}`.slice(1),
        'W10',
        'x'.repeat(100_000),
      ];
      for (const cursor of bad) {
        await expect(store.events.search(tenantId, everything, 1, cursor)).rejects.toMatchObject({
          name: 'HubError',
          code: 'bad_request',
        });
      }
    });

    it('filters by environment, agent, tool, mode and time', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const a = anEvent({ agentId: 'a', toolName: 'read', mode: 'enforce', timestamp: t0 });
      const b = anEvent({ agentId: 'a', toolName: 'write', mode: 'observe', timestamp: t0 + 1 });
      const c = anEvent({ agentId: 'b', toolName: 'read', mode: 'observe', timestamp: t0 + 2 });
      const d = anEvent({ agentId: 'A', toolName: 'read_all', mode: 'enforce', timestamp: t0 + 3 });
      await store.events.ingest(aBatch(tenantId, [a, b, c]));
      await store.events.ingest(aBatch(tenantId, [d], { env: 'staging' }));
      const find = async (filter: Partial<EventFilter>) =>
        ids(await readAll(store, tenantId, { env: null, ...filter }));
      expect(await find({ env: 'production' })).toEqual(ids([c, b, a]));
      expect(await find({ env: 'staging' })).toEqual(ids([d]));
      expect(await find({ env: 'development' })).toEqual([]);
      expect(await find({ agentId: 'a' })).toEqual(ids([b, a]));
      expect(await find({ toolName: 'read' })).toEqual(ids([c, a]));
      expect(await find({ mode: 'observe' })).toEqual(ids([c, b]));
      expect(await find({ since: t0 + 1 })).toEqual(ids([d, c, b]));
      expect(await find({ until: t0 + 1 })).toEqual(ids([b, a]));
      expect(await find({ since: t0 + 1, until: t0 + 2, agentId: 'b' })).toEqual(ids([c]));
      expect(await find({ since: t0 + 2, until: t0 + 1 })).toEqual([]);
      expect(await find({ env: 'staging', toolName: 'read' })).toEqual([]);
      for (const text of hostileTexts) {
        expect(await find({ agentId: text })).toEqual([]);
        expect(await find({ toolName: text })).toEqual([]);
        expect(await find({ verdict: text })).toEqual([]);
        expect(await find({ mode: text })).toEqual([]);
      }
    });

    it('a verdict is found whether it came first or as an outcome', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const [a, b] = [anEvent({ timestamp: t0 }), anEvent({ timestamp: t0 + 1 })];
      await store.events.ingest(aBatch(tenantId, [a, b]));
      await store.events.ingest(aBatch(tenantId, [{ ...a, verdict: 'call_failed', timestamp: t0 + 50 }]));
      const find = async (verdict: string) => ids(await readAll(store, tenantId, { env: null, verdict }));
      expect(await find('call_allowed')).toEqual(ids([b, a]));
      expect(await find('call_failed')).toEqual(ids([a]));
      expect(await find('call')).toEqual([]);
      expect(await find('CALL_FAILED')).toEqual([]);
    });

    it('finds a rare verdict among many', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const rare = anEvent({ verdict: 'rare', timestamp: t0 - 5 * hour });
      await store.events.ingest(aBatch(tenantId, [rare, anEvent({ timestamp: t0 - 5 * hour })]));
      for (let i = 0; i < sizeFor(name, 20, 6); i++) {
        const events = Array.from({ length: 50 }, (_, k) => anEvent({ timestamp: t0 + i * 60_000 + k }));
        await store.events.ingest(aBatch(tenantId, events));
      }
      expect(ids(await readAll(store, tenantId, { env: null, verdict: 'rare' }, 100))).toEqual([rare.callId]);
    });

    it('searches names, reason and values of arguments, without case and without wildcards', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const plain = { agentId: 'n', toolName: 'n', payload: null };
      const a = anEvent({ ...plain, agentId: 'Mail-Bot 100%', timestamp: t0 });
      const b = anEvent({ ...plain, toolName: 'read_FILE "x"\\', timestamp: t0 + 1 });
      const c = anEvent({ ...plain, callId: 'Call-Été-42', timestamp: t0 + 2 });
      const d = anEvent({
        ...plain,
        payload: {
          decision_name: 'No.Secrets*',
          reason: 'Geheim: \ud800 bleibt',
          tool_args: { path: '/srv/"Shop"/a.ts', list: [{ amount: 1_200_345 }, true], x: 'y'.repeat(1_001) },
          session_id: 'hidden',
        },
        timestamp: t0 + 3,
      });
      await store.events.ingest(aBatch(tenantId, [a, b, c, d]));
      const find = async (search: string) => ids(await readAll(store, tenantId, { env: null, search }));
      expect(await find('mail-bot')).toEqual(ids([a]));
      expect(await find('100%')).toEqual(ids([a]));
      expect(await find('%')).toEqual(ids([a]));
      expect(await find('_file')).toEqual(ids([b]));
      expect(await find('"X"\\')).toEqual(ids([b]));
      expect(await find('été')).toEqual(ids([c]));
      expect(await find('secrets*')).toEqual(ids([d]));
      expect(await find('no.secrets')).toEqual(ids([d]));
      expect(await find('no-secrets')).toEqual([]);
      for (const text of ['GEHEIM', ': \ud800 B', 'srv/"shop"', '120034', 'TRUE', 'y'.repeat(255)]) {
        expect(await find(text), text).toEqual(ids([d]));
      }
      for (const text of ['hidden', 'tool_args', 'amount', '/srv/x']) {
        expect(await find(text), text).toEqual([]);
      }
      expect(await find('call_allowed')).toEqual([]);
      expect(await find('.*')).toEqual([]);
      expect(await find('{"$gt":""}')).toEqual([]);
      expect(await find('__proto__')).toEqual([]);
      expect(await find('')).toEqual(ids([d, c, b, a]));
    });

    it('histogram: aligned buckets that hold events, counted by class', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const width = 7_200_000;
      const start = Math.floor(t0 / width) * width;
      const ev = (offset: number, verdict: string, over: Partial<EventInput> = {}) =>
        anEvent({ timestamp: start + offset, verdict, ...over });
      await store.events.ingest(
        aBatch(tenantId, [
          ev(0, 'call_allowed'),
          ev(1, 'something new'),
          ev(2, 'call_denied'),
          ev(3, 'deny', { mode: 'observe' }),
          ev(4, 'call_would_deny', { mode: 'observe' }),
          ev(5, 'call_approval_requested'),
          ev(width - 0.5, 'allow'),
          ev(width, 'denied', { agentId: 'b', toolName: 'w' }),
          ev(3 * width, 'allowed'),
          ev(4 * width, 'allowed'),
        ]),
      );
      await store.events.ingest(aBatch(tenantId, [ev(-1, 'denied')], { env: 'staging' }));
      const between = { env: null, since: start, until: start + 4 * width };
      const bucket = (n: number, over: object) => ({
        start: start + n * width,
        allowed: 0,
        denied: 0,
        pending: 0,
        observed: 0,
        ...over,
      });
      expect(await store.events.histogram(tenantId, between, width)).toEqual([
        bucket(0, { allowed: 3, denied: 1, pending: 1, observed: 2 }),
        bucket(1, { denied: 1 }),
        bucket(3, { allowed: 1 }),
      ]);
      const read = (filter: object) => store.events.histogram(tenantId, { env: null, ...filter }, width);
      expect(await read({ env: 'staging' })).toEqual([bucket(-1, { denied: 1 })]);
      expect(await read({ agentId: 'b' })).toEqual([bucket(1, { denied: 1 })]);
      expect(await read({ toolName: 'w' })).toEqual([bucket(1, { denied: 1 })]);
      expect(await read({ verdict: 'deny' })).toEqual([bucket(0, { observed: 1 })]);
      expect(await read({ since: start + 2, until: start + 3 })).toEqual([bucket(0, { denied: 1 })]);
      expect(await store.events.histogram(tenantId, { env: 'staging' }, 60_000)).toEqual([
        { start: start - 60_000, allowed: 0, denied: 1, pending: 0, observed: 0 },
      ]);
    });

    it('a histogram counts a repeated call once, by its first verdict', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const event = anEvent({ verdict: 'call_allowed' });
      await store.events.ingest(aBatch(tenantId, [event]));
      await store.events.ingest(aBatch(tenantId, [{ ...event, verdict: 'call_denied' }]));
      const start = Math.floor(t0 / 60_000) * 60_000;
      const expected = [{ start, allowed: 1, denied: 0, pending: 0, observed: 0 }];
      expect(await store.events.histogram(tenantId, everything, 60_000)).toEqual(expected);
      const filter = { env: null, verdict: 'call_denied' };
      expect(await store.events.histogram(tenantId, filter, 60_000)).toEqual(expected);
    });

    it('counts events, denials, findings, contracts and active agents since a moment', async () => {
      const store = shared.get();
      const tenantId = uuid();
      const named = (decision_name: unknown) => ({ payload: { decision_name } });
      await store.events.ingest(
        aBatch(tenantId, [
          anEvent({ timestamp: t0 - 1, verdict: 'call_denied', agentId: 'early', ...named('early') }),
          anEvent({ timestamp: t0, verdict: 'call_denied', agentId: 'a', ...named('x') }),
          anEvent({ timestamp: t0 + 1, verdict: 'denied', agentId: 'a', ...named('x') }),
          anEvent({
            timestamp: t0 + 2,
            verdict: 'call_would_deny',
            mode: 'observe',
            agentId: 'b',
            ...named('y'),
          }),
          anEvent({ timestamp: t0 + 3, verdict: 'deny', mode: 'observe', agentId: 'b', ...named(7) }),
          anEvent({ timestamp: t0 + 2 * hour, agentId: 'c', payload: null }),
        ]),
      );
      await store.events.ingest(
        aBatch(tenantId, [anEvent({ timestamp: t0 + 5, agentId: 'c', ...named('z') })], { env: 'staging' }),
      );
      expect(await store.events.counts(tenantId, null, t0, t0 + 1)).toEqual({
        events: 6,
        denials: 2,
        observeFindings: 2,
        contractsTriggered: 3,
        activeAgents: 2,
      });
      expect(await store.events.counts(tenantId, 'staging', t0, t0)).toEqual({
        events: 1,
        denials: 0,
        observeFindings: 0,
        contractsTriggered: 1,
        activeAgents: 1,
      });
      expect(await store.events.counts(tenantId, 'development', t0, t0)).toEqual({
        events: 0,
        denials: 0,
        observeFindings: 0,
        contractsTriggered: 0,
        activeAgents: 0,
      });
    });
  });
}
