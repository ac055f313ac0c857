// The judges of the chaos suites are judged: a history without a breach passes, and every deliberate breach is found.
import { describe, expect, it } from 'vitest';
import { type ApprovalSeen, checkApprovals, lateness } from '../cluster/chaos/check/approvals.ts';
import { checkCounter } from '../cluster/chaos/check/counter.ts';
import { checkEvents } from '../cluster/chaos/check/events.ts';
import { checkExport } from '../cluster/chaos/check/export.ts';
import { checkOutage, type Outage } from '../cluster/chaos/check/outages.ts';
import {
  arrivals,
  checkAllTold,
  checkCatchUp,
  checkOrder,
  checkReplay,
  checkVersions,
} from '../cluster/chaos/check/streams.ts';
import { kills } from '../cluster/chaos/faults.ts';
import { busiest, percentile } from '../cluster/chaos/figures.ts';
import type { Followed } from '../cluster/chaos/follower.ts';
import type { Call, Outcome } from '../cluster/chaos/history.ts';
import { random } from '../random.ts';

const call = <Input, Output>(
  input: Input,
  outcome: Outcome,
  output: Output | null = null,
  times: readonly [number, number] = [0, 1],
): Call<Input, Output> => ({
  op: 'x',
  input,
  node: 'A',
  invoked: times[0],
  ended: times[1],
  outcome,
  status: outcome === 'ok' ? 200 : 0,
  retryAfter: null,
  output,
});

describe('the judge of events', () => {
  const batch = (ids: string[], outcome: Outcome, accepted = ids.length, duplicates = 0) =>
    call({ ids }, outcome, outcome === 'ok' ? { accepted, duplicates } : null);
  const calls = [
    batch(['a', 'b'], 'ok'),
    batch(['c'], 'unknown'),
    batch(['c'], 'ok', 0, 1),
    batch(['d'], 'unknown'),
  ];

  it('passes what was acknowledged once, with or without what is unknown', () => {
    expect(checkEvents(calls, ['a', 'b', 'c'])).toEqual({
      acknowledged: 3,
      unknown: 1,
      found: 3,
      violations: [],
    });
    expect(checkEvents(calls, ['a', 'b', 'c', 'd']).violations).toEqual([]);
  });

  it('finds an acknowledged event that is gone', () => {
    expect(checkEvents(calls, ['a', 'c']).violations).toEqual(['acknowledged and missing: b']);
  });

  it('finds an event that is stored twice', () => {
    expect(checkEvents(calls, ['a', 'b', 'b', 'c']).violations).toEqual(['stored 2 times: b']);
  });

  it('finds an event that cannot have been received', () => {
    const failed = [...calls, batch(['e'], 'failed')];
    expect(checkEvents(failed, ['a', 'b', 'c', 'e']).violations).toEqual([
      'stored, but its sending failed for certain: e',
    ]);
  });

  it('finds counts that do not add up', () => {
    expect(checkEvents([batch(['a', 'b'], 'ok', 1, 0)], ['a', 'b']).violations).toHaveLength(1);
    expect(checkEvents([batch(['a', 'b'], 'ok', 1, 1)], ['a', 'b']).violations).toHaveLength(1);
  });
});

describe('the judge of exports', () => {
  const calls = [
    call({ ids: ['a', 'b'] }, 'ok'),
    call({ ids: ['c'] }, 'unknown'),
    call({ ids: ['b'] }, 'ok'),
  ];
  const lines = (...ids: string[]) => ids.map((callId) => ({ callId, cursor: `at ${callId}` }));
  const [ab, abc] = [lines('a', 'b'), lines('a', 'b', 'c')];

  it('passes one line for each acknowledged event, with or without those that are unknown', () => {
    expect(checkExport(calls, ab, ab, new Map([[0, lines('b')]]))).toEqual([]);
    expect(checkExport(calls, abc, abc, new Map([[2, []]]))).toEqual([]);
  });

  it.each([
    ['an acknowledged event without a line', lines('a'), lines('a'), 'acknowledged and without a line: b'],
    ['a doubled line', lines('a', 'b', 'a'), lines('a', 'b', 'a'), '2 lines: a'],
    [
      'a line that came before a cursor later',
      ab,
      lines('a', 'c', 'b'),
      'a later reader got other lines, or another order',
    ],
    ['another order', ab, lines('b', 'a'), 'a later reader got other lines, or another order'],
  ])('finds %s', (_, followed, whole, violation) => {
    expect(checkExport(calls, followed, whole, new Map())).toEqual([violation]);
  });

  it('finds a cursor behind which a line is missing', () => {
    expect(checkExport(calls, abc, abc, new Map([[0, lines('c')]]))).toEqual([
      'a reader behind line 0 got other lines',
    ]);
  });
});

describe('the judge of counters', () => {
  const add = (value: number, times: readonly [number, number]) => call(1, 'ok', { value }, times);
  const lost = call(1, 'unknown', null, [1000, 1200]);
  const calls = [add(1, [0, 2]), add(2, [1, 3]), lost];
  const killed = [{ node: 'A', at: 1100 }];
  const checked = (some: readonly Call[], value: number) => checkCounter(some, value, killed);

  it('passes a sum between the acknowledged and the unknown', () => {
    expect(checked(calls, 2)).toEqual([]);
    expect(checked([add(1, [0, 2]), add(3, [3, 4]), lost], 3)).toEqual([]);
  });

  it('finds a lost increment, one too many, one answered twice, and one that went back', () => {
    expect(checked(calls, 1)).not.toEqual([]);
    expect(checked(calls, 4)).not.toEqual([]);
    expect(checked([add(1, [0, 2]), add(1, [1, 3])], 2)).not.toEqual([]);
    expect(checked([add(2, [0, 1]), add(1, [2, 3])], 2)).not.toEqual([]);
    expect(checked(calls, Number.NaN)).not.toEqual([]);
  });

  it('finds an outcome that nobody knows although its node was not killed meanwhile', () => {
    expect(checkCounter(calls, 2, [])).toHaveLength(1);
    expect(checkCounter(calls, 2, [{ node: 'B', at: 1100 }])).toHaveLength(1);
    expect(checkCounter(calls, 2, [{ node: 'A', at: 1300 }])).toHaveLength(1);
  });
});

describe('the judge of streams', () => {
  /** Connections of frames; a number is a contract_update of that version. */
  const followed = (name: string, ...connections: (readonly [string, string | number][])[]): Followed => {
    let lastId: string | null = null;
    const history = {
      name,
      connections: [] as Followed['connections'][number][],
      frames: [] as Followed['frames'][number][],
    };
    for (const [connection, frames] of connections.entries()) {
      history.connections.push({ node: 'A', askedAt: 0, openedAt: 0, after: lastId, endedAt: 1 });
      for (const [id, what] of frames) {
        const type = typeof what === 'number' ? 'contract_update' : what;
        history.frames.push({ id, type, data: { version: what }, at: 0, connection });
        lastId = id;
      }
    }
    return history;
  };

  it('passes rising ids over reconnections, and a fresh start after a resync', () => {
    const a = followed(
      'a',
      [
        ['1-0', 1],
        ['1-1', 2],
      ],
      [
        ['1-1.1', 2],
        ['2-0', 3],
      ],
      [
        ['1-0.1', 'resync'],
        ['2-1', 4],
      ],
    );
    expect(checkOrder(a)).toEqual([]);
    expect(checkVersions(a, [1, 2, 3, 4])).toEqual([]);
  });

  it('finds an id that does not rise, on a connection and after a reconnection', () => {
    expect(
      checkOrder(
        followed('a', [
          ['1-1', 1],
          ['1-1', 2],
        ]),
      ),
    ).toHaveLength(1);
    expect(checkOrder(followed('a', [['2-0', 1]], [['1-9', 2]]))).toHaveLength(1);
  });

  it('finds a version that went back, one that was left out, and one that never was', () => {
    expect(
      checkVersions(
        followed('a', [
          ['1-0', 2],
          ['1-1', 1],
        ]),
        [1, 2],
      ),
    ).toHaveLength(1);
    expect(
      checkVersions(
        followed('a', [
          ['1-0', 1],
          ['1-1', 3],
        ]),
        [1, 2, 3],
      ),
    ).toHaveLength(1);
    expect(checkVersions(followed('a', [['1-0', 9]]), [1])).toHaveLength(1);
    expect(checkVersions(followed('a', [['1-0', 1]], [['1-1', 3]]), [1, 2, 3])).toEqual([]);
  });

  it('finds a frame that one follower was never sent, unless it was told so', () => {
    const all = followed('a', [
      ['1-0', 'x'],
      ['1-1', 'x'],
      ['1-2', 'x'],
    ]);
    const told = followed(
      'b',
      [['1-0', 'x']],
      [
        ['1-1.1', 'resync'],
        ['1-2', 'x'],
      ],
    );
    expect(checkReplay([all, told])).toEqual([]);
    expect(checkReplay([all, followed('c', [['1-0', 'x']], [['1-2', 'x']])])).toHaveLength(1);
  });
});

describe('the judge of catching up', () => {
  const deployed = [
    { version: 1, until: 100 },
    { version: 2, until: 200 },
    { version: 3, until: 300 },
  ];
  const agent = (
    ...connections: (readonly [askedAt: number, endedAt: number | null, ...versions: number[]])[]
  ): Followed => ({
    name: 'a',
    connections: connections.map(([askedAt, endedAt]) => ({
      node: 'A',
      askedAt,
      openedAt: askedAt,
      after: null,
      endedAt,
    })),
    frames: connections.flatMap(([at, , ...versions], connection) =>
      versions.map((version, i) => ({
        id: `${at}-${i}`,
        type: 'contract_update',
        data: { version },
        at: at + i,
        connection,
      })),
    ),
  });

  it('passes an agent that gets the newest when it comes back, or has it, or was cut before', () => {
    expect(checkCatchUp(agent([150, 180, 1], [210, 250, 2, 3]), deployed)).toEqual([]);
    expect(checkCatchUp(agent([150, 180, 1], [350, null, 3]), deployed)).toEqual([]);
    expect(checkCatchUp(agent([150, 330, 1, 2, 3], [350, null]), deployed)).toEqual([]);
    expect(checkCatchUp(agent([150, 180, 1], [350, 400]), deployed)).toEqual([]);
  });

  it('finds one that is given an old version, or nothing', () => {
    expect(checkCatchUp(agent([150, 180, 1], [350, null, 2]), deployed)).toHaveLength(1);
    expect(checkCatchUp(agent([150, 180, 1], [350, null]), deployed)).toHaveLength(1);
    expect(checkCatchUp(agent([150, 180, 1], [350, 9000]), deployed)).toHaveLength(1);
  });

  it('finds a version that a follower was never told of, and says when each first had one', () => {
    const follower = agent([0, null, 1, 3]);
    expect(checkAllTold(follower, [1, 3])).toEqual([]);
    expect(checkAllTold(follower, [1, 2, 3])).toHaveLength(1);
    expect(arrivals([follower, agent([5, null, 3])], 3)).toEqual([1, 5]);
    expect(arrivals([follower], 2)).toEqual([Number.POSITIVE_INFINITY]);
  });
});

describe('the judge of outages', () => {
  const outage: Outage = {
    service: 'store',
    from: 1000,
    until: 5000,
    back: 5500,
    next: 40_000,
    recovered: [900],
  };
  const at = (op: string, status: number, times: readonly [number, number], retryAfter: number | null) => ({
    ...call(null, status < 300 ? 'ok' : status < 500 ? 'failed' : 'unknown', null, times),
    op,
    status,
    retryAfter,
  });
  const refused = [
    at('ingest', 200, [900, 1010], null),
    at('ingest', 503, [2000, 2100], 2),
    at('deploy', 503, [2000, 4000], 2),
    at('ingest', 200, [4000, 6000], null),
    at('ingest', 503, [6000, 6100], 2),
    at('ingest', 200, [16_000, 16_100], null),
  ];
  const stream = (endedAt: number | null) => ({
    name: 'a',
    connections: [{ node: 'A', askedAt: 0, openedAt: 0, after: null, endedAt }],
  });
  const check = (calls: readonly Call[], change: Partial<Outage> = {}, ended: number | null = null) =>
    checkOutage({ ...outage, ...change }, calls, [stream(ended)]);

  it('passes refusals with Retry-After, and all well again within 10 s', () => {
    expect(check(refused)).toEqual([]);
    expect(check(refused, {}, 2000)).toEqual([]);
  });

  it('finds an answer that should not be: 2xx, 500, no Retry-After, a 429', () => {
    for (const odd of [
      at('ingest', 200, [2000, 2100], null),
      at('ingest', 500, [900, 1100], null),
      at('ingest', 503, [2000, 2100], null),
      at('ingest', 429, [2000, 2100], 30),
    ])
      expect(check([...refused, odd])).toHaveLength(1);
    expect(check([...refused, at('deploy', 429, [2000, 2100], 30)], { service: 'redis' })).toHaveLength(1);
    expect(check([...refused, at('ingest', 429, [2000, 2100], 30)], { service: 'redis' })).toHaveLength(1);
  });

  it('finds an outage in which nothing was asked, or nothing was under way at its begin', () => {
    expect(check(refused.filter(({ op }) => op !== 'deploy'))).toHaveLength(1);
    expect(check(refused.slice(1))).toHaveLength(1);
  });

  it('finds slow answers, slow recovery, failures long after, and streams that an outage of Redis ended', () => {
    expect(check([...refused, at('ingest', 503, [2000, 15_000], 2)])).toHaveLength(1);
    expect(check(refused, { recovered: [900, 10_001] })).toHaveLength(1);
    expect(check([...refused, at('deploy', 503, [15_600, 15_700], 2)])).toHaveLength(1);
    expect(check(refused, { service: 'redis' }, 30_000)).toHaveLength(1);
    expect(check(refused, { service: 'redis' }, 40_001)).toEqual([]);
  });
});

describe('the judge of approvals', () => {
  const timedOut: ApprovalSeen = {
    id: 'p',
    shard: 7,
    deadline: 1000,
    readings: [
      { invoked: 0, ended: 10, status: 'pending' },
      { invoked: 1200, ended: 1210, status: 'timeout' },
    ],
    decisions: [],
    frames: [{ follower: 'd', status: 'timeout', at: 1100, since: 0 }],
    resyncs: [],
    final: 'timeout',
  };
  const allowed = { normalMs: 2000, afterDeathMs: 10_000, deaths: [] };
  const check = (change: Partial<ApprovalSeen>, deaths: readonly number[] = [], shard = 7) =>
    checkApprovals([{ ...timedOut, ...change }], ['d'], {
      ...allowed,
      deaths: deaths.map((at) => ({ at, shards: new Set([shard]) })),
    });
  const told = (at: number, since = 0) => ({
    frames: [{ follower: 'd', status: 'timeout' as const, at, since }],
  });

  it('passes a timeout on time, and one that is late by the death of its owner', () => {
    expect(check({})).toEqual([]);
    expect(lateness([timedOut])).toEqual([100]);
    expect(check(told(9000), [500])).toEqual([]);
  });

  it('finds one that is early, late, left pending, told twice or not at all', () => {
    expect(check(told(999))).toHaveLength(1);
    expect(check(told(3001))).toHaveLength(1);
    expect(check(told(11_000), [500])).toHaveLength(1);
    expect(check({ readings: [], frames: [], final: 'pending' })).not.toEqual([]);
    expect(check({ frames: [...timedOut.frames, ...timedOut.frames] })).toHaveLength(1);
    expect(check({ frames: [] })).toHaveLength(1);
    expect(check({ readings: [{ invoked: 900, ended: 990, status: 'timeout' }] })).toHaveLength(1);
  });

  it('takes a resync for the frame of what ended while its follower was away, and of nothing else', () => {
    const resynced = (from: number, at: number, follower = 'd') =>
      check({ frames: [], resyncs: [{ follower, from, at }] });
    expect(resynced(900, 3000)).toEqual([]);
    expect(resynced(100, 900)).toHaveLength(1);
    expect(resynced(2500, 3000)).toHaveLength(1);
    expect(resynced(900, 3000, 'e')).toHaveLength(1);
  });

  it('excuses nothing by the death of another, and a late dashboard only when it was not connected', () => {
    expect(check(told(9000), [500], 8)).toHaveLength(1);
    const [first] = timedOut.frames;
    const late = { follower: 'e', status: 'timeout' as const, at: 9000, since: 0 };
    expect(check({ frames: first ? [first, late] : [] })).toHaveLength(1);
    expect(check({ frames: first ? [first, { ...late, since: 5000 }] : [] })).toEqual([]);
    expect(check(told(9000, 5000))).toHaveLength(1);
  });

  it('excuses by the death of another only what the next owner may have had', () => {
    const judged = (own: number, other: number) =>
      checkApprovals([{ ...timedOut, ...told(12_000) }], ['d'], {
        ...allowed,
        deaths: [
          { at: own, shards: new Set([7]) },
          { at: other, shards: new Set([8]) },
        ],
      });
    expect(judged(-8000, 2000)).toEqual([]);
    expect(judged(-8500, 2000)).toHaveLength(1);
  });

  it('finds two outcomes: two winners, a changed state, a frame that disagrees, a decision after the deadline', () => {
    const decided = {
      final: 'approved' as const,
      frames: [{ follower: 'd', status: 'approved' as const, at: 500, since: 0 }],
    };
    const won = { status: 'approved' as const, outcome: 'ok' as const, invoked: 400, ended: 450 };
    expect(check({ ...decided, readings: [], decisions: [won] })).toEqual([]);
    expect(check({ ...decided, readings: [], decisions: [won, won] })).toHaveLength(1);
    expect(check({ ...decided, readings: [], decisions: [{ ...won, status: 'denied' }] })).not.toEqual([]);
    expect(check({ ...decided, readings: [], decisions: [] })).toHaveLength(1);
    expect(check({ ...decided, decisions: [won] })).not.toEqual([]);
    expect(check({ ...decided, readings: [], decisions: [{ ...won, invoked: 1500 }] })).toHaveLength(1);
  });
});

describe('the schedule', () => {
  it('is the same for the same seed and another for another', () => {
    const plan = (seed: string) =>
      kills(random(seed), { ms: 60_000, nodes: 3, every: [2000, 5000], away: [500, 2000] });
    expect(plan('1')).toEqual(plan('1'));
    expect(plan('1')).not.toEqual(plan('2'));
    expect(plan('1').length).toBeGreaterThan(11);
    expect(new Set(plan('1').map(({ node }) => node)).size).toBe(3);
  });
});

describe('figures', () => {
  it('says percentiles and the busiest window', () => {
    const numbers = Array.from({ length: 100 }, (_, i) => i + 1);
    expect([percentile(numbers, 0.5), percentile(numbers, 0.99), percentile([], 1)]).toEqual([50, 99, 0]);
    expect(busiest([0, 1, 2, 50, 99, 100], 10)).toEqual({ count: 3, share: 0.5 });
  });
});
