// The log of an outage: each fact once, and then how often it was repeated.
import { expect, it } from 'vitest';
import { StreamEndLog } from '../../src/http/live/stream-end-log.ts';
import { HubError } from '../../src/shared/error.ts';
import { gatherRepeats } from '../../src/shared/log-repeats.ts';
import { ManualClock } from '../clock.ts';
import { memoryLog } from '../log.ts';

const outage = new HubError('unavailable', 'The store cannot be reached.');

it('logs a failure that an outage repeats every second no more than seven times in ten minutes', () => {
  const clock = new ManualClock(0);
  const { lines, ...to } = memoryLog();
  const log = gatherRepeats(to, clock);
  for (let second = 0; second < 600; second++) {
    log.error({ err: outage, tenant_id: `t${second}` }, 'the sweep failed');
    clock.advance(1000);
  }
  log.flush();
  expect(lines.length).toBeLessThanOrEqual(7);
  const counts = lines.map(({ fields }) => (fields as { repeats?: number }).repeats ?? 1);
  expect(counts[0]).toBe(1);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(600);
  expect(clock.pending).toBe(0);
});

it('keeps failures with other causes, routes, jobs and tenants apart', () => {
  const clock = new ManualClock(0);
  const { lines, ...to } = memoryLog();
  const log = gatherRepeats(to, clock);
  const facts = [
    { err: new Error('a') },
    { err: new Error('b') },
    { err: new Error('a'), route: 'GET /x' },
    { err: new Error('a'), job: '1' },
    { err: new Error('a'), tenant_id: 't' },
  ];
  for (const fields of [...facts, ...facts]) log.error(fields, 'failed');
  expect(lines).toHaveLength(facts.length);
  clock.advance(10_000);
  expect(lines).toHaveLength(2 * facts.length);
  clock.advance(20_000);
  expect(clock.pending).toBe(0);
  log.error({ err: new Error('a') }, 'failed');
  expect(lines.at(-1)?.fields).not.toHaveProperty('repeats');
});

it('logs a line at once that counts repeats already, and any after a clear', () => {
  const clock = new ManualClock(0);
  const { lines, ...to } = memoryLog();
  const log = gatherRepeats(to, clock);
  for (const fields of [{}, { repeats: 7 }, {}, { repeats: 9 }]) log.warn(fields, 'cannot reach the store');
  expect(lines.map(({ fields }) => fields)).toEqual([{}, { repeats: 7 }, { repeats: 9 }]);
  log.clear();
  expect(clock.pending).toBe(0);
  log.warn({}, 'cannot reach the store');
  expect(lines).toHaveLength(4);
});

it('logs 500 streams that end together in one line with their count, and one stream with its agent', () => {
  const clock = new ManualClock(0);
  const lines: unknown[] = [];
  const ends = new StreamEndLog(clock, { info: (fields, message) => lines.push({ ...fields, message }) });
  for (let i = 0; i < 500; i++) {
    ends.add({ tenantId: 't', env: 'production', agentId: `agent-${i}`, reason: 'draining' });
  }
  ends.add({ tenantId: 't', env: 'staging', agentId: 'agent-1', reason: 'client' });
  clock.advance(5000);
  expect(lines).toEqual([
    { tenant_id: 't', env: 'production', reason: 'draining', streams: 500, message: 'streams ended' },
    { tenant_id: 't', env: 'staging', reason: 'client', agent_id: 'agent-1', message: 'a stream ended' },
  ]);
  ends.flush();
  expect(lines).toHaveLength(2);
  expect(clock.pending).toBe(0);
});
