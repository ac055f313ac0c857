// Which cached answers each frame invalidates, and the few that it changes at once. A new type of frame is a row in
// `affects`.
import type { ConsoleOperations } from '../../../packages/agent/src/console/generated/operations.ts';
import { lastTook, type Operation, type Page, type Reply } from '../lib/api.ts';
import { after, now } from '../lib/browser.ts';
import type { HostedOperation } from '../lib/hosted.ts';
import { outdateOwn, pagesOf, queries, refresh } from '../lib/query.ts';

export type LiveFrame = ConsoleOperations['dashboardStream']['event'];

type Any = Operation | HostedOperation;

const approvals = [
  'listApprovals',
  'approvalGroups',
  'attention',
  'statsOverview',
  'hostedListRuns',
  'listDeliveries',
] as const;

const affects: { readonly [K in LiveFrame['type']]?: readonly Any[] } = {
  approval_created: [...approvals, 'hostedListAudit'],
  approval_decided: [...approvals, 'getApproval', 'getEvent', 'hostedListAudit'],
  approval_timeout: [...approvals, 'getApproval', 'getEvent', 'hostedListAudit'],
  approval_assigned: ['listApprovals', 'getApproval'],
  assignment_changed: [
    'listAgents',
    'listRegistrations',
    'getRegistration',
    'agentStatus',
    'agentHistory',
    'listRules',
    'resolveRule',
    'hostedListAudit',
  ],
  bundle_uploaded: [
    'listBundles',
    'listBundleVersions',
    'hostedListRulesets',
    'hostedGetRuleset',
    'hostedRulesetVersions',
    'hostedListAudit',
  ],
  bundle_deployed: [
    'listBundles',
    'listContracts',
    'listBundleVersions',
    'currentBundle',
    'bundleImpact',
    'deploymentRollout',
    'fleetMatrix',
    'attention',
    'listDeployments',
    'listAgents',
    'agentStatus',
    'agentHistory',
    'explainEvent',
    'hostedListRulesets',
    'hostedGetRuleset',
    'hostedRulesetVersions',
    'hostedListAudit',
  ],
  composition_changed: [
    'listCompositions',
    'getComposition',
    'getContract',
    'contractUsage',
    'previewComposition',
    'bundleImpact',
    'hostedListAudit',
  ],
  // The versions of a contract that was deleted and is made again differ.
  contract_created: [
    'listContracts',
    'listContractTags',
    'getContract',
    'getContractVersion',
    'hostedListAudit',
  ],
  contract_updated: [
    'listContracts',
    'listContractTags',
    'getContract',
    'listCompositions',
    'getComposition',
    'hostedListAudit',
  ],
  fleet_changed: [
    'fleetMatrix',
    'attention',
    'agentStatus',
    'deploymentRollout',
    'bundleImpact',
    'listAgentStreams',
  ],
  stats_changed: [
    'searchEvents',
    'getEvent',
    'eventHistogram',
    'eventFacets',
    'statsOverview',
    'statsSeries',
    'attention',
    'hostedListRuns',
    'hostedSearchEvents',
    'runTimeline',
    'hostedWorkflowState',
    'readSessions',
    'agentCoverage',
  ],
  api_key_created: ['listKeys', 'hostedListAudit'],
  api_key_revoked: ['listKeys', 'agentStatus', 'hostedListAudit'],
  tool_pins_changed: ['attention', 'listToolPins', 'getToolPin', 'hostedListAudit'],
  signing_key_rotated: ['currentBundle', 'hostedListAudit'],
};

/** Counts over many events: on a busy hub they change all the time, and they are its most expensive answers. */
const counts: ReadonlySet<Any> = new Set<Any>([
  'eventHistogram',
  'eventFacets',
  'statsSeries',
  'attention',
  'agentCoverage',
]);
/** Each request sends a complete document that the hub must parse, so its figures may be slightly old. */
const heavy: ReadonlySet<Any> = new Set<Any>(['bundleImpact']);
const heavyRestMs = 3_000;
/** Pause between requests for counts: a multiple of the latest answer's duration, at most `atMostMs`. */
const rest = { times: 10, atMostMs: 30_000 };

const restMs = (operation: Any, ms: number): number =>
  heavy.has(operation)
    ? Math.max(ms, heavyRestMs)
    : counts.has(operation)
      ? Math.max(ms, Math.min(rest.atMostMs, rest.times * lastTook(operation)))
      : ms * pagesOf(operation);

const askedAt = new Map<Any, number>();
const waiting = new Set<Any>();

/** Applies frames to the cache. An operation is requested at once, but at most once per `ms`. */
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
  outdateOwn(old);
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

/** Interval of the checks for the answer to a running request, and their longest time, in milliseconds. */
const awaited = { lookMs: 50, atMostMs: 10_000 };

/**
 * Waits for a running request first. If each frame replaced it with a new one, a slow hub with constant events would
 * never deliver an answer.
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

/** Reloads everything visible after missed frames. */
export function refreshAll(): void {
  void queries.invalidateQueries();
}

const affected: ReadonlySet<unknown> = new Set(Object.values(affects).flat());

/** Reloads the visible answers that frames can invalidate, except counts over many events: they wait for a frame. */
export function refreshShown(): void {
  void queries.invalidateQueries({
    refetchType: 'active',
    predicate: ({ queryKey: [operation] }) => affected.has(operation) && !counts.has(operation as Any),
  });
}

type Approvals = Reply<'listApprovals'>;
type ApprovalPages = { readonly pages: readonly Page<Approvals>[] };

/** Displays a decision at once, before the list reloads. */
function decided(id: string, status: 'approved' | 'denied' | 'timeout', by: string | null): void {
  const changed = (list: Approvals): Approvals =>
    list.map((row) => (row.id === id ? { ...row, status, decided_by: by ?? row.decided_by } : row));
  queries.setQueriesData<Approvals | ApprovalPages>({ queryKey: ['listApprovals'] }, (list) => {
    if (list === undefined) return list;
    if (!('pages' in list)) return changed(list);
    const hasRow = ({ reply }: Page<Approvals>): boolean => reply.some((row) => row.id === id);
    return {
      ...list,
      pages: list.pages.map((page) => (hasRow(page) ? { ...page, reply: changed(page.reply) } : page)),
    };
  });
}
