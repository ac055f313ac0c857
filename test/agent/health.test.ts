// The health of an agent: which of its reasons comes first.
import { describe, expect, it } from 'vitest';
import { agentHealth, type HealthStatus, type RecentRun } from '../../src/agent/rules/health.ts';

const now = Date.UTC(2026, 5, 1);
const minute = 60_000;
const times = { now, staleAfterMs: 15 * minute, agentStaleAfterMs: 15 * minute };

const run = (standing: RecentRun['standing'], minutesAgo: number, pendingApprovals = 0): RecentRun => ({
  standing,
  lastActivityAt: now - minutesAgo * minute,
  pendingApprovals,
});

interface Given {
  readonly runs?: readonly RecentRun[];
  readonly pendingApprovals?: number;
  readonly seen?: number | null;
  readonly event?: number | null;
  readonly connected?: boolean;
}

const healthOf = ({ runs = [], pendingApprovals = 0, seen = 1, event = 1, connected = false }: Given) =>
  agentHealth(
    {
      runs,
      pendingApprovals,
      lastSeenAt: seen === null ? null : now - seen * minute,
      lastEventAt: event === null ? null : now - event * minute,
      connected,
    },
    times,
  );

describe('agent health', () => {
  it.each<[string, Given, HealthStatus]>([
    ['recent activity', { runs: [run('open', 1)] }, 'healthy'],
    ['completed runs alone', { runs: [run('completed', 1)] }, 'healthy'],
    ['an approval of no run', { pendingApprovals: 1, runs: [run('blocked', 1)] }, 'approval_pending'],
    ['a workflow that asks', { runs: [run('asking', 1)] }, 'approval_pending'],
    ['the newest run is blocked', { runs: [run('blocked', 1), run('open', 2)] }, 'blocked'],
    [
      'the newest open run is blocked',
      { runs: [run('completed', 1), run('blocked', 2), run('open', 3)] },
      'blocked',
    ],
    [
      'an earlier run is blocked, a newer one active',
      { runs: [run('open', 1), run('blocked', 2)] },
      'healthy',
    ],
    ['one is blocked, the newer one is stale', { runs: [run('open', 20), run('blocked', 30)] }, 'blocked'],
    ['blocked two days ago', { runs: [run('blocked', 2880)] }, 'healthy'],
    ['silent for long', { seen: 16, event: 16, runs: [run('open', 16)] }, 'stale'],
    ['registered as seen long ago, and an event just now', { seen: 16, event: 1 }, 'healthy'],
    ['never seen, and an event just now', { seen: null, event: 1 }, 'healthy'],
    ['an event from a clock that is a little ahead', { seen: 16, event: -14 }, 'healthy'],
    ['an event from a clock that is far ahead', { seen: 16, event: -16 }, 'stale'],
    ['silent, but connected', { seen: 16, event: 16, connected: true }, 'healthy'],
    ['connected, and never an event', { event: null, connected: true }, 'stale'],
    ['never seen', { seen: null, event: null }, 'stale'],
    ['silent and blocked', { seen: 60, event: 60, runs: [run('blocked', 60)] }, 'blocked'],
  ])('%s', (_name, given, expected) => {
    expect(healthOf(given).status).toBe(expected);
  });

  it('counts what is open', () => {
    const runs = [run('open', 1), run('open', 20), run('blocked', 2), run('completed', 3), run('asking', 4)];
    expect(healthOf({ runs, pendingApprovals: 2 })).toMatchObject({
      pendingApprovals: 2,
      blockedRuns: 1,
      activeRuns: 1,
      openRuns: 4,
    });
  });
});
