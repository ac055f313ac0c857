// How long tools ran: by tool, by each report that measured, without the sample run.
import { expect, it } from 'vitest';
import { durationsByTool } from '../../src/agent/rules/tool-durations.ts';
import type { EventOutcome, StoredEvent } from '../../src/event/record.ts';

const outcome = (durationMs?: number): EventOutcome => ({
  verdict: 'call_executed',
  timestamp: 0,
  decisionSource: null,
  decisionName: null,
  reason: null,
  ...(durationMs === undefined ? {} : { durationMs }),
});

const call = (
  toolName: string,
  outcomes: readonly EventOutcome[],
  more: Partial<StoredEvent> = {},
): StoredEvent => ({
  id: 'id',
  seq: 1,
  env: 'production',
  createdAt: 0,
  callId: 'c',
  agentId: 'a',
  toolName,
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: 0,
  payload: null,
  outcomes,
  ...more,
});

it('gives runs, median, 95th percentile and maximum of each tool', () => {
  const calls = Array.from({ length: 100 }, (_, i) => call('read', [outcome(100 - i)]));
  const durations = durationsByTool([...calls, call('write', [outcome(7)]), call('never', [outcome()])]);
  expect(Object.fromEntries(durations)).toEqual({
    read: { runs: 100, p50Ms: 50, p95Ms: 95, maxMs: 100 },
    write: { runs: 1, p50Ms: 7, p95Ms: 7, maxMs: 7 },
  });
});

it('reads the event itself where it reports the end of a call, and nothing of the sample run', () => {
  const payload = { tool_success: true, duration_ms: 12 };
  const durations = durationsByTool([
    call('read', [], { verdict: 'call_executed', payload }),
    call('read', [], { payload: { duration_ms: 99 } }),
    call('read', [outcome(500)], { sample: true }),
  ]);
  expect(durations.get('read')).toEqual({ runs: 1, p50Ms: 12, p95Ms: 12, maxMs: 12 });
});
