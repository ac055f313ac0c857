// The parts of an approval request that both APIs read alike, and approvals in the words of the console API.

import { z } from 'zod';
import type { JsonObject } from '../../contract/record.ts';
import { instant } from '../../http/contract/fields.ts';
import { iso } from '../../http/contract/render.ts';
import { validationFailed } from '../../http/contract/validation.ts';
import { truncated } from '../../shared/truncated.ts';
import { type Approval, approvalRecord, type TimeoutEffect, type timeoutWord } from '../record.ts';
import { assigneeOf } from '../rules/state.ts';

/** Bytes of JSON. */
const maxPrincipal = 16 * 1024;

/** The agent that asks: the header's, else the body's. @throws HubError validation_failed when neither names one */
export function askingAgents(
  { agentId: sender }: { readonly agentId: string | null },
  bodyAgentId: string | null | undefined,
): { readonly agentId: string; readonly namedAgentId: string | null } {
  return { agentId: sender ?? bodyAgentId ?? agentMissing(), namedAgentId: bodyAgentId ?? null };
}

/** @throws HubError validation_failed */
export function agentMissing(): never {
  throw validationFailed([
    { loc: ['body', 'agent_id'], msg: 'is required when the agent-id header is absent' },
  ]);
}

/** Principal on whose behalf the agent calls. Its size replaces a large one, so that the approval is still made. */
export function principalShown(principal: JsonObject | null | undefined): JsonObject | null {
  if (!principal) return null;
  const bytes = Buffer.byteLength(JSON.stringify(principal));
  return bytes > maxPrincipal ? { ...truncated(bytes) } : principal;
}

/** Null: the request names no effect. */
export function timeoutEffectOf(word: z.output<typeof timeoutWord> | null): TimeoutEffect | null {
  return word === 'block' ? 'deny' : word;
}

export const render = (approval: Approval) => approvalRecord.render('console', approval);

/** With the person who has taken it. */
export function renderForPeople(approval: Approval, now: number) {
  const assignee = assigneeOf(approval, now);
  return { ...render(approval), assignee: assignee && { ...assignee, since: iso(assignee.since) } };
}

/** A person who has taken an approval. */
export const assignee = z.object({ id: z.string(), name: z.string(), since: instant });
