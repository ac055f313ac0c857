// The record of a task's call whose end nobody knows: a proxy sent it to the server, and ended before the answer.
import { type McpResult, mcpRunOptions } from '../../../adapters/mcp-result.ts';
import type { Guard } from '../../../guard/guard.ts';
import { answersOf } from './input.ts';
import type { TaskRecord } from './record.ts';

/**
 * Records the call as failed, under its own `call_id`. Judges, counts and runs nothing. A repeat is safe: the hub keeps
 * one failure of a call.
 * @param reason for people
 * @throws storage failures of the counters
 */
export async function recordLostCall(
  guard: Guard,
  { tool, args, sessionId, rounds, meta, input = null }: TaskRecord,
  reason: string,
): Promise<void> {
  let isRecorded = false;
  const fail = (): Promise<McpResult> => {
    isRecorded = true;
    return Promise.reject(new Error(reason));
  };
  const { traceparent } = meta;
  const recording = guard.run<object, McpResult>(tool, args, fail, {
    ...mcpRunOptions,
    ...(typeof traceparent === 'string' ? { traceparent } : {}),
    sessionId,
    rounds: {
      earlier: { ...rounds, isApproved: true, isCounted: true },
      ...(input ? { answers: answersOf(input) } : {}),
      isInterim: () => false,
      carry: (result) => result,
      isStarted: true,
    },
  });
  await recording.catch((failure: unknown) => {
    if (!isRecorded) throw failure;
  });
}
