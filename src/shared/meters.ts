// Counters of a node since its start, as plain numbers where the work is done. src/hub/metrics reads the counters at a
// scrape. Every label is a constant of this program: no client can add a series.
import type { Approval } from '../approval/record.ts';
import type { CountedAs } from '../event/record.ts';
import type { ChannelKind } from '../notification/record.ts';
import type { Env } from './ids.ts';

/** The values of a series' labels, in the order of the metric's label names. */
export type LabelValues = readonly string[];

/** A rising count for each combination of label values. */
export class LabelledCount<V extends LabelValues> {
  readonly #series = new Map<string, { readonly values: V; count: number }>();

  /** @param initial combinations that are reported as 0 before their first count */
  constructor(initial: readonly V[] = []) {
    for (const values of initial) this.add(values, 0);
  }

  add(values: V, count = 1): void {
    const key = values.join(' ');
    const series = this.#series.get(key);
    if (series) series.count += count;
    else this.#series.set(key, { values, count });
  }

  series(): readonly { readonly values: V; readonly count: number }[] {
    return [...this.#series.values()];
  }
}

/** Histogram of durations. */
export class Durations {
  /** Upper bounds of the buckets, in milliseconds; one more bucket is open. */
  readonly boundsMs: readonly number[];
  /** Not cumulative. */
  readonly counts: number[];
  sumMs = 0;

  constructor(boundsMs: readonly number[]) {
    this.boundsMs = boundsMs;
    this.counts = new Array<number>(boundsMs.length + 1).fill(0);
  }

  /** A negative time, from clocks of two nodes, counts as 0. */
  add(ms: number): void {
    const duration = Math.max(0, ms);
    let i = 0;
    while (i < this.boundsMs.length && duration > (this.boundsMs[i] ?? 0)) i++;
    this.counts[i] = (this.counts[i] ?? 0) + 1;
    this.sumMs += duration;
  }
}

/** Events of the first tenants that the process stores events of; those of all others are one count. */
export class TenantCount {
  readonly #counts = new Map<string, number>();
  readonly #max: number;
  #others = 0;

  /** @param max tenants with a count of their own; 0: nothing is counted */
  constructor(max: number) {
    this.#max = max;
  }

  add(tenantId: string, count: number): void {
    if (this.#max === 0 || count === 0) return;
    const current = this.#counts.get(tenantId);
    if (current === undefined && this.#counts.size >= this.#max) this.#others += count;
    else this.#counts.set(tenantId, (current ?? 0) + count);
  }

  series(): readonly { readonly tenant: string; readonly count: number }[] {
    if (this.#max === 0) return [];
    const perTenant = [...this.#counts].map(([tenant, count]) => ({ tenant, count }));
    return [...perTenant, { tenant: 'other', count: this.#others }];
  }
}

export type EventApi = 'console' | 'hosted';
export type Dependency = 'store' | 'redis' | 'disk' | 'issuer';
export type LoginFailure =
  | 'password'
  | 'link'
  | 'invitation'
  | 'oidc'
  | 'setup_token'
  | 'operator_token'
  | 'bearer';
/**
 * Why a node took shards: it had just started, or another node went without giving them back. Or its own leases had
 * expired (it was paused, or Redis was away), or the shards were distributed again.
 */
export type TakeoverReason = 'start' | 'node_gone' | 'lease_expired' | 'rebalanced';

export interface Meters {
  /** Rejected: what the answer to a batch lists as rejected. */
  readonly events: LabelledCount<readonly [api: EventApi, outcome: 'stored' | 'duplicate' | 'rejected']>;
  /** Of the store's commits of events. */
  readonly eventCommits: Durations;
  /** Stored events by verdict. */
  readonly decisions: LabelledCount<readonly [env: Env, verdict: CountedAs]>;
  readonly tenantEvents: TenantCount;
  readonly deployments: LabelledCount<
    readonly [env: Env, outcome: 'deployed' | 'undeployed' | 'refused' | 'failed']
  >;
  /** From a deployment's write until an agent's socket has it, for streams that take frames at once. */
  readonly pushes: Durations;
  readonly approvals: LabelledCount<readonly [env: Env, outcome: 'approved' | 'denied' | 'timeout']>;
  /** From the request until the decision or the deadline. */
  readonly approvalWaits: Durations;
  readonly deliveries: LabelledCount<
    readonly [channelType: ChannelKind, outcome: 'delivered' | 'retried' | 'dead' | 'expired']
  >;
  readonly takeovers: LabelledCount<readonly [TakeoverReason]>;
  /** Round trips; of the issuer, whole answers. */
  readonly dependencies: { readonly [D in Dependency]: Durations };
  /** Refusals by the name of the limit (admission/limit.ts). */
  readonly limited: LabelledCount<readonly [limit: string]>;
  readonly loginFailures: LabelledCount<readonly [LoginFailure]>;
}

/** Counts an approval that has ended. @param at time of its end, in epoch milliseconds */
export function countEnd(
  meters: Pick<Meters, 'approvals' | 'approvalWaits'>,
  { env, status, createdAt }: Pick<Approval, 'env' | 'status' | 'createdAt'>,
  at: number,
): void {
  if (status === 'pending') return;
  meters.approvals.add([env, status]);
  meters.approvalWaits.add(at - createdAt);
}
