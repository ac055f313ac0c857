// The reader of decision events, on a store that shows some of them late, as stores do that nodes share.
import { expect, it } from 'vitest';
import { createLocalBroadcast } from '../../adapters/local/broadcast.ts';
import type { StoredEvent } from '../../src/event/record.ts';
import {
  createEventTail,
  type EventTail,
  fits,
  maxMissed,
  maxMissedMs,
} from '../../src/event/use-cases/tail.ts';
import { eventsOf } from '../../src/shared/frame.ts';
import type { AppPorts } from '../../src/shared/use-case-ports.ts';
import { ManualClock, settled } from '../clock.ts';
import { writeFrame } from '../frames.ts';
import { silentLog } from '../log.ts';

const slack = 100;

function stored(seq: number, more: Partial<StoredEvent> = {}): StoredEvent {
  return {
    id: `event-${seq}-${more.callId ?? ''}`,
    seq,
    callId: `call-${seq}`,
    agentId: 'a',
    toolName: 't',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: 0,
    payload: null,
    env: 'production',
    createdAt: Number.MAX_SAFE_INTEGER,
    outcomes: [],
    ...more,
  };
}

function stage(options: { readonly slack?: number } = {}) {
  const clock = new ManualClock();
  const broadcast = createLocalBroadcast({ clock, log: silentLog });
  const shown: StoredEvent[] = [];
  const counts = { reads: 0 };
  const events = {
    async listArrivals(_tenantId: string, after: number, limit: number) {
      counts.reads++;
      const all = shown.filter(({ seq }) => seq > after).sort((a, b) => a.seq - b.seq);
      return { events: all.slice(0, limit), more: all.length > limit };
    },
    getNewestSeq: async () => Math.max(0, ...shown.map(({ seq }) => seq)),
    settledBy: async (seq: number) => seq - (options.slack ?? 0),
  };
  // The reader asks for nothing else.
  const store = { events } as unknown as AppPorts['store'];
  const tail = createEventTail({ store, broadcast, clock, log: silentLog });
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    for (let i = 0; i < 20; i++) await settled();
  };
  return {
    tail,
    clock,
    counts,
    shown,
    pass,
    async show(...more: StoredEvent[]) {
      shown.push(...more);
      await broadcast.publish([writeFrame({ audience: eventsOf('t'), type: 'stored', data: {} })]);
      for (let i = 0; i < 20; i++) await settled();
    },
  };
}

async function listen(tail: EventTail) {
  const heard: number[] = [];
  const lost: number[] = [];
  const following = await tail.follow('t', {
    take: async (events) => void heard.push(...events.map(({ seq }) => seq)),
    lost: (seq) => void lost.push(seq),
  });
  return { heard, lost, ...following };
}

it('gives each event once to every listener, from when it listens, with one reading for all', async () => {
  const { tail, show, counts, pass } = stage();
  await show(stored(1));
  const first = await listen(tail);
  const others = await Promise.all(Array.from({ length: 50 }, () => listen(tail)));
  const before = counts.reads;
  await show(stored(2), stored(3));
  await pass(50);
  const late = await listen(tail);
  await show(stored(4));
  expect(first.heard).toEqual([2, 3, 4]);
  for (const { heard } of others) expect(heard).toEqual([2, 3, 4]);
  expect(late.heard).toEqual([4]);
  expect(counts.reads - before).toBeLessThan(8);
});

it('tells a listener that cannot take its events that they are lost, and gives the others theirs', async () => {
  const { tail, show, pass } = stage();
  const { heard } = await listen(tail);
  const lost: number[] = [];
  const taken: number[] = [];
  let isAway = true;
  await tail.follow('t', {
    async take(events) {
      if (isAway) throw new Error('the store is away');
      taken.push(...events.map(({ seq }) => seq));
    },
    lost: (seq) => void lost.push(seq),
  });
  await show(stored(1), stored(2));
  await pass(50);
  isAway = false;
  await show(stored(3));
  expect([heard, lost, taken]).toEqual([[1, 2, 3], [2], [3]]);
});

it('finds what nobody told of, and reads nothing once nobody listens', async () => {
  const { tail, shown, counts, pass } = stage();
  const { heard, stop } = await listen(tail);
  shown.push(stored(5));
  for (let i = 0; i < 16; i++) await pass(2_000);
  expect(heard).toEqual([5]);
  stop();
  const { reads } = counts;
  shown.push(stored(6));
  await pass(10_000);
  expect(counts.reads).toBe(reads);
  expect(heard).toEqual([5]);
});

it('gives an event that appears among those before it, once', async () => {
  const { tail, show, shown, pass } = stage({ slack });
  const { heard } = await listen(tail);
  await show(stored(1000), stored(1010));
  shown.push(stored(1005), stored(1010, { id: 'the same place on another node' }));
  await pass(2_000);
  await show(stored(1020));
  await pass(2_000);
  expect(heard).toEqual([1000, 1010, 1005, 1010, 1020]);
});

it('reads on over more than a page', async () => {
  const { tail, show } = stage({ slack });
  const { heard } = await listen(tail);
  const seqs = Array.from({ length: 1_001 }, (_, i) => 10_000 + i);
  await show(...seqs.map((seq) => stored(seq)));
  for (let i = 0; i < 20; i++) await settled();
  expect(heard).toEqual(seqs);
});

it('says that events were lost when it is far behind, and goes on with the newest', async () => {
  const { tail, show, clock } = stage();
  const { heard, lost } = await listen(tail);
  const old = clock.now() - 31_000;
  await show(...Array.from({ length: 300 }, (_, i) => stored(i + 1, { createdAt: old })));
  expect(heard).toEqual([]);
  expect(lost).toEqual([300]);
});

it('loses nothing when a burst that it gave out is read again after more than 30 seconds', async () => {
  const slackMs = 15_000;
  const { tail, show, pass, clock } = stage({ slack: slackMs });
  // Places are times, as those of a store that nodes share.
  const burst = Array.from({ length: 450 }, (_, i) => clock.now() + i);
  const storedAt = (seq: number): StoredEvent => stored(seq, { createdAt: seq });
  const { heard, lost } = await listen(tail);
  await show(...burst.map(storedAt));
  await pass(35_000);
  const late = clock.now();
  await show(storedAt(late));
  for (let i = 0; i < 30; i++) await pass(2_000);
  expect(lost).toEqual([]);
  expect(heard).toEqual([...burst, late]);
});

async function all(tail: EventTail, seq: number) {
  const missed = tail.missed('t', seq);
  const heard: number[] = [];
  for (;;) {
    const page = await missed.next();
    if (page === 'gone') return { heard, gone: true, missed };
    heard.push(...page.events.map((event) => event.seq));
    if (!page.more) return { heard, gone: false, missed };
  }
}

it('tells who comes back what was stored since, and what appears meanwhile', async () => {
  const { tail, shown } = stage({ slack });
  const seqs = Array.from({ length: 500 }, (_, i) => 1_000 + i);
  shown.push(...seqs.map((seq) => stored(seq)));
  const { heard, gone, missed } = await all(tail, 1_250);
  expect({ heard, gone }).toEqual({ heard: seqs.filter((seq) => seq > 1_250 - slack), gone: false });
  shown.push(stored(1_490, { id: 'late' }));
  await missed.again();
  expect(await missed.next()).toMatchObject({ events: [{ id: 'late' }] });
});

it('gives what came since to whoever returns after a long time in which nothing came', async () => {
  const { tail, shown, clock } = stage({ slack });
  const old = clock.now() - maxMissedMs - 1;
  shown.push(stored(1_000, { createdAt: old }), stored(1_050, { createdAt: old }), stored(1_200));
  const { heard, gone } = await all(tail, 1_050);
  expect({ heard, gone }).toEqual({ heard: [1_000, 1_050, 1_200], gone: false });
});

it.each<[string, number, (now: number) => StoredEvent[]]>([
  ['a place that no event has', 99, () => [stored(3)]],
  ['a place too long ago', 1, (now) => [stored(3, { createdAt: now - maxMissedMs - 1 })]],
  ['too many events', 1, () => Array.from({ length: maxMissed + 1 }, (_, i) => stored(i + 2))],
])('is plain about %s', async (_what, seq, events) => {
  const { tail, shown, clock } = stage();
  for (const event of events(clock.now())) shown.push(event);
  expect((await all(tail, seq)).gone).toBe(true);
});

it('fits what a search finds', () => {
  const event = stored(1, {
    payload: { session_id: 's', parent_session_id: 'p' },
    outcomes: [
      { verdict: 'call_executed', timestamp: 0, decisionSource: null, decisionName: null, reason: null },
    ],
  });
  const yes = [
    { env: null },
    { env: ['staging', 'production'] as const },
    { env: 'production' as const, agentId: 'a', toolName: 't', sessionId: 's', parentSessionId: 'p' },
    { env: null, verdicts: { any: ['call_executed'], others: false } },
  ];
  const no = [
    { env: 'staging' as const },
    { env: ['staging', 'development'] as const },
    { env: null, agentId: 'b' },
    { env: null, toolName: 'T' },
    { env: null, sessionId: 'p' },
    { env: null, verdicts: { any: ['call_blocked'], others: true } },
  ];
  expect(yes.map((filter) => fits(filter, event))).toEqual(yes.map(() => true));
  expect(no.map((filter) => fits(filter, event))).toEqual(no.map(() => false));
});
