// What both APIs read alike of a request for an approval, and approvals in the words of the console API.

import type { JsonObject } from '../contract/record.ts';
import { truncated } from '../http/contract/listed.ts';
import { iso, isoOrNull } from '../http/contract/render.ts';
import { validationFailed } from '../http/contract/validation.ts';
import { type Approval, assigneeOf } from './record.ts';

/** Bytes of JSON. */
const maxPrincipal = 16 * 1024;

/** The agent that asks: the header's, else the body's. @throws HubError validation_failed when neither names one */
export function askingAgents(
  { agentId: sender }: { readonly agentId: string | null },
  named: string | null | undefined,
): { readonly agentId: string; readonly namedAgentId: string | null } {
  return { agentId: sender ?? named ?? agentMissing(), namedAgentId: named ?? null };
}

/** @throws HubError validation_failed */
export function agentMissing(): never {
  throw validationFailed([
    { loc: ['body', 'agent_id'], msg: 'is required when the agent-id header is absent' },
  ]);
}

/** On whose behalf the agent calls. What is too large to be kept must not cost the approval. */
export function principalShown(principal: JsonObject | null | undefined): JsonObject | null {
  if (!principal) return null;
  const bytes = Buffer.byteLength(JSON.stringify(principal));
  return bytes > maxPrincipal ? { ...truncated(bytes) } : principal;
}

/** Where an approval stands in the list, as a cursor holds it. */
export const placeOf = ({ createdAt, id }: Pick<Approval, 'createdAt' | 'id'>): string =>
  JSON.stringify([createdAt, id]);

export function readPlace(text: string): Pick<Approval, 'createdAt' | 'id'> {
  const [createdAt, id] = JSON.parse(text) as [number, string];
  return { createdAt, id };
}

const argsOf = ({ toolArgs, argsBytes }: Approval) =>
  toolArgs ?? (argsBytes > 0 ? truncated(argsBytes) : null);

export const render = (approval: Approval) => ({
  id: approval.id,
  status: approval.status,
  agent_id: approval.agentId,
  tool_name: approval.toolName,
  tool_args: argsOf(approval),
  message: approval.message,
  env: approval.env,
  timeout_seconds: approval.timeoutSeconds,
  timeout_effect: approval.timeoutEffect,
  decision_source: approval.decisionSource,
  contract_name: approval.contractName,
  contracts: approval.contracts === null ? null : [...approval.contracts],
  principal: approval.principal,
  session_id: approval.sessionId,
  call_id: approval.callId,
  decided_by: approval.decidedBy,
  decided_at: isoOrNull(approval.decidedAt),
  decision_reason: approval.decisionReason,
  decided_via: approval.decidedVia,
  created_at: iso(approval.createdAt),
  expires_at: iso(approval.deadline),
});

/** With the person who has taken it. */
export function renderForPeople(approval: Approval, now: number) {
  const assignee = assigneeOf(approval, now);
  return { ...render(approval), assignee: assignee && { ...assignee, since: iso(assignee.since) } };
}
