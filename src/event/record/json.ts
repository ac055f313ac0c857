// Events and manifests as JSON in snake_case: as agents send them, and as stores and tenant files keep them. Stored
// bytes follow the order of keys in this file.
import type { Isolation } from 'reeve-agent/rules';
import type { JsonObject } from '../../contract/record.ts';
import { parseInstant } from '../../shared/instant.ts';
import type { JsonForm } from '../../shared/record-fields.ts';
import type { EventInput, EventOutcome, StoredManifest } from '../record.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

export interface EventJson {
  readonly call_id: string;
  readonly agent_id: string;
  readonly tool_name: string;
  readonly verdict: string;
  readonly mode: string;
  readonly timestamp: number;
  readonly payload: JsonObject | null;
  readonly sent_by?: string | undefined;
  readonly unnamed?: true | undefined;
  readonly flat?: true | undefined;
  readonly given_call_id?: string | undefined;
  readonly truncated?: readonly string[] | undefined;
}

export const toEventJson = (event: EventInput): EventJson => ({
  call_id: event.callId,
  agent_id: event.agentId,
  tool_name: event.toolName,
  verdict: event.verdict,
  mode: event.mode,
  timestamp: event.timestamp,
  payload: event.payload,
  sent_by: event.sentBy,
  unnamed: event.unnamed,
  flat: event.flat,
  given_call_id: event.givenCallId,
  truncated: event.truncated,
});

export function fromEventJson(json: EventJson): EventInput {
  const event: Writable<EventInput> = {
    callId: json.call_id,
    agentId: json.agent_id,
    toolName: json.tool_name,
    verdict: json.verdict,
    mode: json.mode,
    timestamp: json.timestamp,
    payload: json.payload,
  };
  // Spreads of absent fields take longer than the rest.
  if (json.sent_by !== undefined) event.sentBy = json.sent_by;
  if (json.unnamed) event.unnamed = true;
  if (json.flat) event.flat = true;
  if (json.given_call_id !== undefined) event.givenCallId = json.given_call_id;
  if (json.truncated) event.truncated = json.truncated;
  return event;
}

/**
 * The event of a value for which `isAsSent` was true.
 * @param sender agent of the request; null: the event's own
 */
export function eventAsSent(value: unknown, sender: string | null): EventInput {
  const { call_id, agent_id, tool_name, verdict, mode, timestamp, payload } = value as EventJson;
  return {
    callId: call_id,
    agentId: agent_id,
    toolName: tool_name,
    verdict,
    mode,
    timestamp: parseInstant(String(timestamp)) ?? 0,
    payload,
    ...(sender !== null && sender !== agent_id ? { sentBy: sender } : {}),
  };
}

export interface OutcomeJson {
  readonly verdict: string;
  readonly timestamp: number;
  readonly decision_source: string | null;
  readonly decision_name: string | null;
  readonly reason: string | null;
  readonly sent_by?: string;
  readonly tool_success?: boolean;
  readonly postconditions_passed?: boolean;
  readonly duration_ms?: number;
  readonly error?: string;
  readonly policy_error?: boolean;
  readonly isolation?: Isolation;
  readonly conditions?: string;
}

export function toOutcomeJson(outcome: EventOutcome): OutcomeJson {
  const json: Writable<OutcomeJson> = {
    verdict: outcome.verdict,
    timestamp: outcome.timestamp,
    decision_source: outcome.decisionSource,
    decision_name: outcome.decisionName,
    reason: outcome.reason,
  };
  if (outcome.sentBy !== undefined) json.sent_by = outcome.sentBy;
  if (outcome.toolSuccess !== undefined) json.tool_success = outcome.toolSuccess;
  if (outcome.postconditionsPassed !== undefined) json.postconditions_passed = outcome.postconditionsPassed;
  if (outcome.durationMs !== undefined) json.duration_ms = outcome.durationMs;
  if (outcome.error !== undefined) json.error = outcome.error;
  if (outcome.policyError !== undefined) json.policy_error = outcome.policyError;
  if (outcome.isolation !== undefined) json.isolation = outcome.isolation;
  if (outcome.conditions !== undefined) json.conditions = outcome.conditions;
  return json;
}

export function fromOutcomeJson(json: OutcomeJson): EventOutcome {
  const outcome: Writable<EventOutcome> = {
    verdict: json.verdict,
    timestamp: json.timestamp,
    decisionSource: json.decision_source,
    decisionName: json.decision_name,
    reason: json.reason,
  };
  if (json.sent_by !== undefined) outcome.sentBy = json.sent_by;
  if (json.tool_success !== undefined) outcome.toolSuccess = json.tool_success;
  if (json.postconditions_passed !== undefined) outcome.postconditionsPassed = json.postconditions_passed;
  if (json.duration_ms !== undefined) outcome.durationMs = json.duration_ms;
  if (json.error !== undefined) outcome.error = json.error;
  if (json.policy_error !== undefined) outcome.policyError = json.policy_error;
  if (json.isolation !== undefined) outcome.isolation = json.isolation;
  if (json.conditions !== undefined) outcome.conditions = json.conditions;
  return outcome;
}

export interface ManifestJson {
  readonly agent_id: string;
  readonly policy_version: string;
  readonly contracts: StoredManifest['contracts'];
  readonly updatedAt: number;
}

export const toManifestJson = (manifest: StoredManifest): ManifestJson => ({
  agent_id: manifest.agentId,
  policy_version: manifest.policyVersion,
  contracts: manifest.contracts,
  updatedAt: manifest.updatedAt,
});

export const fromManifestJson = (json: ManifestJson): StoredManifest => ({
  agentId: json.agent_id,
  policyVersion: json.policy_version,
  contracts: json.contracts,
  updatedAt: json.updatedAt,
});

/** The form of manifests in both stores. */
export const manifestForm: JsonForm<StoredManifest> = {
  toJson: toManifestJson,
  fromJson: (stored) => fromManifestJson(stored as ManifestJson),
};

/** The text of a manifest in both stores. */
export const manifestText = (manifest: StoredManifest): string => JSON.stringify(toManifestJson(manifest));
export const readManifest = (text: string): StoredManifest =>
  fromManifestJson(JSON.parse(text) as ManifestJson);
