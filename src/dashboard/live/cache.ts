// Which answers a frame makes old, and the few that it changes at once. A new type of frame is a row in `affects`.
import type { ConsoleOperations } from '../../../packages/agent/src/console/generated/operations.ts';
import { lastTook, type Operation, type Reply } from '../lib/api.ts';
import { after, now } from '../lib/browser.ts';
import type { HostedOperation } from '../lib/hosted.ts';
import { queries, refresh } from '../lib/query.ts';

export type LiveFrame = ConsoleOperations['dashboardStream']['event'];

type Any = Operation | HostedOperation;

const approvals = ['listApprovals', 'statsOverview', 'hostedListRuns', 'listDeliveries'] as const;

const affects: { readonly [K in LiveFrame['type']]?: readonly Any[] } = {
  approval_created: [...approvals, 'hostedListAudit'],
  approval_decided: [...approvals, 'getApproval', 'hostedListAudit'],
  approval_timeout: [...approvals, 'getApproval', 'hostedListAudit'],
  assignment_changed: [
    'listAgents',
    'listRegistrations',
    'getRegistration',
    'agentStatus',
    'listRules',
    'resolveRule',
    'hostedListAudit',
  ],
  bundle_uploaded: [
    'listBundles',
    'listBundleVersions',
    'hostedListRulesets',
    'hostedRulesetVersions',
    'hostedListAudit',
  ],
  bundle_deployed: [
    'listBundles',
    'listBundleVersions',
    'currentBundle',
    'bundleImpact',
    'deploymentRollout',
    'listDeployments',
    'listAgents',
    'agentStatus',
    'hostedListRulesets',
    'hostedRulesetVersions',
    'hostedListAudit',
  ],
  composition_changed: [
    'listCompositions',
    'getComposition',
    'previewComposition',
    'bundleImpact',
    'hostedListAudit',
  ],
  contract_created: ['listContracts', 'getContract', 'hostedListAudit'],
  contract_updated: ['listContracts', 'getContract', 'listCompositions', 'getComposition', 'hostedListAudit'],
  fleet_changed: ['agentStatus', 'deploymentRollout', 'bundleImpact', 'listAgentStreams'],
  event_created: [
    'searchEvents',
    'eventHistogram',
    'eventFacets',
    'statsOverview',
    'hostedListRuns',
    'hostedSearchEvents',
    'hostedWorkflowState',
    'readSessions',
  ],
  api_key_created: ['listKeys', 'hostedListAudit'],
  api_key_revoked: ['listKeys', 'agentStatus', 'hostedListAudit'],
  signing_key_rotated: ['currentBundle', 'hostedListAudit'],
};

/** Counts of many events: a busy hub makes them old all the time, and they cost it more than all else here. */
const counts: ReadonlySet<Any> = new Set<Any>(['eventHistogram', 'eventFacets']);
/** The whole document goes to the hub, which parses it, each time: the numbers of its agents may be a little old. */
const heavy: ReadonlySet<Any> = new Set<Any>(['bundleImpact']);
const heavyRestMs = 3_000;
/** They rest so many times as long as their last answer took, at most so many milliseconds. */
const rest = { times: 10, atMostMs: 30_000 };

const restMs = (operation: Any, ms: number): number =>
  heavy.has(operation)
    ? Math.max(ms, heavyRestMs)
    : counts.has(operation)
      ? Math.max(ms, Math.min(rest.atMostMs, rest.times * lastTook(operation)))
      : ms;

const askedAt = new Map<Any, number>();
const waiting = new Set<Any>();

/** Takes frames into the cache; an operation is asked for at most once per `ms`, at once where it rested before. */
export function take(frames: readonly LiveFrame[], ms: number): void {
  if (frames.some(({ type }) => type === 'resync')) {
    refreshAll();
    return;
  }
  const old = new Set<Any>();
  for (const frame of frames) {
    if (frame.type === 'approval_decided') decided(frame.approval_id, frame.status, frame.decided_by);
    if (frame.type === 'approval_timeout') decided(frame.approval_id, 'timeout', null);
    for (const operation of affects[frame.type] ?? []) old.add(operation);
  }
  for (const operation of old) {
    if (waiting.has(operation)) continue;
    const wait = (askedAt.get(operation) ?? 0) + restMs(operation, ms) - now();
    if (wait <= 0) {
      ask(operation);
      continue;
    }
    waiting.add(operation);
    after(wait, () => ask(operation));
  }
}

/** How often it is looked whether an answer is there that is awaited, and how long at most. */
const awaited = { lookMs: 50, atMostMs: 10_000 };

/**
 * An answer that is under way is awaited first: were it given up for a newer one each time, a slow hub that hears of
 * events all the time would never be shown.
 */
function ask(operation: Any, since = now()): void {
  const isSlow = !counts.has(operation) && queries.isFetching({ queryKey: [operation] }) > 0;
  if (isSlow && now() - since < awaited.atMostMs) {
    waiting.add(operation);
    after(awaited.lookMs, () => ask(operation, since));
    return;
  }
  waiting.delete(operation);
  askedAt.set(operation, now());
  refresh([operation], !counts.has(operation));
}

/** Everything that is shown is asked for again: frames were missed. */
export function refreshAll(): void {
  void queries.invalidateQueries();
}

const affected: ReadonlySet<unknown> = new Set(Object.values(affects).flat());

/** What is shown and a frame could have made old is asked for again; counts of many events wait for the next frame. */
export function refreshShown(): void {
  void queries.invalidateQueries({
    refetchType: 'active',
    predicate: ({ queryKey: [operation] }) => affected.has(operation) && !counts.has(operation as Any),
  });
}

type Approvals = Reply<'listApprovals'>;

/** Shows a decision at once, before the list is read again. */
function decided(id: string, status: 'approved' | 'denied' | 'timeout', by: string | null): void {
  queries.setQueriesData<Approvals>({ queryKey: ['listApprovals'] }, (list) =>
    Array.isArray(list)
      ? list.map((row) => (row.id === id ? { ...row, status, decided_by: by ?? row.decided_by } : row))
      : list,
  );
}
