// An agent's own fields in the flat form of events, apart from the hub's. Pure.
import type { JsonObject } from '../../contract/record.ts';

/** Fields of the flat form that agents write, beside those that each event has. */
const agentFields = [
  'schema_version',
  'tool_args',
  'side_effect',
  'environment',
  'principal',
  'decision_source',
  'decision_name',
  'reason',
  'hooks_evaluated',
  'rules_evaluated',
  'conditions',
  'policy_version',
  'policy_error',
  'run_id',
  'call_index',
  'parent_call_id',
  'session_id',
  'parent_session_id',
  'session_attempt_count',
  'session_execution_count',
  'follows_decision',
  'workflow',
  'tool_success',
  'postconditions_passed',
  'duration_ms',
  'error',
  'result_summary',
] as const;
const isAgentField: ReadonlySet<string> = new Set(agentFields);

/** Bytes of `extra` as JSON. */
export const maxExtraBytes = 8 * 1024;

/**
 * A payload's fields as they stand at the top of the flat form. All others, words of the hub among them, stand in
 * `extra` in the order of their names, as far as they fit. Fields that do not fit are left out.
 */
export function flatFields(payload: JsonObject | null): { readonly extra?: JsonObject } & JsonObject {
  if (payload === null) return {};
  const fields: { [field: string]: unknown } = {};
  for (const name of agentFields) if (Object.hasOwn(payload, name)) fields[name] = payload[name];
  const others = Object.keys(payload).filter((name) => !isAgentField.has(name));
  return others.length === 0 ? fields : { ...fields, ...extraOf(payload, others.sort()) };
}

function extraOf(payload: JsonObject, names: readonly string[]): { readonly extra?: JsonObject } {
  const kept: [name: string, value: unknown][] = [];
  let bytes = 1;
  for (const name of names) {
    const value = payload[name];
    bytes += Buffer.byteLength(JSON.stringify(name)) + Buffer.byteLength(JSON.stringify(value)) + 2;
    if (bytes > maxExtraBytes) break;
    kept.push([name, value]);
  }
  return kept.length === 0 ? {} : { extra: Object.fromEntries(kept) };
}
