// Timeline of an agent: its streams, the documents that it should run and ran, and its approvals.
import { environmentKey } from '../../../actors/protocol.ts';
import type { Approval } from '../../approval/record.ts';
import { asSeen } from '../../approval/rules/state.ts';
import type { Deployment } from '../../deployment/record.ts';
import { requireRole, requireSight, seesAgent, visibleEnvOf, visibleEnvs } from '../../shared/access.ts';
import { notFound } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import { checkRange, type TimeRange } from '../../shared/time-range.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { maxPastStreams, type PastStream } from '../record.ts';
import type { Rulings } from './rulings.ts';

export interface TimelineDocument {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly bundleName: string;
  readonly version: number;
  /** `running`: the agent's first event with the version since its deployment. */
  readonly kind: 'deployed' | 'undeployed' | 'running';
}

/** A stream that another one continued within ten seconds is one with it. */
export type TimelineStream = Pick<
  PastStream,
  'startedAt' | 'endedAt' | 'isEndNoticed' | 'transport' | 'node'
>;

export type TimelinePlace = Pick<Approval, 'createdAt' | 'id'>;

export interface AgentTimeline {
  /** In which the rest is; null: the agent was never seen in one. */
  readonly env: Env | null;
  /** Open in the range, the newest first, at most 200. This and the documents are only on the first page. */
  readonly streams: readonly TimelineStream[];
  /** Oldest first. */
  readonly documents: readonly TimelineDocument[];
  /** Requested in the range, newest first. */
  readonly approvals: readonly Approval[];
  /** The last of these approvals, where more follow; null at the end. */
  readonly next: TimelinePlace | null;
}

export interface AgentTimelines {
  /**
   * @param env null: where the agent was last seen
   * @throws HubError not_found, validation_failed (the range), search_timeout
   */
  get(
    principal: Principal,
    agentId: string,
    request: TimeRange & {
      readonly env: Env | null;
      readonly limit: number;
      readonly after: TimelinePlace | null;
    },
  ): Promise<AgentTimeline>;
}

type Ports = Pick<AppPorts, 'store' | 'actors' | 'clock'> & { readonly rulings: Pick<Rulings, 'standings'> };

const maxDeployments = 200;

export const createAgentTimelines = (ports: Ports): AgentTimelines => ({
  async get(principal, agentId, { env: requestedEnv, limit, after, ...range }) {
    requireRole(principal, 'viewer');
    checkRange(range);
    const { tenantId } = principal;
    const env = await placeOf(ports, principal, agentId, requestedEnv);
    if (env === null) return { env, streams: [], documents: [], approvals: [], next: null };
    const isFirst = after === null;
    const now = ports.clock.now();
    // The range of approvals ends with its last moment.
    const filter = { env, agentId, since: range.since, until: range.until - 1 };
    const [streams, documents, { items, more }] = await Promise.all([
      isFirst ? streamsOf(ports, tenantId, env, agentId, range) : [],
      isFirst ? documentsOf(ports, tenantId, env, agentId, range) : [],
      ports.store.approvals.list(tenantId, filter, { limit, offset: 0, ...(after ? { after } : {}) }, now),
    ]);
    const last = items.at(-1);
    return {
      env,
      streams,
      documents,
      approvals: items.map((approval) => asSeen(approval, now)),
      next: more && last ? { createdAt: last.createdAt, id: last.id } : null,
    };
  },
});

async function documentsOf(
  { store, rulings }: Ports,
  tenantId: string,
  env: Env,
  agentId: string,
  range: TimeRange,
): Promise<readonly TimelineDocument[]> {
  const registration = await store.agents.get(tenantId, agentId);
  const agent = registration ?? { agentId, bundleName: null, tags: {} };
  const [standing] = await rulings.standings(tenantId, env, [agent]);
  const bundleName = standing?.bundleName ?? null;
  // A version may begin to run long after its deployment.
  const filter = { env, until: range.until, ...(bundleName === null ? {} : { bundleName }) };
  const { items } = await store.deployments.list(tenantId, filter, { limit: maxDeployments, offset: 0 });
  const questions = items.map(({ revisionHash, createdAt }) => ({
    version: revisionHash,
    since: createdAt,
  }));
  const answers = await store.usage.listVersionsAt(tenantId, agentId, env, questions);
  const isWithin = (at: number | null): at is number => at !== null && at >= range.since && at < range.until;
  const documents = items.flatMap((deployment: Deployment, i) => {
    const { bundleName: name, version, createdAt, undeployedAt } = deployment;
    const times = { deployed: createdAt, running: answers[i]?.firstAt ?? null, undeployed: undeployedAt };
    return (['deployed', 'running', 'undeployed'] as const).flatMap((kind): readonly TimelineDocument[] => {
      const at = times[kind];
      return isWithin(at) ? [{ at, bundleName: name, version, kind }] : [];
    });
  });
  return documents.sort((a, b) => a.at - b.at);
}

/** The actor answers first: it drops an ended stream only once the store has it. */
async function streamsOf(
  { actors, store }: Ports,
  tenantId: string,
  env: Env,
  agentId: string,
  range: TimeRange,
): Promise<readonly TimelineStream[]> {
  const request = { agentId, limit: maxPastStreams };
  const key = environmentKey(tenantId, env);
  const { streams, ended } = await actors.ask('environment', key, 'streamsOf', request);
  const past = await store.agentStreams.list(tenantId, env, agentId, range);
  const open = streams.map(({ startedAt, transport, node }) => ({
    ...{ startedAt, endedAt: null, isEndNoticed: true, transport, node },
  }));
  const storedIds = new Set(past.map(({ id }) => id));
  const recent = ended.filter(({ id, endedAt }) => !storedIds.has(id) && (endedAt ?? 0) > range.since);
  return [...open, ...recent, ...past]
    .filter(({ startedAt }) => startedAt < range.until)
    .sort((a, b) => b.startedAt - a.startedAt)
    .slice(0, maxPastStreams);
}

async function placeOf(
  { store }: Ports,
  principal: Principal,
  agentId: string,
  env: Env | null,
): Promise<Env | null> {
  const { tenantId } = principal;
  if (env !== null) requireSight(principal, env);
  const [registration, span] = await Promise.all([
    store.agents.get(tenantId, agentId),
    store.usage.getSpan(tenantId, agentId, visibleEnvs(principal)),
  ]);
  const agent = registration ?? (span ? { lastEnv: span.env, seenEnvs: [span.env] } : null);
  if (!agent || !seesAgent(principal, agent)) throw notFound('Agent not found.');
  return env ?? visibleEnvOf(principal, agent);
}
