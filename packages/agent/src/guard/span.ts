// The span of a call, from its start.
import type { SideEffect } from '../record.ts';
import type { CallSpan } from '../telemetry.ts';
import type { CallPlace, RunParts } from './parts.ts';

/** @param traceparent the caller's trace; ignored if malformed */
export function startSpan(
  { telemetry, policy }: RunParts,
  { environment, runId, callIndex }: CallPlace,
  tool: string,
  sideEffect: SideEffect,
  traceparent: string | undefined,
): CallSpan {
  const attributes = {
    'tool.name': tool,
    'tool.side_effect': sideEffect,
    'tool.call_index': callIndex,
    'governance.environment': environment,
    'governance.run_id': runId,
    'reeve.policy_version': policy.version,
  };
  return telemetry.startCall(tool, attributes, traceparent);
}
