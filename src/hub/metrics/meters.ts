// The meters of a node, with every series that is reported before its first count.
import { limits } from '../../admission/limit.ts';
import { dayMs, hourMs, minuteMs } from '../../shared/duration.ts';
import { environments } from '../../shared/ids.ts';
import { Durations, LabelledCount, type Meters, TenantCount } from '../../shared/meters.ts';

const seconds = 1_000;

/** Eleven bounds each: with the open bucket, the sum and the count a histogram has 14 series. */
const bounds = {
  roundTrip: [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_000],
  commit: [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 2_500, 10_000],
  push: [5, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000],
  wait: [
    5 * seconds,
    15 * seconds,
    30 * seconds,
    minuteMs,
    2 * minuteMs,
    5 * minuteMs,
    10 * minuteMs,
    30 * minuteMs,
    hourMs,
    4 * hourMs,
    dayMs,
  ],
} as const;

/** Each value of the first label with each of the second. */
const pairs = <A extends string, B extends string>(
  first: readonly A[],
  second: readonly B[],
): readonly (readonly [A, B])[] => first.flatMap((a) => second.map((b) => [a, b] as const));

const singles = <A extends string>(values: readonly A[]): readonly (readonly [A])[] =>
  values.map((value) => [value] as const);

/** @param maxTenants tenants whose events have a count of their own (METRICS_TENANTS) */
export const createMeters = (maxTenants = 0): Meters => ({
  events: new LabelledCount(pairs(['console', 'hosted'], ['stored', 'duplicate', 'rejected'])),
  eventCommits: new Durations(bounds.commit),
  decisions: new LabelledCount(pairs(environments, ['allowed', 'denied', 'pending', 'observed'])),
  tenantEvents: new TenantCount(maxTenants),
  deployments: new LabelledCount(pairs(environments, ['deployed', 'undeployed', 'refused', 'failed'])),
  pushes: new Durations(bounds.push),
  approvals: new LabelledCount(pairs(environments, ['approved', 'denied', 'timeout'])),
  approvalWaits: new Durations(bounds.wait),
  deliveries: new LabelledCount(
    pairs(
      ['webhook', 'email', 'chatBot', 'workspaceChat', 'workspaceChatApp', 'communityChat'],
      ['delivered', 'retried', 'dead', 'expired'],
    ),
  ),
  takeovers: new LabelledCount(singles(['start', 'node_gone', 'lease_expired', 'rebalanced'])),
  dependencies: {
    store: new Durations(bounds.roundTrip),
    redis: new Durations(bounds.roundTrip),
    disk: new Durations(bounds.roundTrip),
    issuer: new Durations(bounds.roundTrip),
  },
  limited: new LabelledCount(singles([...new Set(Object.values(limits).map(({ name }) => name))])),
  loginFailures: new LabelledCount(
    singles(['password', 'link', 'invitation', 'oidc', 'setup_token', 'operator_token', 'bearer']),
  ),
});
