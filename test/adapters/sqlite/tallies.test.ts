// Segments in several slots of time, or partly outside the range, are counted by their marks, without a read of each.
import { expect, it } from 'vitest';
import { compileFilter } from '../../../adapters/sqlite/events/fitting.ts';
import { type Telling, tellings } from '../../../adapters/sqlite/events/tallies.ts';
import { hourMs } from '../../../src/shared/duration.ts';
import { anEvent, t0 } from '../../conformance/fixtures.ts';
import { openEvents } from './event-store.ts';

const minute = 60_000;
/** Start of a minute, within an hour: a segment lies in one hour. */
const start = Math.floor(t0 / hourMs) * hourMs + 10 * minute;
const segments = 300;

function windowsOf(telling: Telling, since: number, until: number) {
  const { db, tenantId, ingest } = openEvents();
  for (let n = 0; n < segments; n++) {
    const agentId = `agent-${n % 3}`;
    const times = [start - 2_000, start - 1_000, start + 1_000];
    ingest(times.map((timestamp) => anEvent({ agentId, toolName: 'tool', timestamp })));
  }
  const filter = compileFilter({ env: null, since, until });
  return [...tellings(db, tenantId, filter, telling)];
}

it('splits segments into slots without reading them one by one, in steps', () => {
  const windows = windowsOf({ slotMs: minute, outcomes: true }, start - 1_000, start + minute);
  expect(windows.flatMap(({ single }) => single)).toEqual([]);
  expect(windows.length).toBeGreaterThan(2);
  const counts = windows.flatMap(({ alike }) =>
    alike.map((group) => [
      group.start,
      group.segments * group.tallies.reduce((sum, tally) => sum + tally[3], 0),
    ]),
  );
  expect(counts.sort()).toEqual([
    [start - minute, segments],
    [start, segments],
  ]);
});

it('ends before `until` with slots, and with it otherwise', () => {
  for (const [telling, events] of [
    [{ slotMs: minute, outcomes: true }, segments],
    [{ outcomes: true }, 2 * segments],
  ] as const) {
    const groups = windowsOf(telling, start - 2_000, start - 1_000).flatMap(({ alike }) => alike);
    const sum = groups.flatMap(({ tallies }) => tallies).reduce((total, tally) => total + tally[3], 0);
    expect(sum).toBe(events);
  }
});

it('names the agents of parts that the sums of agents leave out', () => {
  const windows = windowsOf({ outcomes: true, agents: true }, start - 1_000, start + minute);
  expect(windows.flatMap(({ agents }) => agents)).toEqual([]);
  const groups = windows.flatMap(({ alike }) => alike);
  expect(groups.map(({ agent }) => agent).sort()).toEqual(['agent-0', 'agent-1', 'agent-2']);
});
