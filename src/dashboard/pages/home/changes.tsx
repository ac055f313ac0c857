// The latest changes, newest first: deployments and contracts from their lists; keys and assignment rules from the
// audit feed, because only the feed contains revocations, changes and deletions.
import type { JSX, ReactNode } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { useHosted } from '../../lib/hosted-query.ts';
import { useCall, useIsAnswered } from '../../lib/query.ts';
import { type Env as Environment, useEnv } from '../../lib/search.ts';
import { count, counted, minuteTime, textOrNull } from '../../lib/text.ts';
import { useFrames } from '../../live/use-frames.ts';
import { DataLink } from '../../ui/names.tsx';
import { Data, Empty, Env, PreciseTime } from '../../ui/parts.tsx';
import { Failed, QueryPending, StaleNotice } from '../../ui/query-result.tsx';

interface Change {
  readonly id: string;
  readonly at: string;
  readonly text: ReactNode;
}

type Entry = HostedReply<'hostedListAudit'>['entries'][number];

/** Polling interval, in milliseconds: no frame announces a rule that matches no agent. */
const lookMs = 15_000;
const tellingFrames: ReadonlySet<string> = new Set([
  'api_key_created',
  'api_key_revoked',
  'assignment_changed',
  'resync',
]);

/** Changes of keys and assignment rules, requested after the more important data. */
function useNoted() {
  const isTime = useIsAnswered();
  const auditQuery = useHosted(
    'hostedListAudit',
    { query: { subject_type: ['key', 'assignment_rule'], limit: 12 } },
    { own: true, enabled: isTime, refetchMs: lookMs },
  );
  useFrames(({ type }) => {
    if (isTime && tellingFrames.has(type)) void auditQuery.refetch({ cancelRefetch: false });
  });
  return auditQuery;
}

const became: { readonly [action: string]: string } = {
  'key.created': 'created the key',
  'key.revoked': 'revoked the key',
  'assignment_rule.created': 'created the assignment rule',
  'assignment_rule.updated': 'changed the assignment rule',
  'assignment_rule.deleted': 'deleted the assignment rule',
};

/** Changes in the selected environment, and changes without an environment. */
function audited(entries: readonly Entry[], env: Environment | undefined): Change[] {
  const textOf = ({ details }: Entry, name: string): string | null => textOrNull(details[name]);
  return entries
    .filter((one) => {
      const of = textOf(one, 'env');
      return !env || of === null || of === env;
    })
    .map((one) => {
      const isKey = one.subject.type === 'key';
      const name = one.subject.name ?? textOf(one, 'name') ?? textOf(one, 'prefix');
      const keyEnv = isKey ? (textOf(one, 'env') ?? 'all environments') : null;
      const words = became[one.action_type];
      return {
        id: one.id,
        at: one.occurred_at,
        text: (
          <>
            <Data text={one.actor.display} mono={false} max={60} />{' '}
            {words ?? <Data text={one.summary} mono={false} max={120} />}
            {words && name && <Data before=" " text={name} max={60} />}
            {keyEnv && (
              <>
                {' '}
                for <Env name={keyEnv} />
              </>
            )}
          </>
        ),
      };
    });
}

export function Changes(): JSX.Element {
  const env = useEnv();
  const deployments = useCall('listDeployments', { query: { limit: 10, ...(env ? { env } : {}) } });
  const noted = useNoted();
  const contracts = useCall('listContracts', { query: { limit: 5 } });
  const { data: matrix } = useCall('fleetMatrix', {}, { enabled: deployments.data !== undefined });
  const all: Change[] = [
    ...(deployments.data ?? []).flatMap((one, index, list) =>
      deployed(one, mayBeCurrent(index, list), matrix),
    ),
    ...audited(noted.data?.entries ?? [], env),
    ...(contracts.data ?? []).map((one) => ({
      id: `${one.contract_id} ${one.version}`,
      at: one.created_at,
      text: (
        <>
          Contract <Data text={one.contract_id} max={60} /> saved as version {one.version}
        </>
      ),
    })),
  ].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  const sources = [deployments, contracts, noted];
  const missing = sources.filter(({ data }) => data === undefined);
  const failed = missing.find(({ error }) => error !== null)?.error;
  // A loaded list whose reload failed.
  const old = sources.find(({ data, failureReason }) => data !== undefined && failureReason !== null);
  // The audit feed loads last. The other changes appear before it.
  const isWaiting = missing.some((one) => one !== noted) || (missing.length > 0 && all.length === 0);
  return (
    <section className="card" aria-labelledby="changes">
      <h2 id="changes">Recent changes</h2>
      {failed && (
        <Failed error={failed} onRetry={() => void Promise.all(missing.map((one) => one.refetch()))} />
      )}
      {!failed && old && <StaleNotice query={old} />}
      {isWaiting && !failed ? (
        // The first list alone would look complete.
        <QueryPending query={missing[0] ?? {}} rows={5} />
      ) : failed && all.length === 0 ? null : all.length === 0 ? (
        <Empty
          title="No changes yet"
          text="Deployments, contracts, keys and assignment rules appear here. To begin, create a key."
        />
      ) : (
        <ul className="feed">
          {all.slice(0, 12).map(({ id, at, text }) => (
            <li key={id} className="feed-row change-row">
              <PreciseTime at={at} format={minuteTime} />
              <span>{text}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

type Deployment = Reply<'listDeployments'>[number];

/** False for a deployment that an undeploy or a newer one in the list ended. @param list the newest first */
function mayBeCurrent(index: number, list: readonly Deployment[]): boolean {
  const { env, bundle_name: name, undeployed_at: undeployedAt } = list[index] as Deployment;
  const isOfSame = (one: Deployment): boolean => one.env === env && one.bundle_name === name;
  return undeployedAt === null && list.findIndex(isOfSame) === index;
}

/**
 * A deployment, and the undeploy that ended it.
 * @param hasReach the hub counts the agents of each visible reach again whenever the fleet changes
 */
function deployed(
  one: Deployment,
  hasReach: boolean,
  matrix: Reply<'fleetMatrix'> | undefined,
): readonly Change[] {
  const { id, env, kind, undeployed_at: undeployedAt } = one;
  const entry = (
    entryId: string,
    at: string,
    by: string | null,
    verb: string,
    to: string,
    reach?: ReactNode,
  ) => ({
    id: entryId,
    at,
    text: (
      <>
        <Data text={by ?? 'Somebody'} mono={false} max={60} /> {verb}{' '}
        <DataLink link={linkTo.deployment(id)} text={`${one.bundle_name} v${one.bundle_version}`} max={80} />{' '}
        {to} <Env name={env} />
        {reach}
      </>
    ),
  });
  const [verb, to] = kind === 'rollback' ? ['rolled back to', 'in'] : ['deployed', 'to'];
  const reach = hasReach && <Reach deployment={one} matrix={matrix} />;
  return [
    entry(id, one.created_at, one.deployed_by, verb, to, reach),
    ...(undeployedAt === null
      ? []
      : [entry(`${id} end`, undeployedAt, one.undeployed_by, 'undeployed', 'from')]),
  ];
}

interface ReachProps {
  readonly deployment: Deployment;
  /** The first documents by name. */
  readonly matrix: Reply<'fleetMatrix'> | undefined;
}

/** Share of the connected agents that run the deployment; null if another one is current. */
function Reach({ deployment, matrix }: ReachProps): JSX.Element | null {
  const { id, bundle_name: name, bundle_version: version } = deployment;
  const isListed = !matrix?.next_cursor || name <= (matrix.bundles.at(-1)?.name ?? '');
  const input = { params: { deployment_id: id }, query: { limit: 1 } };
  const rollout = useCall('deploymentRollout', input, { enabled: !isListed }).data;
  const cell = matrix?.bundles.flatMap(({ cells }) => cells).find((one) => one.deployment?.id === id);
  const listedRunning = (cell?.versions ?? []).filter((one) => one.version === version);
  const { connected, running } = rollout?.current
    ? rollout
    : {
        connected: cell?.connected ?? 0,
        running: listedRunning.reduce((sum, { agents }) => sum + agents, 0),
      };
  if (connected === 0) return null;
  return (
    <span className="muted">
      {' '}
      {count(running)} of {counted(connected, 'agent')}
    </span>
  );
}
