// Deployments: a bundle version put to work in an environment, and what runs there. Signing and pushing are the environment's.
import { environmentKey } from '../../actors/protocol.ts';
import type { BundleVersion, Deployment } from '../domain/deployment.ts';
import { notFound } from '../domain/error.ts';
import type { Env } from '../domain/ids.ts';
import { actorName, type Principal } from '../domain/principal.ts';
import type { KeySuccession } from '../domain/tenant.ts';
import type { Page, PageRequest } from '../ports/page.ts';
import { requireRole } from './access.ts';
import type { AppPorts } from './ports.ts';

/** What an environment runs under a name, with all that an agent needs to check it. */
export interface CurrentBundle {
  readonly bundle: BundleVersion;
  readonly deployment: Deployment;
  readonly yaml: Uint8Array;
  readonly successions: readonly KeySuccession[];
}

export interface Deployments {
  /** @throws HubError forbidden, not_found */
  deploy(principal: Principal, env: Env, bundleName: string, version: number): Promise<Deployment>;
  /** The same for the hub's own work: no rights are asked for. @throws HubError not_found */
  deployTo(
    tenantId: string,
    env: Env,
    bundleName: string,
    version: number,
    deployedBy: string,
  ): Promise<Deployment>;
  /** @throws HubError not_found */
  current(principal: Principal, env: Env, bundleName: string): Promise<CurrentBundle>;
  /** Newest first. */
  list(
    principal: Principal,
    filter: { readonly env?: Env; readonly bundleName?: string },
    page: PageRequest,
  ): Promise<Page<Deployment>>;
}

export function createDeployments({
  store,
  actors,
  secrets,
}: Pick<AppPorts, 'store' | 'actors' | 'secrets'>): Deployments {
  const deployTo: Deployments['deployTo'] = (tenantId, env, bundleName, version, deployedBy) =>
    actors.ask('environment', environmentKey(tenantId, env), 'deploy', {
      id: secrets.uuid(),
      bundleName,
      version,
      deployedBy,
    });
  return {
    deployTo,
    async deploy(principal, env, bundleName, version) {
      requireRole(principal, 'operator');
      return deployTo(principal.tenantId, env, bundleName, version, actorName(principal.actor));
    },
    async current({ tenantId }, env, bundleName) {
      const none = notFound(`No deployed bundle '${bundleName}' for env '${env}'`);
      const deployment = await store.deployments.currentOf(tenantId, env, bundleName);
      if (!deployment) throw none;
      const [bundle, yaml, successions] = await Promise.all([
        store.bundles.version(tenantId, bundleName, deployment.version),
        store.bundles.yaml(tenantId, bundleName, deployment.version),
        store.signing.successions(tenantId),
      ]);
      if (!bundle || !yaml) throw none;
      return { bundle, deployment, yaml, successions };
    },
    list: ({ tenantId }, filter, page) => store.deployments.list(tenantId, filter, page),
  };
}
