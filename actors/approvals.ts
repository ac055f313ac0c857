// The approvals of an environment: requested, decided, timed out. The store's compare-and-set decides; here are order
// and time. Keeps promises P7 and P20.

import { expire as expireDueApproval } from '../src/approval/port.ts';
import type { Approval, Decision } from '../src/approval/record.ts';
import { alreadyEnded, asSeen, isDue } from '../src/approval/rules/state.ts';
import { type AuditActor, decisionNote, requestNote } from '../src/audit/record.ts';
import { fanOutJob } from '../src/notification/rules/jobs.ts';
import type { Announcement } from '../src/shared/announcement.ts';
import { BoundedMap } from '../src/shared/concurrency/bounded-map.ts';
import { HubError, notFound } from '../src/shared/error.ts';
import type { Env } from '../src/shared/ids.ts';
import { countEnd } from '../src/shared/meters.ts';
import { currentTrace } from '../src/shared/tracing.ts';
import type { ActorPorts } from './ports.ts';
import type { ActorContext, Effects, Outcome } from './runtime/define.ts';

/** The pending approvals of an environment. */
export interface Pending {
  readonly tenantId: string;
  readonly env: Env;
  /** Deadlines by id. */
  readonly waiting: Map<string, number>;
  /**
   * Ids of recent requests that were not read since, by fingerprint. Lost with the activation: then a repeat becomes a
   * new request.
   */
  readonly recent: BoundedMap<string>;
  /**
   * The ids of decisions that were written a moment ago, by approval. Further decisions about the same approval are
   * refused without asking the store, because an ended approval cannot change.
   */
  readonly decided: BoundedMap<string>;
  /** The traces of requests, by approval. Lost with the activation: then a decision has its own trace alone. */
  readonly traces: BoundedMap<string>;
}

type Context = ActorContext<ActorPorts>;

/** Timed out in one go, so that many deadlines at once share the store's commits. */
const atOnce = 200;
/** Pending approvals of an environment: each has its deadline and timer in memory. */
export const maxPending = 100_000;
/** When the store could not be written, until the next try. */
const againMs = 1000;

/** An answer that was lost is asked for again within this time. */
const repeatMs = 10_000;
const maxRecent = 10_000;
/** A race for one approval is over within this time. */
const decidedMs = 60_000;
const maxDecided = 10_000;
const maxTraces = 10_000;

const timerOf = (id: string): string => `approval:${id}`;
export const isApprovalTimer = (name: string): boolean => name.startsWith('approval:');

export async function loadPending(tenantId: string, env: Env, context: Context): Promise<Pending> {
  const pending: Pending = {
    tenantId,
    env,
    waiting: new Map(),
    recent: new BoundedMap(maxRecent),
    decided: new BoundedMap(maxDecided),
    traces: new BoundedMap(maxTraces),
  };
  for (const { id, deadline } of await context.ports.store.approvals.listDeadlines(tenantId, env)) {
    wait(pending, id, deadline, context);
  }
  return pending;
}

/**
 * A repeat of the same id is announced again, and reaches clients once. One of the same fingerprint is answered with
 * the first approval, once, while that is pending. A stored approval that is due times out instead.
 * @throws HubError quota_exceeded when too many are pending
 */
export async function request(
  pending: Pending,
  approval: Approval,
  context: Context,
  fingerprint?: string,
  keyId: string | null = null,
): Promise<Outcome<Approval>> {
  const first = await findRepeated(pending, fingerprint, context);
  if (first) return { reply: first };
  if (pending.waiting.size >= maxPending && !pending.waiting.has(approval.id)) {
    throw new HubError(
      'quota_exceeded',
      `'${pending.env}' has ${maxPending} pending approvals, which is the limit. Decide some, or try ` +
        'again after some have expired.',
    );
  }
  const note = requestNote(approval, keyId);
  const stored = await context.ports.store.noting({ note }).approvals.request(approval);
  if (stored.status !== 'pending') return { reply: stored };
  if (isDue(stored, context.now())) return timeOut(pending, stored, context);
  wait(pending, stored.id, stored.deadline, context);
  const trace = currentTrace();
  if (trace !== null) pending.traces.set(stored.id, trace, stored.deadline + decidedMs);
  if (fingerprint !== undefined) pending.recent.set(fingerprint, stored.id, context.now() + repeatMs);
  return { reply: stored, ...(await announcement([stored], context)) };
}

/** Replies with the approval as timed out, or as it ended while this call tried to time it out. */
async function timeOut(pending: Pending, due: Approval, context: Context): Promise<Outcome<Approval>> {
  const [now, { ports }] = [context.now(), context];
  const expired = await expireDueApproval(ports, due, now);
  forget(pending, due.id, context);
  if (expired) return { reply: expired, ...(await announcement([expired], context, pending)) };
  return { reply: asSeen((await ports.store.approvals.get(due.tenantId, due.id)) ?? due, now) };
}

/** The pending approval of the same request a moment ago. Once: a third request is another call. */
export async function findRepeated(
  { tenantId, recent, waiting }: Pending,
  fingerprint: string | undefined,
  context: Context,
): Promise<Approval | null> {
  const id = fingerprint === undefined ? undefined : recent.get(fingerprint, context.now());
  if (fingerprint === undefined || id === undefined || !waiting.has(id)) return null;
  recent.delete(fingerprint);
  const stored = await context.ports.store.approvals.get(tenantId, id);
  return stored?.status === 'pending' && stored.deadline > context.now() ? stored : null;
}

/** @throws HubError not_found (unknown id), conflict (not pending, or past its deadline) */
export async function decide(
  pending: Pending,
  id: string,
  decision: Decision,
  context: Context,
  actor?: AuditActor,
): Promise<Outcome<Approval>> {
  const { store } = context.ports;
  const now = context.now();
  const earlier = pending.decided.get(id, now);
  // The decision itself may come a second time, after its answer was lost.
  if (earlier !== undefined && earlier !== decision.id) throw alreadyEnded();
  const before = await store.approvals.get(pending.tenantId, id);
  if (!before) throw notFound('Approval not found.');
  const note = decisionNote(before, decision, actor, now);
  const decidedBySubject = decision.decidedBySubject ?? actor?.id ?? null;
  const withDecider = { ...decision, decidedBySubject };
  const decided = await store.noting({ note }).approvals.decide(pending.tenantId, id, withDecider, now);
  if (decided === 'absent') throw notFound('Approval not found.');
  if (decided === 'not_pending') throw alreadyEnded();
  pending.decided.set(id, decision.id, now + decidedMs);
  forget(pending, id, context);
  countEnd(context.ports.meters, decided, now);
  return { reply: decided, ...(await announcement([decided], context, pending)) };
}

/** For the sweep. True when this call timed it out. */
export async function expire(pending: Pending, id: string, context: Context): Promise<Outcome<boolean>> {
  const now = context.now();
  const expired = await expireOne(pending.tenantId, id, now, context);
  if (expired || (pending.waiting.get(id) ?? now) <= now) forget(pending, id, context);
  return { reply: expired !== null, ...(await announcement(expired ? [expired] : [], context, pending)) };
}

/** For the sweep: announces stored changes that the store does not have as announced. Safe to repeat. */
export async function announce(pending: Pending, id: string, context: Context): Promise<Outcome<null>> {
  const stored = await context.ports.store.approvals.get(pending.tenantId, id);
  return { reply: null, ...(await announcement(stored ? [stored] : [], context)) };
}

/** Removes an approval from the store. One with its id may be requested and decided again. */
export async function remove(pending: Pending, id: string, context: Context): Promise<Outcome<null>> {
  await context.ports.store.approvals.remove(pending.tenantId, id);
  forget(pending, id, context);
  pending.decided.delete(id);
  return { reply: null };
}

/** Times out all that is due, whichever timer rang; tries failed writes again. */
export async function expireDue(pending: Pending, context: Context): Promise<Effects> {
  const now = context.now();
  const due: string[] = [];
  for (const [id, deadline] of pending.waiting) {
    if (deadline <= now) due.push(id);
    if (due.length === atOnce) break;
  }
  const results = await Promise.allSettled(due.map((id) => expireOne(pending.tenantId, id, now, context)));
  const expired: Approval[] = [];
  for (const [i, id] of due.entries()) {
    const result = results[i];
    if (result?.status === 'fulfilled') {
      forget(pending, id, context);
      if (result.value) expired.push(result.value);
    } else {
      context.setTimer(timerOf(id), now + againMs);
    }
  }
  return announcement(expired, context, pending);
}

/** Times out one that is due: the approval when this call did it, else null. */
async function expireOne(
  tenantId: string,
  id: string,
  now: number,
  { ports }: Context,
): Promise<Approval | null> {
  const before = await ports.store.approvals.get(tenantId, id);
  return before?.status === 'pending' ? expireDueApproval(ports, before, now) : null;
}

function wait(pending: Pending, id: string, deadline: number, context: Context): void {
  pending.waiting.set(id, deadline);
  context.setTimer(timerOf(id), deadline);
}

function forget(pending: Pending, id: string, context: Context): void {
  pending.waiting.delete(id);
  context.clearTimer(timerOf(id));
}

/**
 * Announces approvals of one tenant and status to dashboards, and by a job to the notification channels. Then takes the
 * approvals' marks off. Each approval is announced once, however often this runs.
 */
async function announcement(
  approvals: readonly Approval[],
  context: Context,
  pending?: Pick<Pending, 'traces'>,
): Promise<Effects> {
  const [first] = approvals;
  if (!first) return {};
  const { tenantId, status } = first;
  const { ports } = context;
  const isHeard = await ports.store.channels.anyEnabled(tenantId);
  return {
    announcements: approvals.map((approval) =>
      announcementOf(approval, pending?.traces.get(approval.id, context.now())),
    ),
    ...(isHeard ? { jobs: approvals.map((approval) => fanOutJob(approval, context.now())) } : {}),
    onSent: () =>
      ports.store.approvals.announced(
        tenantId,
        status,
        approvals.map(({ id }) => id),
      ),
  };
}

function announcementOf(approval: Approval, trace: string | undefined): Announcement {
  if (approval.status === 'pending') return { kind: 'approvalRequested', approval };
  const ended = { approval, ...(trace === undefined ? {} : { trace }) };
  return { kind: approval.status === 'timeout' ? 'approvalExpired' : 'approvalDecided', ...ended };
}
