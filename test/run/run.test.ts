// Runs: the precedence of their statuses, and that they follow from their events in any order.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../src/event/record.ts';
import type { RunFacts, RunStanding, RunStatus } from '../../src/run/record.ts';
import { callOutcomes } from '../../src/run/rules/call-outcomes.ts';
import {
  factsBySession,
  factsOf,
  joinFacts,
  placedAt,
  runStatus,
  standingOf,
} from '../../src/run/rules/run.ts';

const t0 = Date.UTC(2026, 5, 1);

const eventOf = (
  verdict: string,
  at: number,
  payload: object = {},
  over: Partial<EventInput> = {},
): EventInput => ({
  callId: `${verdict} ${at}`,
  agentId: 'a',
  toolName: 'tool',
  verdict,
  mode: 'enforce',
  timestamp: t0 + at,
  payload: { session_id: 's', ...payload },
  ...over,
});

const workflow = (over: object = {}) => ({
  name: 'release',
  active_stage: 'review',
  completed_stages: ['implement'],
  pending_approval: { required: false },
  ...over,
});

const facts = (events: readonly EventInput[]): RunFacts => {
  const found = factsBySession(events, { env: 'production', receivedAt: t0 }, (seq) => ({ seq })).get('s');
  if (!found) throw new Error('no run');
  return found;
};

describe('the standing of a run', () => {
  const asks = workflow({ pending_approval: { required: true } });
  it.each<[string, readonly EventInput[], RunStanding]>([
    ['allowed', [eventOf('call_allowed', 1)], 'open'],
    ['blocked', [eventOf('call_blocked', 1)], 'blocked'],
    ['blocked in the words of the console', [eventOf('call_denied', 1)], 'blocked'],
    ['blocked, then executed', [eventOf('call_blocked', 1), eventOf('call_executed', 2)], 'open'],
    [
      'executed, then blocked by an earlier call that came late',
      [eventOf('call_executed', 2), eventOf('call_blocked', 1)],
      'open',
    ],
    [
      'blocked where the contract only observes',
      [eventOf('call_blocked', 1, {}, { mode: 'observe' })],
      'open',
    ],
    ['an approval refused', [eventOf('call_approval_blocked', 1)], 'blocked'],
    ['an approval timed out', [eventOf('call_approval_timeout', 1)], 'blocked'],
    [
      'timed out and run all the same',
      [eventOf('call_approval_timeout', 1), eventOf('call_executed', 2)],
      'open',
    ],
    [
      'the workflow is blocked',
      [eventOf('call_allowed', 1, { workflow: workflow({ blocked_reason: 'tests fail' }) })],
      'blocked',
    ],
    ['the workflow asks', [eventOf('workflow_stage_advanced', 1, { workflow: asks })], 'asking'],
    ['asked by the call that carries the snapshot', [eventOf('call_asked', 1, { workflow: asks })], 'asking'],
    [
      'asks, and a call went on since',
      [eventOf('call_asked', 1, { workflow: asks }), eventOf('call_executed', 2)],
      'open',
    ],
    [
      'asks, although a call before was blocked',
      [eventOf('call_blocked', 1), eventOf('workflow_state_updated', 2, { workflow: asks })],
      'asking',
    ],
    ['completed', [eventOf('call_blocked', 1), eventOf('workflow_completed', 2)], 'completed'],
    [
      'completed, then advanced again',
      [eventOf('workflow_completed', 1), eventOf('workflow_stage_advanced', 2)],
      'open',
    ],
    [
      'no stage is active',
      [eventOf('call_blocked', 1, { workflow: workflow({ active_stage: '' }) })],
      'completed',
    ],
    [
      'no stage is active and none was completed',
      [eventOf('call_executed', 1, { workflow: workflow({ active_stage: '', completed_stages: [] }) })],
      'open',
    ],
    [
      'the last stage',
      [eventOf('call_executed', 1, { workflow: workflow({ active_stage: 'done' }) })],
      'completed',
    ],
    [
      'a snapshot without its keys is none',
      [eventOf('call_executed', 1, { workflow: { active_stage: '', _snapshot_error: true } })],
      'open',
    ],
  ])('%s', (_name, events, expected) => {
    expect(standingOf(facts(events))).toBe(expected);
  });
});

describe('the status of a run', () => {
  const time = { now: t0, staleAfterMs: 1000 };
  const [fresh, old] = [t0 - 1000, t0 - 1001];
  it.each<[RunStanding, number, number, RunStatus]>([
    ['open', 1, fresh, 'approval_pending'],
    ['completed', 1, fresh, 'approval_pending'],
    ['blocked', 1, old, 'approval_pending'],
    ['asking', 0, old, 'approval_pending'],
    ['completed', 0, fresh, 'completed'],
    ['completed', 0, old, 'completed'],
    ['blocked', 0, fresh, 'blocked'],
    ['blocked', 0, old, 'blocked'],
    ['open', 0, fresh, 'active'],
    ['open', 0, old, 'stale'],
  ])('%s with %i pending, last active at %i: %s', (standing, pending, lastActivityAt, expected) => {
    expect(runStatus({ standing, lastActivityAt }, pending, time)).toBe(expected);
  });
});

describe('the outcomes of calls', () => {
  const counted = { session_attempt_count: 1 };
  const later = { follows_decision: true };
  const none = { allowed: 0, denied: 0, asking: 0, wouldDeny: 0, expired: 0 };
  /** Each event by its verdict and payload. */
  const outcomesOf = (...events: readonly (readonly [string, object?])[]) => {
    const { calls, steps } = facts(events.map(([verdict, payload], i) => eventOf(verdict, i, payload)));
    return { calls, ...callOutcomes(steps ?? {}) };
  };

  it.each<[string, readonly (readonly [string, object?])[], object]>([
    [
      'allowed, while two contracts in observe mode fire',
      [['call_would_deny'], ['call_would_deny'], ['call_allowed', counted], ['call_executed', counted]],
      { calls: 1, allowed: 1 },
    ],
    [
      'allowed, and a shadow copy would deny',
      [
        ['call_allowed', counted],
        ['call_would_deny', later],
      ],
      { calls: 1, allowed: 1 },
    ],
    [
      'denied, while a contract in observe mode fires',
      [['call_would_deny'], ['call_denied', counted], ['call_allowed', counted]],
      { calls: 2, allowed: 1, denied: 1 },
    ],
    ['let through by a guard that observes', [['call_would_deny', counted]], { calls: 1, wouldDeny: 1 }],
    ['asked', [['call_asked', counted], ['call_allowed']], { calls: 2, allowed: 1, asking: 1 }],
    ['approved', [['call_asked'], ['call_approval_granted'], ['call_executed']], { calls: 1, allowed: 1 }],
    ['refused by a person', [['call_asked'], ['call_approval_denied']], { calls: 1, denied: 1 }],
    ['decided by nobody', [['call_asked'], ['call_approval_timeout']], { calls: 1, expired: 1 }],
    [
      'approved, then denied',
      [['call_asked'], ['call_approval_granted'], ['call_denied', later], ['call_allowed']],
      { calls: 2, allowed: 1, denied: 1 },
    ],
    [
      'asked, and denied because asking failed',
      [['call_asked'], ['call_denied', later], ['call_allowed']],
      { calls: 2, allowed: 1, denied: 1 },
    ],
    [
      'expired with the effect allow, then denied',
      [['call_asked'], ['call_approval_timeout'], ['call_denied', later]],
      { calls: 1, denied: 1 },
    ],
    ['allowed, then denied', [['call_allowed'], ['call_denied', later]], { calls: 1, denied: 1 }],
  ])('%s', (_name, events, expected) => {
    expect(outcomesOf(...events)).toEqual({ ...none, ...expected });
  });

  it('a denial in observe mode is one that would deny', () => {
    const { steps } = facts([eventOf('call_denied', 1, {}, { mode: 'observe' })]);
    expect(callOutcomes(steps ?? {})).toEqual({ ...none, wouldDeny: 1 });
  });

  it('are unknown for a run whose facts an earlier version stored', () => {
    const { steps: _, ...earlier } = facts([eventOf('call_allowed', 1)]);
    const added = facts([eventOf('call_denied', 2)]);
    for (const joined of [joinFacts(earlier, added), joinFacts(added, earlier)]) {
      expect(joined).toMatchObject({ calls: 2, counts: { allow: 1, block: 1 } });
      expect(joined).not.toHaveProperty('steps');
    }
  });
});

describe('facts', () => {
  const anEvent = fc
    .record({
      verdict: fc.constantFrom(
        'call_allowed',
        'call_denied',
        'call_asked',
        'call_executed',
        'workflow_completed',
        'workflow_stage_advanced',
        'odd',
      ),
      at: fc.integer({ min: 0, max: 5 }),
      index: fc.integer({ min: 0, max: 2 }),
      mode: fc.constantFrom('enforce', 'observe'),
      policy: fc.constantFrom(undefined, 'v1', 'v2'),
      snapshot: fc.constantFrom(undefined, workflow(), workflow({ active_stage: '' }), { odd: 1 }),
    })
    .map(({ verdict, at, index, mode, policy, snapshot }) =>
      eventOf(
        verdict,
        at,
        { call_index: index, policy_version: policy, workflow: snapshot, run_id: `r${at}` },
        { mode },
      ),
    );

  it.each([
    ['call_asked', 'call_approval_granted', 'open'],
    ['call_approval_granted', 'call_denied', 'blocked'],
    ['call_would_deny', 'call_denied', 'blocked'],
    ['call_approval_granted', 'call_executed', 'open'],
  ] as const)('%s and %s of one call within a millisecond, however joined', (before, after, standing) => {
    const [a, b] = [before, after].map((verdict) =>
      factsOf(eventOf(verdict, 1), { env: 'staging', receivedAt: t0, seq: 7 }),
    ) as [RunFacts, RunFacts];
    for (const joined of [joinFacts(a, b), joinFacts(b, a)]) {
      expect(standingOf(joined)).toBe(standing);
      expect(joined.lastDecision?.action).toBe(after === 'call_denied' ? 'call_blocked' : after);
    }
  });

  it('of several environments name the one of an older snapshot and version, and no other', () => {
    const payload = {
      workflow: { name: 'w', active_stage: 'a', completed_stages: [], pending_approval: {} },
    };
    const [first, second, third] = (['staging', 'production', 'staging'] as const).map((env, seq) =>
      factsOf(eventOf('call_allowed', seq, seq === 0 ? { ...payload, policy_version: 'v' } : {}), {
        env,
        receivedAt: t0,
        seq,
      }),
    ) as [RunFacts, RunFacts, RunFacts];
    const moved = joinFacts(second, first);
    expect(moved).toMatchObject({
      env: 'production',
      snapshot: { env: 'staging', seq: 0 },
      version: { env: 'staging' },
    });
    for (const back of [joinFacts(moved, third), joinFacts(third, moved)]) {
      expect(back.snapshot).toEqual(first.snapshot);
      expect(back.version).toEqual({ at: expect.any(Number), index: 0, seq: 0, policyVersion: 'v' });
    }
  });

  it('are the same in whatever order and groups the events are joined', () => {
    fc.assert(
      fc.property(
        fc.array(anEvent, { minLength: 1, maxLength: 12 }).chain((events) =>
          fc.record({
            events: fc.constant(events),
            order: fc.shuffledSubarray(
              events.map((_, i) => i),
              { minLength: events.length, maxLength: events.length },
            ),
            cut: fc.nat(events.length - 1),
          }),
        ),
        ({ events, order, cut }) => {
          const said = events.map((event, seq) =>
            factsOf(event, { env: seq % 3 === 1 ? 'production' : 'staging', receivedAt: t0, seq }),
          );
          const shuffled = order.flatMap((i) => said[i] ?? []);
          const groups = [shuffled.slice(0, cut), shuffled.slice(cut)].filter((group) => group.length > 0);
          const joined = groups.map((group) => group.reduce(joinFacts)).reduce(joinFacts);
          expect(joined).toEqual(said.reduce(joinFacts));
          expect(Object.values(joined.counts).reduce((sum, n) => sum + n, 0)).toBe(events.length);
        },
      ),
    );
  });

  it('of events at one place are the same in any order, read one by one or together', () => {
    fc.assert(
      fc.property(
        fc.array(anEvent, { minLength: 1, maxLength: 6 }).chain((events) =>
          fc.record({
            events: fc.constant(events),
            shuffled: fc.shuffledSubarray(events, { minLength: events.length, maxLength: events.length }),
          }),
        ),
        ({ events, shuffled }) => {
          const batch = { env: 'staging', receivedAt: t0 } as const;
          const atOnePlace = (list: typeof events) =>
            list.map((event) => ({ ...event, timestamp: t0, payload: { ...event.payload, run_id: 'r' } }));
          const of = (list: typeof events) =>
            factsBySession(atOnePlace(list), batch, () => ({ seq: 7 })).get('s');
          const joined = atOnePlace(shuffled)
            .map((event) => factsOf(event, { ...batch, seq: 7 }))
            .reduce(joinFacts);
          expect(of(events)).toEqual(of(shuffled));
          expect(of(events)).toEqual(joined);
        },
      ),
    );
  });

  it('places that count from a group can be moved to where the group is', () => {
    const events = [
      eventOf('call_allowed', 1, { policy_version: 'v', workflow: workflow() }),
      eventOf('workflow_completed', 2),
    ];
    const moved = facts(events);
    const there = factsBySession(events, { env: 'production', receivedAt: t0 }, (i) => ({
      seq: 512 + i,
    })).get('s');
    expect(placedAt(moved, 512)).toEqual(there);
  });

  it('a clock that is ahead moves the last activity no further than five minutes after receipt', () => {
    const ahead = facts([eventOf('call_allowed', 3_600_000)]);
    expect(ahead.lastAt).toBe(t0 + 300_000);
    expect(ahead.startedAt).toBe(t0 + 3_600_000);
  });
});
