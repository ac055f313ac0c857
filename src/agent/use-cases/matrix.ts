// The fleet as a matrix: for each bundle and environment the deployment, and which versions the connected agents run.
import { environmentKey } from '../../../actors/protocol.ts';
import type { Deployment } from '../../deployment/record.ts';
import { versionsByHash } from '../../deployment/rules/versions.ts';
import { listedEnvs, requireRole } from '../../shared/access.ts';
import { type Env, environments, isInFilter } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { FollowedBundle, MatrixVersion } from '../record.ts';

export interface MatrixCell {
  readonly env: Env;
  readonly deployment: Deployment | null;
  readonly connected: number;
  readonly versions: readonly MatrixVersion[];
}

export interface FleetMatrix {
  /** By name, at most 100. */
  readonly bundles: readonly { readonly name: string; readonly cells: readonly MatrixCell[] }[];
  /** Connected agents without a bundle, in the environments of the cells. */
  readonly unassigned: number;
  /** The name that the next page begins after; null at the end. */
  readonly next: string | null;
}

export interface FleetMatrices {
  /**
   * Of one environment, or of all that the principal sees (null).
   * @param after the name that the page before ended with
   * @throws HubError forbidden (role_required) without a role in the named environment
   */
  get(
    principal: Principal,
    query: { readonly env: Env | null; readonly after: string | null },
  ): Promise<FleetMatrix>;
}

/** Bundles of a page. */
const pageSize = 100;
/** Deployments of a bundle whose versions are named. */
const maxDeployments = 200;

type Ports = Pick<AppPorts, 'store' | 'actors'>;

export const createFleetMatrices = (ports: Ports): FleetMatrices => ({
  async get(principal, { env: filter, after }) {
    requireRole(principal, 'viewer');
    const { tenantId } = principal;
    const visibleEnvs = listedEnvs(principal, filter);
    const envs = environments.filter((env) => isInFilter(visibleEnvs, env));
    const [current, ...rosters] = await Promise.all([
      ports.store.deployments.listAllCurrent(tenantId),
      ...envs.map((env) => ports.actors.ask('environment', environmentKey(tenantId, env), 'followed', null)),
    ]);
    const visible = current.filter(({ env }) => envs.includes(env));
    const followedNames = rosters.flatMap((bundles) => bundles.flatMap(({ bundleName }) => bundleName ?? []));
    const names = [...new Set([...visible.map(({ bundleName }) => bundleName), ...followedNames])]
      .sort()
      .filter((name) => after === null || name > after);
    const page = names.slice(0, pageSize);
    const bundles = await Promise.all(
      page.map(async (name) => ({
        name,
        cells: await Promise.all(
          envs.map((env, i) => {
            const deployment = visible.find((one) => one.env === env && one.bundleName === name) ?? null;
            const followed = rosters[i]?.find(({ bundleName }) => bundleName === name);
            return cellOf(ports, tenantId, env, name, deployment, followed);
          }),
        ),
      })),
    );
    const withoutBundle = rosters.flatMap((all) => all.filter(({ bundleName }) => bundleName === null));
    return {
      bundles,
      unassigned: withoutBundle.reduce((sum, { connected }) => sum + connected, 0),
      next: names.length > page.length ? (page.at(-1) ?? null) : null,
    };
  },
});

/** The versions of the hashes that agents run; asks only where one is not that of the deployment. */
async function namesOf(
  { store }: Ports,
  tenantId: string,
  env: Env,
  bundleName: string,
  deployment: Deployment | null,
  followed: FollowedBundle | undefined,
): Promise<ReadonlyMap<string, number>> {
  const isOther = followed?.versions.some(
    ({ policyVersion }) => policyVersion !== null && policyVersion !== deployment?.revisionHash,
  );
  if (!isOther) return versionsByHash(deployment ? [deployment] : []);
  const page = { limit: maxDeployments, offset: 0 };
  return versionsByHash((await store.deployments.list(tenantId, { env, bundleName }, page)).items);
}

async function cellOf(
  ports: Ports,
  tenantId: string,
  env: Env,
  name: string,
  deployment: Deployment | null,
  followed: FollowedBundle | undefined,
): Promise<MatrixCell> {
  const names = await namesOf(ports, tenantId, env, name, deployment, followed);
  const versions = (followed?.versions ?? []).map((running) => ({
    ...running,
    version: (running.policyVersion !== null && names.get(running.policyVersion)) || null,
  }));
  return { env, deployment, connected: followed?.connected ?? 0, versions };
}
