// The approvals of an environment: requested, decided, timed out. The store's compare-and-set decides; here are order, time and words.
import type { Approval, Decision } from '../src/domain/approval.ts';
import { HubError, notFound } from '../src/domain/error.ts';
import { agentsOf, dashboardsOf, type Frame } from '../src/domain/frame.ts';
import type { Env } from '../src/domain/ids.ts';
import type { ActorPorts } from './ports.ts';
import type { ActorContext, Effects, Outcome } from './runtime/define.ts';

/** The pending approvals of an environment. */
export interface Pending {
  readonly tenantId: string;
  readonly env: Env;
  readonly waiting: Map<
    string,
    { readonly deadline: number /** By this activation. */; readonly announced: boolean }
  >;
}

type Context = ActorContext<ActorPorts>;

/** Timed out in one go, so that many deadlines at once share the store's commits. */
const atOnce = 200;
/** When the store could not be written, until the next try. */
const againMs = 1000;

const timerOf = (id: string): string => `approval:${id}`;
export const isApprovalTimer = (name: string): boolean => name.startsWith('approval:');

export async function loadPending(tenantId: string, env: Env, context: Context): Promise<Pending> {
  const pending: Pending = { tenantId, env, waiting: new Map() };
  for (const { id, deadline } of await context.ports.store.approvals.pending(tenantId, env)) {
    wait(pending, id, deadline, false, context);
  }
  return pending;
}

/** Announces a repeat of the same id only when this activation has not announced it. */
export async function request(
  pending: Pending,
  approval: Approval,
  context: Context,
): Promise<Outcome<Approval>> {
  const announced = pending.waiting.get(approval.id)?.announced ?? false;
  const stored = await context.ports.store.approvals.insert(approval);
  if (stored.status !== 'pending') return { reply: stored };
  wait(pending, stored.id, stored.deadline, true, context);
  return { reply: stored, frames: announced ? [] : [createdFrame(stored)] };
}

/** @throws HubError not_found (unknown id), conflict (not pending, or past its deadline) */
export async function decide(
  pending: Pending,
  id: string,
  decision: Decision,
  context: Context,
): Promise<Outcome<Approval>> {
  const decided = await context.ports.store.approvals.decide(pending.tenantId, id, decision, context.now());
  if (decided === 'absent') throw notFound('Approval not found.');
  if (decided === 'not_pending') throw new HubError('conflict', 'Approval already decided or timed out.');
  forget(pending, id, context);
  return { reply: decided, frames: decidedFrames(decided) };
}

/** For the sweep. True when this call timed it out. */
export async function expire(pending: Pending, id: string, context: Context): Promise<Outcome<boolean>> {
  const now = context.now();
  const expired = await context.ports.store.approvals.expire(pending.tenantId, id, now);
  if (expired || (pending.waiting.get(id)?.deadline ?? now) <= now) forget(pending, id, context);
  return { reply: expired !== null, frames: expired ? [timeoutFrame(expired)] : [] };
}

/** Times out all that is due, whichever timer rang; what could not be written is tried again. */
export async function expireDue(pending: Pending, context: Context): Promise<Effects> {
  const now = context.now();
  const due: string[] = [];
  for (const [id, { deadline }] of pending.waiting) {
    if (deadline <= now) due.push(id);
    if (due.length === atOnce) break;
  }
  const { store } = context.ports;
  const results = await Promise.allSettled(
    due.map((id) => store.approvals.expire(pending.tenantId, id, now)),
  );
  const frames: Frame[] = [];
  for (const [i, id] of due.entries()) {
    const result = results[i];
    if (result?.status === 'fulfilled') {
      forget(pending, id, context);
      if (result.value) frames.push(timeoutFrame(result.value));
    } else {
      context.setTimer(timerOf(id), now + againMs);
    }
  }
  return { frames };
}

function wait(pending: Pending, id: string, deadline: number, announced: boolean, context: Context): void {
  pending.waiting.set(id, { deadline, announced });
  context.setTimer(timerOf(id), deadline);
}

function forget(pending: Pending, id: string, context: Context): void {
  pending.waiting.delete(id);
  context.clearTimer(timerOf(id));
}

const createdFrame = ({ tenantId, id, agentId, toolName, message }: Approval): Frame => ({
  audience: dashboardsOf(tenantId),
  type: 'approval_created',
  data: { type: 'approval_created', approval_id: id, agent_id: agentId, tool_name: toolName, message },
});

function decidedFrames({ tenantId, env, id, agentId, status, decidedBy }: Approval): Frame[] {
  const type = 'approval_decided';
  const data = { type, approval_id: id, status, decided_by: decidedBy };
  return [
    { audience: agentsOf(tenantId, env), type, data, toAgent: agentId },
    { audience: dashboardsOf(tenantId), type, data },
  ];
}

/** Agents never get it (DECISIONS 4): they poll, and know their own deadline. */
const timeoutFrame = ({ tenantId, id, agentId, toolName }: Approval): Frame => ({
  audience: dashboardsOf(tenantId),
  type: 'approval_timeout',
  data: { type: 'approval_timeout', approval_id: id, agent_id: agentId, tool_name: toolName },
});
