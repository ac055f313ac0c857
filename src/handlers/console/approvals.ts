// Approvals: asked for, read, decided. The environment's actor orders and times them; the store decides who was first.
import type { z } from 'zod';
import { environmentKey } from '../../../actors/protocol.ts';
import type { approvalRoutes } from '../../api/approvals.ts';
import { type Caller, List } from '../../api/call.ts';
import { truncated } from '../../api/listed.ts';
import { validationFailed } from '../../api/validation.ts';
import { requireAgent } from '../../app/acting-agent.ts';
import { enforceLimit } from '../../app/rate-limit.ts';
import { type AgentScope, scopeTest } from '../../domain/agent-scope.ts';
import {
  type Approval,
  asSeen,
  type Decision,
  isDue,
  largeArgs,
  maxInlineArgs,
} from '../../domain/approval.ts';
import { auditActor, timeoutNote } from '../../domain/audit.ts';
import { HubError, notFound } from '../../domain/error.ts';
import type { Env } from '../../domain/ids.ts';
import type { JsonObject } from '../../domain/library.ts';
import { limitNames } from '../../domain/limit-names.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import { actorName, type Principal } from '../../domain/principal.ts';
import type { ApprovalFilter, ApprovalPageRequest } from '../../ports/approvals.ts';
import { openCursor, sealCursor } from '../common/cursor.ts';
import type { Handlers, Hub } from '../common/hub.ts';
import { iso, isoOrNull } from '../common/render.ts';
import { principalOf } from './principal.ts';

type KeyCaller = Extract<Caller, { kind: 'key' }>;
type NewApproval = z.output<typeof approvalRoutes.createApproval.body>;

const windowMs = 60_000;
/** Agent ids are what a client says of itself: those of one key and client address are bounded together. */
const maxPerKey = 600;

/** Bytes of JSON: the limit of the body. */
const maxArgs = 1_048_576;

/** Bytes of JSON. */
const maxPrincipal = 16 * 1024;

/** The store's list shows what is due as timed out, for at most so long before it is written. */
const lazyMs = 15_000;
/** Of all tenants; the sweep takes as many in a few seconds. */
const maxDue = 2_000;

const unknown = () => notFound('Approval not found.');

export const approvals: Handlers<typeof approvalRoutes> = {
  createApproval: (hub, { body }, caller, request) =>
    requestApproval(hub, caller, body, request.header('idempotency-key')),

  async listApprovals(hub, { query }, caller) {
    const { tenantId } = caller;
    const { status, env, agent_id: agentId, since, until, search, cursor, limit, offset } = query;
    const filter = { env: env ?? null, ...omitUndefined({ status, agentId, since, until, search }) };
    const scope = { tenantId, list: 'approvals' } as const;
    const after = cursor === undefined ? undefined : readPlace(openCursor(hub, scope, cursor));
    const page = { limit, offset, ...omitUndefined({ after }) };
    const { items, more, places, shown } = await listSettled(hub, tenantId, filter, page);
    return new List(shown.map(render), (sent) => {
      const next = places[sent] ?? items.length;
      if (next >= items.length && !more) return null;
      // Who counts goes on counting; new approvals move what a number names, and a cursor not.
      if (offset > 0 && after === undefined) return { offset: offset + next };
      const last = items[next - 1];
      if (!last) return null;
      return { cursor: sealCursor(hub, scope, JSON.stringify([last.createdAt, last.id])), limit, offset: 0 };
    });
  },

  async getApproval(hub, { params }, caller) {
    const key = caller.kind === 'key' ? caller : null;
    return render(await readApproval(hub, caller.tenantId, params.approval_id, key));
  },

  async decideApproval(hub, { params, body }, caller) {
    const decided = await decideApproval(hub, principalOf(caller), params.approval_id, {
      approved: body.approved,
      reason: body.reason ?? null,
      decidedVia: body.decided_via ?? 'console',
    });
    return render(decided);
  },
};

/**
 * One approval as everybody sees it from now on, with its arguments.
 * @param key the API key that reads; null: a person, who sees all of the tenant's
 * @throws HubError not_found
 */
export async function readApproval(
  hub: Hub,
  tenantId: string,
  id: string,
  key: KeyReader | null,
): Promise<Approval> {
  const approval = await hub.store.approvals.getWhole(tenantId, id);
  if (!approval || (key && !concerns(key, approval))) throw unknown();
  if (key) await noteRead(hub, approval);
  return { ...(await settle(hub, approval, hub.clock.now())), toolArgs: approval.toolArgs };
}

/** @throws HubError not_found, conflict (decided or timed out already) */
export async function decideApproval(
  hub: Hub,
  principal: Principal,
  id: string,
  decision: Pick<Decision, 'approved' | 'reason' | 'decidedVia'>,
): Promise<Approval> {
  const { tenantId } = principal;
  const approval = await hub.store.approvals.getWhole(tenantId, id);
  if (!approval) throw unknown();
  const decided = await hub.actors.ask(
    'environment',
    environmentKey(tenantId, approval.env),
    'decideApproval',
    {
      id: approval.id,
      decision: { id: hub.secrets.uuid(), decidedBy: actorName(principal.actor), ...decision },
      actor: auditActor(principal),
    },
  );
  return { ...decided, toolArgs: approval.toolArgs };
}

/** A page of the store as everybody sees it from now on. What was decided meanwhile is not shown, but counts in the offset. */
export async function listSettled(
  hub: Hub,
  tenantId: string,
  filter: ApprovalFilter,
  page: ApprovalPageRequest,
): Promise<{
  readonly items: readonly Approval[];
  readonly more: boolean;
  /** The places among the items of those that are shown. */
  readonly places: readonly number[];
  readonly shown: readonly Approval[];
}> {
  const now = hub.clock.now();
  const { status } = filter;
  const { items, more } = await hub.store.approvals.list(tenantId, filter, page, now);
  const settled = await settleAll(hub, items, now);
  const places = settled.flatMap((approval, i) => (!status || approval.status === status ? [i] : []));
  return { items, more, places, shown: places.flatMap((place) => settled[place] ?? []) };
}

/** A cursor was sealed by this hub: what it holds is what was written. */
function readPlace(text: string): Pick<Approval, 'createdAt' | 'id'> {
  const [createdAt, id] = JSON.parse(text) as [number, string];
  return { createdAt, id };
}

/** An API key, as far as it says which approvals it may read; without an environment those of all. */
export interface KeyReader extends AgentScope {
  readonly env: Env | null;
}

const concerns = (key: KeyReader, { env, agentId }: Approval): boolean =>
  (key.env === null || env === key.env) && scopeTest(key)(agentId);

/**
 * The approval as everybody sees it from now on. One that is due is timed out in the store before anybody reads so: a decision that is being
 * written at this moment would otherwise still win after its approval was read as timed out.
 */
async function settle(hub: Hub, approval: Approval, now: number): Promise<Approval> {
  if (!isDue(approval, now)) return approval;
  const { tenantId, env, id } = approval;
  const note = timeoutNote(approval, hub.secrets.uuid());
  const expired = await hub.store.noting({ note }).approvals.expire(tenantId, id, now);
  if (!expired) return asSeen((await hub.store.approvals.get(tenantId, id)) ?? approval, now);
  // The sweep would have it announced as well, 2 s later.
  hub.actors
    .tell('environment', environmentKey(tenantId, env), 'announceApproval', { id })
    .catch((err: unknown) => hub.log.debug({ err, id }, 'a timeout is announced by the sweep'));
  return expired;
}

/** The same for a list, whose store shows what is due as timed out already: those that are not written yet are found with one query. */
async function settleAll(hub: Hub, list: readonly Approval[], now: number): Promise<readonly Approval[]> {
  const isFresh = ({ status, deadline }: Approval) => status === 'timeout' && now - deadline < lazyMs;
  if (!list.some(isFresh)) return list;
  const due = new Set((await hub.store.approvals.due(now, maxDue)).map(({ id }) => id));
  return Promise.all(
    list.map((approval) =>
      due.has(approval.id) ? settle(hub, { ...approval, status: 'pending' }, now) : approval,
    ),
  );
}

/**
 * Makes a pending approval of the caller's agent (the header's, else the body's).
 * @throws HubError validation_failed when neither names the agent; forbidden, payload_too_large, quota_exceeded, rate_limited, overloaded, unavailable
 */
export const requestApproval = async (
  hub: Hub,
  caller: KeyCaller,
  body: NewApproval,
  idempotencyKey: string | null = null,
) => render(await askForApproval(hub, caller, body, idempotencyKey));

/** The same, as the record. */
export async function askForApproval(
  hub: Hub,
  caller: KeyCaller,
  body: NewApproval,
  idempotencyKey: string | null,
): Promise<Approval> {
  const agentId = caller.agentId ?? body.agent_id ?? null;
  if (agentId === null) {
    throw validationFailed([
      { loc: ['body', 'agent_id'], msg: 'is required when the agent-id header is absent' },
    ]);
  }
  const { tenantId, env } = caller;
  for (const named of [agentId, body.agent_id ?? agentId]) requireAgent(caller, named);
  const ofAgent = limitNames.approvalsOfAgent(tenantId, env, agentId);
  await limit(hub, ofAgent, hub.settings.approvalsPerMinute);
  await limit(hub, limitNames.approvalsOfKey(caller), Math.max(maxPerKey, hub.settings.approvalsPerMinute));
  const now = hub.clock.now();
  const fingerprint = fingerprintOf(hub, caller, agentId, body, idempotencyKey);
  // The same Idempotency-Key with another body is another request.
  const id = idempotencyKey === null ? hub.secrets.uuid() : uuidOf(fingerprint);
  const toolArgs = body.tool_args ?? null;
  const argsBytes = await keepArgs(hub, caller, id, toolArgs, now);
  const approval: Approval = {
    id,
    tenantId,
    status: 'pending',
    agentId,
    toolName: body.tool_name,
    toolArgs: argsBytes > maxInlineArgs ? null : toolArgs,
    argsBytes,
    message: body.message,
    env,
    timeoutSeconds: body.timeout,
    timeoutEffect: body.timeout_effect ?? (body.timeout_action === 'allow' ? 'allow' : 'deny'),
    decisionSource: body.decision_source ?? null,
    contractName: body.contract_name ?? null,
    contracts: body.contracts ?? null,
    principal: keptPrincipal(body.principal ?? null),
    sessionId: body.session_id ?? null,
    callId: body.call_id ?? null,
    decidedBy: null,
    decidedAt: null,
    decisionReason: null,
    decidedVia: null,
    createdAt: now,
    deadline: now + body.timeout * 1000,
  };
  const key = environmentKey(tenantId, env);
  const stored = await hub.actors
    .ask('environment', key, 'requestApproval', {
      approval,
      keyId: caller.keyId,
      ...(idempotencyKey === null ? { fingerprint } : {}),
    })
    .catch((error: unknown) => forgetArgs(hub, approval, error));
  // Answered with an earlier approval, which has its own.
  if (stored.id !== id && argsBytes > maxInlineArgs) await hub.store.approvals.dropArgs(tenantId, id);
  return { ...stored, toolArgs };
}

/** How long after a request its answer may still be asked for again (actors/approvals.ts). */
const repeatMs = 10_000;

/** Whoever reads an approval by its id has got the answer to its request. */
async function noteRead(hub: Hub, { tenantId, env, id, status, createdAt }: Approval): Promise<void> {
  if (status !== 'pending' || hub.clock.now() - createdAt >= repeatMs) return;
  await hub.actors.ask('environment', environmentKey(tenantId, env), 'approvalRead', { id });
}

/** What makes two requests the same one. */
function fingerprintOf(
  { secrets }: Hub,
  { keyId }: KeyCaller,
  agentId: string,
  body: NewApproval,
  idempotencyKey: string | null,
): string {
  const { tool_name, tool_args, message, timeout, timeout_effect, timeout_action, session_id, call_id } =
    body;
  const effect = timeout_effect ?? timeout_action ?? null;
  const asked = [tool_name, tool_args, message, timeout, effect, session_id ?? null, call_id ?? null];
  return secrets.sha256(JSON.stringify([keyId, agentId, idempotencyKey, ...asked]));
}

/** A UUID of version 8 (RFC 9562) made of a digest's first 128 bits. */
const uuidOf = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;

/** What is too large to be kept must not cost the approval. */
function keptPrincipal(principal: JsonObject | null): JsonObject | null {
  const bytes = Buffer.byteLength(JSON.stringify(principal));
  return bytes > maxPrincipal ? { ...truncated(bytes) } : principal;
}

/** Keeps arguments that do not go with their approval; returns the bytes of any. @throws HubError payload_too_large, quota_exceeded, disk_full */
async function keepArgs(
  hub: Hub,
  { tenantId, env }: KeyCaller,
  id: string,
  toolArgs: JsonObject | null,
  createdAt: number,
): Promise<number> {
  if (toolArgs === null) return 0;
  const json = JSON.stringify(toolArgs);
  const bytes = Buffer.byteLength(json);
  // A number may take more room than it was sent with.
  if (bytes > maxArgs) {
    throw new HubError('payload_too_large', `tool_args must not be larger than ${maxArgs} bytes of JSON.`);
  }
  if (bytes <= maxInlineArgs) return bytes;
  const { largeArgsBytes: quota, largeArgsDays: days } = hub.settings.quotas;
  const kept = await hub.store.approvals.keepArgs({ tenantId, env, id, json, bytes, createdAt }, quota);
  if (kept === 'kept') return bytes;
  const room = days === 0 ? 'They are kept for ever' : `They make room ${days} days after their approval`;
  throw new HubError(
    'quota_exceeded',
    `Large tool_args of approvals (over ${largeArgs} bytes) fill the ${quota} bytes that they may take in '${env}'. ` +
      `${room}. Ask with smaller ones, or have LARGE_ARGUMENTS_MAX_BYTES raised.`,
  );
}

/** Drops what was kept for an approval that was refused. Of one that nobody answered for, it is not known whether it was. @throws the refusal */
async function forgetArgs(hub: Hub, { tenantId, id, argsBytes }: Approval, refusal: unknown): Promise<never> {
  const isRefused = refusal instanceof HubError && refusal.code !== 'unavailable';
  if (isRefused && argsBytes > maxInlineArgs) {
    await hub.store.approvals.dropArgs(tenantId, id).catch((err: unknown) => {
      hub.log.warn({ err, id }, 'the arguments of a refused approval are left');
    });
  }
  throw refusal;
}

function limit({ limits }: Hub, name: string, max: number): Promise<void> {
  const message = 'Too many approval requests. Please slow down.';
  return enforceLimit(limits, { name, max, windowMs, message });
}

const argsOf = ({ toolArgs, argsBytes }: Approval) =>
  toolArgs ?? (argsBytes > 0 ? truncated(argsBytes) : null);

const render = (approval: Approval) => ({
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
