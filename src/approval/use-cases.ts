// Approvals: asked for, read, decided. The environment's actor orders and times them; the store decides who was first.
import { environmentKey } from '../../actors/protocol.ts';
import type { LastSeen } from '../agent/use-cases/last-seen.ts';
import { auditActor } from '../audit/record.ts';
import { listedEnvs, requireRole, seesEnv } from '../shared/access.ts';
import { requireAgent } from '../shared/acting-agent.ts';
import { requireAgentId } from '../shared/agent-ids.ts';
import { scopeTest } from '../shared/agent-scope.ts';
import { HubError, notFound } from '../shared/error.ts';
import type { Page } from '../shared/ports/page.ts';
import { actorName, type KeyPrincipal, type Principal } from '../shared/principal.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import { type ApprovalFilter, type ApprovalPageRequest, expire, type PendingPageRequest } from './port.ts';
import {
  type Approval,
  type ApprovalRequest,
  type Decision,
  largeArgs,
  maxInlineArgs,
  pendingApproval,
  withdrawnVia,
} from './record.ts';
import { alreadyEnded, asSeen, isDue } from './rules/state.ts';

/** Identity of a request, which makes repeats recognizable. */
export interface RequestIdentity {
  /** The approval's id. */
  readonly id?: string | null;
  readonly idempotencyKey?: string | null;
}

/** A page of the store as everybody sees it from now on. */
export interface ApprovalPage {
  /** The items from the store. Approvals decided since are left out, but count in the offset. */
  readonly items: readonly Approval[];
  readonly more: boolean;
  /** The places among the items of the visible ones. */
  readonly places: readonly number[];
  readonly visible: readonly Approval[];
}

/** The fields that identify a request, beside its agent and its key. Their order belongs to the fingerprint. */
const fingerprintFields = [
  'toolName',
  'toolArgs',
  'message',
  'timeoutSeconds',
  'timeoutEffect',
  'sessionId',
  'callId',
] as const satisfies readonly (keyof ApprovalRequest)[];
/** Bytes of JSON. */
const maxArgs = 1_048_576;
/** Time after a request for which its answer may be asked for again (actors/approvals.ts), in milliseconds. */
const repeatMs = 10_000;
/** The store's list shows what is due as timed out, for at most so long before it is written. */
const lazyMs = 15_000;
/** A decision that failed sooner is asked for once more; later somebody has waited long enough. */
const againWithinMs = 2_000;
/** Of a tenant, timed out while a list is read; the sweep takes the rest within seconds. */
const maxDue = 2_000;

const unknown = () => notFound('Approval not found.');

type Ports = { readonly lastSeen: LastSeen } & Pick<
  AppPorts,
  'store' | 'actors' | 'clock' | 'secrets' | 'log' | 'settings' | 'meters'
>;

export class Approvals {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /**
   * Creates a pending approval, under the identity's id if it has one. A repeat returns the existing approval. So does
   * the same request with the same idempotency key, and the same request within 10 s if it has neither.
   * @param refusal thrown unless the request is a repeat; null: a new approval may be created
   * @throws HubError bad_request (the agent's id), forbidden, payload_too_large, quota_exceeded, disk_full, overloaded,
   *   unavailable
   */
  async request(
    principal: KeyPrincipal,
    request: ApprovalRequest,
    { id: sentId = null, idempotencyKey = null }: RequestIdentity,
    refusal: HubError | null = null,
  ): Promise<Approval> {
    const { store, clock, secrets, actors, lastSeen, log } = this.#ports;
    const { tenantId, env, keyId } = principal;
    const { agentId, namedAgentId = null } = request;
    requireAgent(principal, agentId);
    if (namedAgentId !== null) requireAgent(principal, namedAgentId);
    await requireAgentId(store.agents, tenantId, agentId);
    const now = clock.now();
    const fingerprint = this.#fingerprintOf(principal, request, idempotencyKey);
    // The same idempotency key with another body is another request.
    const isKnown = sentId !== null || idempotencyKey !== null;
    const id = sentId ?? (idempotencyKey === null ? secrets.uuid() : uuidOf(fingerprint));
    if (refusal !== null) {
      const repeated = await this.#findRepeated(principal, isKnown ? { id } : { fingerprint });
      if (repeated === null) throw refusal;
      return { ...repeated, toolArgs: request.toolArgs };
    }
    const { argsBytes, isCreated } = await this.#createArgs(principal, request, id, now);
    const approval = pendingApproval(request, { id, tenantId, env, argsBytes, createdAt: now });
    const stored = await actors
      .ask('environment', environmentKey(tenantId, env), 'requestApproval', {
        approval,
        keyId,
        ...(isKnown ? {} : { fingerprint }),
      })
      .catch(async (error: unknown) => {
        if (isCreated && !mayBeStored(error)) await this.#removeArgs(approval);
        throw error;
      });
    await lastSeen.touch(principal, new Set([agentId])).catch((err: unknown) => {
      log.warn({ err, approvalId: id }, 'cannot register an agent that requested an approval');
    });
    // Answered with an earlier approval, which has its own.
    if (stored.id !== id && argsBytes > maxInlineArgs) await store.approvals.removeArgs(tenantId, id);
    return { ...stored, toolArgs: request.toolArgs };
  }

  /**
   * As everybody sees it from now on, with its arguments.
   * @throws HubError not_found, also for what a key may not read
   */
  async get(principal: Principal, id: string): Promise<Approval> {
    const approval = await this.#ports.store.approvals.getWhole(principal.tenantId, id);
    if (!approval || !isSeen(principal, approval)) throw unknown();
    if (principal.actor.kind === 'key') await this.#noteRead(approval);
    return { ...(await this.#expireIfDue(approval, this.#ports.clock.now())), toolArgs: approval.toolArgs };
  }

  /** @throws HubError forbidden, not_found, conflict (decided or timed out already), overloaded, unavailable */
  async decide(
    principal: Principal,
    id: string,
    decision: Pick<Decision, 'approved' | 'reason' | 'decidedVia'>,
  ): Promise<Approval> {
    const { tenantId, actor } = principal;
    requireRole(principal, 'approver');
    const approval = await this.#ports.store.approvals.getWhole(tenantId, id);
    if (!approval || !seesEnv(principal, approval.env)) throw unknown();
    requireRole(principal, 'approver', approval.env);
    return this.#decideBy(principal, approval, { decidedBy: actorName(actor), ...decision });
  }

  /**
   * Ends the agent's own question: it is denied by the agent.
   * @throws HubError not_found (also for another agent's), conflict (decided or timed out already), overloaded,
   *   unavailable
   */
  async withdraw(principal: KeyPrincipal, id: string): Promise<Approval> {
    const { tenantId, agentId } = principal;
    const approval = await this.#ports.store.approvals.getWhole(tenantId, id);
    if (!approval || !isSeen(principal, approval) || approval.agentId !== agentId) throw unknown();
    return this.#decideBy(principal, approval, {
      ...{ approved: false, reason: null },
      decidedBy: agentId,
      decidedVia: withdrawnVia,
    });
  }

  /** Newest first, in the environment that the principal sees. @throws HubError search_timeout */
  async list(principal: Principal, filter: ApprovalFilter, page: ApprovalPageRequest): Promise<ApprovalPage> {
    const { store, clock } = this.#ports;
    const now = clock.now();
    const { tenantId } = principal;
    const { items, more } = await store.approvals.list(tenantId, within(principal, filter), page, now);
    const current = await this.#expireDue(tenantId, items, now);
    const { status } = filter;
    return visiblePage({ items: current, more }, (approval) => !status || approval.status === status, items);
  }

  /** Pending ones alone, the first to expire first, in the environments in sight. @throws HubError search_timeout */
  async listPending(
    principal: Principal,
    filter: Omit<ApprovalFilter, 'status'>,
    page: PendingPageRequest,
  ): Promise<ApprovalPage> {
    const { store, clock } = this.#ports;
    const inSight = within(principal, filter);
    const pending = await store.approvals.listPending(principal.tenantId, inSight, page, clock.now());
    return visiblePage(pending, ({ status }) => status === 'pending');
  }

  /** Number of approvals in the list. @throws HubError search_timeout */
  async count(principal: Principal, filter: ApprovalFilter): Promise<number> {
    const { store, clock } = this.#ports;
    return store.approvals.count(principal.tenantId, within(principal, filter), clock.now());
  }

  /**
   * The approval as everybody sees it from now on. One that is due is timed out in the store before anybody reads so: a
   * decision that is being written at this moment would otherwise still win after its approval was read as timed out.
   */
  async #expireIfDue(approval: Approval, now: number): Promise<Approval> {
    if (!isDue(approval, now)) return approval;
    const { store, actors, log } = this.#ports;
    const { tenantId, env, id } = approval;
    const expired = await expire(this.#ports, approval, now);
    if (!expired) return asSeen((await store.approvals.get(tenantId, id)) ?? approval, now);
    // The sweep would have it announced as well, 2 s later.
    actors
      .tell('environment', environmentKey(tenantId, env), 'announceApproval', { id })
      .catch((err: unknown) =>
        log.debug({ err, approvalId: id }, 'cannot announce an expired approval; the next sweep repeats it'),
      );
    return expired;
  }

  /**
   * The same for a list, whose store shows what is due as timed out already: those that are not written yet are found
   * with one query.
   */
  async #expireDue(tenantId: string, list: readonly Approval[], now: number): Promise<readonly Approval[]> {
    const isFresh = ({ status, deadline }: Approval) => status === 'timeout' && now - deadline < lazyMs;
    if (!list.some(isFresh)) return list;
    const due = new Set(
      (await this.#ports.store.approvals.listDueOf(tenantId, now, maxDue)).map(({ id }) => id),
    );
    return Promise.all(
      list.map((approval) =>
        due.has(approval.id) ? this.#expireIfDue({ ...approval, status: 'pending' }, now) : approval,
      ),
    );
  }

  /** A caller that reads an approval by its id has received the answer to its request. A hint: it may be lost. */
  async #noteRead({ tenantId, env, id, status, createdAt }: Approval): Promise<void> {
    const { actors, clock, log } = this.#ports;
    if (status !== 'pending' || clock.now() - createdAt >= repeatMs) return;
    await actors
      .tell('environment', environmentKey(tenantId, env), 'approvalRead', { id })
      .catch((err: unknown) => log.debug({ err, approvalId: id }, 'cannot note that an approval was read'));
  }

  /** Decides an approval that the caller may decide. @throws HubError conflict, overloaded, unavailable */
  async #decideBy(
    principal: Principal,
    approval: Approval,
    decision: Omit<Decision, 'id'>,
  ): Promise<Approval> {
    const { secrets, actors, clock } = this.#ports;
    // An ended approval never changes, so the actor need not be asked.
    if (approval.status !== 'pending') throw alreadyEnded();
    const key = environmentKey(principal.tenantId, approval.env);
    const message = {
      id: approval.id,
      decision: { id: secrets.uuid(), ...decision },
      actor: auditActor(principal),
    };
    const ask = () => actors.ask('environment', key, 'decideApproval', message);
    const begun = clock.monotonic();
    const decided = await ask().catch((error: unknown) => {
      // Its owner may have changed while it was written. Told by its id, the decision is made once.
      const isAway = error instanceof HubError && error.code === 'unavailable';
      if (!isAway || clock.monotonic() - begun > againWithinMs) throw error;
      return ask();
    });
    return { ...decided, toolArgs: approval.toolArgs };
  }

  /** The approval that a request repeats; null: the request is none. */
  async #findRepeated(
    { tenantId, env }: KeyPrincipal,
    repeat: { readonly id: string } | { readonly fingerprint: string },
  ): Promise<Approval | null> {
    const { store, actors, clock } = this.#ports;
    if ('fingerprint' in repeat)
      return actors.ask('environment', environmentKey(tenantId, env), 'findRepeatedApproval', repeat);
    const approval = await store.approvals.get(tenantId, repeat.id);
    return approval && this.#expireIfDue(approval, clock.now());
  }

  /** The fields that identify a request. */
  #fingerprintOf(
    { keyId, env }: KeyPrincipal,
    request: ApprovalRequest,
    idempotencyKey: string | null,
  ): string {
    const fields = fingerprintFields.map((field) => request[field]);
    const identity = [keyId, env, request.agentId, idempotencyKey, ...fields];
    return this.#ports.secrets.sha256(JSON.stringify(identity));
  }

  /**
   * Keeps arguments that do not go with their approval; returns the bytes of any, and whether this call stored them.
   * @throws HubError payload_too_large, quota_exceeded, disk_full
   */
  async #createArgs(
    { tenantId, env, keyId }: KeyPrincipal,
    { toolArgs }: ApprovalRequest,
    id: string,
    createdAt: number,
  ): Promise<{ readonly argsBytes: number; readonly isCreated: boolean }> {
    if (toolArgs === null) return { argsBytes: 0, isCreated: false };
    const json = JSON.stringify(toolArgs);
    const bytes = Buffer.byteLength(json);
    // A number may take more room than it was sent with.
    if (bytes > maxArgs) {
      throw new HubError('payload_too_large', `tool_args must not be larger than ${maxArgs} bytes of JSON.`);
    }
    if (bytes <= maxInlineArgs) return { argsBytes: bytes, isCreated: false };
    const { store, settings } = this.#ports;
    const { largeArgsBytes: quota, largeArgsDays: days } = settings.quotas;
    const kept = await store.approvals.createArgs(
      { tenantId, env, keyId, id, json, bytes, createdAt },
      quota,
    );
    if (kept !== 'full') return { argsBytes: bytes, isCreated: kept === 'created' };
    const age =
      days === 0 ? 'They have no age limit' : `The hub removes them ${days} days after the approval request`;
    throw new HubError(
      'quota_exceeded',
      `Large tool_args in approvals (over ${largeArgs} bytes) fill their quota of ${quota} bytes in '${env}'. ` +
        `The hub evicts neither those in pending approvals nor those from API keys that use less space. ${age}. ` +
        'Decide pending approvals, send smaller tool_args, or raise LARGE_ARGUMENTS_MAX_BYTES.',
    );
  }

  /** Drops what was kept for an approval that was refused, unless the same request was stored by another call. */
  async #removeArgs({ tenantId, id }: Approval): Promise<void> {
    const { store, log } = this.#ports;
    try {
      if ((await store.approvals.get(tenantId, id)) === null) await store.approvals.removeArgs(tenantId, id);
    } catch (err) {
      log.warn({ err, approvalId: id }, 'cannot remove the stored arguments of a refused approval');
    }
  }
}

/** True for an error after which the approval may be stored all the same. */
const mayBeStored = (error: unknown): boolean =>
  !(error instanceof HubError) || error.code === 'unavailable' || error.code === 'internal';

/** @param items the same as the store has them */
function visiblePage(
  { items: current, more }: Page<Approval>,
  isVisible: (approval: Approval) => boolean,
  items = current,
): ApprovalPage {
  const places = current.flatMap((approval, i) => (isVisible(approval) ? [i] : []));
  return { items, more, places, visible: places.flatMap((place) => current[place] ?? []) };
}

/** A key sees the approvals of its environment and its agents, a person those of the environments of its roles. */
const isSeen = (principal: Principal, { env, agentId }: Approval): boolean =>
  seesEnv(principal, env) && scopeTest(principal)(agentId);

/** @throws HubError forbidden when the principal is bound to other agents, or to several and names none */
function within(principal: Principal, filter: ApprovalFilter): ApprovalFilter {
  const env = listedEnvs(principal, filter.env);
  if (principal.agentPattern === null) return { ...filter, env };
  const agentId = filter.agentId ?? principal.agentId;
  if (agentId === null) {
    throw new HubError('forbidden', 'This API key is restricted to some agents. Name one with agent_id.');
  }
  requireAgent(principal, agentId);
  return { ...filter, env, agentId };
}

/** A UUID of version 8 (RFC 9562) made of a digest's first 128 bits. */
const uuidOf = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
