// Deployments: a bundle version put to work in an environment, and what runs there. Signing and pushing are the
// environment's.
import { environmentKey, type Rollout } from '../../../actors/protocol.ts';
import { auditActor } from '../../audit/record.ts';
import type { BundleVersion } from '../../bundle/record.ts';
import { requireDeployable, textOf } from '../../bundle/rules/deployable.ts';
import { type Finding, isError } from '../../bundle/rules/finding.ts';
import type { Inspector } from '../../bundle/use-cases/inspection.ts';
import type { DocumentKind } from '../../contract/record.ts';
import { listedEnvs, requireRole, requireSight, seesEnv } from '../../shared/access.ts';
import { HubError, isRefusal, notFound } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import { type IfMatch, requireMatch } from '../../shared/if-match.ts';
import type { Meters } from '../../shared/meters.ts';
import type { Page } from '../../shared/ports/page.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import { checkRange } from '../../shared/time-range.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { documentKindOf } from '../../shared/vocabulary.ts';
import type { KeySuccession } from '../../signing/record.ts';
import type { Environments } from '../../tenant/use-cases/environments.ts';
import type { DeploymentFilter, DeploymentPageRequest } from '../port.ts';
import { type Deployment, deploymentSubject, deploymentTags } from '../record.ts';
import { versionsByHash } from '../rules/versions.ts';

/** The deployed document of a name in an environment, with everything that an agent needs to verify it. */
export interface CurrentBundle {
  readonly bundle: BundleVersion;
  readonly deployment: Deployment;
  readonly yaml: Uint8Array;
  readonly successions: readonly KeySuccession[];
}

/** A deployment, and what was found in its document. */
export interface Deployed {
  readonly deployment: Deployment;
  readonly warnings: readonly Finding[];
}

/** A deployment, how far it has come, and the bundle versions that the hashes among it are. */
export interface DeploymentRollout extends Rollout {
  readonly deployment: Deployment;
  /** True when it is what the environment runs under its name. */
  readonly isCurrent: boolean;
  /** Of the newest deployment of this document there; null: it is none of the newest deployments. */
  versionOf(policyVersion: string | null): number | null;
}

export interface ListedDeployment extends Deployment {
  /** The version ran there before, and another one right before it. */
  readonly isRollback: boolean;
}

/** Deployments of a bundle that versions are known of. */
const maxVersions = 200;

/** Options of a deployment. */
export interface DeployChoice {
  /** Deploys a document with errors all the same; admins only. */
  readonly force: boolean;
  /** Reason, kept with the deployment and in the audit chain; null if none was given. */
  readonly reason: string | null;
  /** The version that the environment runs: its number or its hash. */
  readonly ifMatch?: IfMatch;
}

/** A deployment whose document its caller has inspected. */
export type DeployOrder = Pick<
  Deployment,
  'bundleName' | 'version' | 'documentKind' | 'forced' | 'reason'
> & {
  readonly ifMatch?: IfMatch;
};

type Ports = Pick<AppPorts, 'store' | 'actors' | 'secrets' | 'evaluator' | 'settings' | 'meters'> & {
  readonly inspector: Inspector;
  readonly environments: Pick<Environments, 'requireChange'>;
};

/** Counts how the change of an environment went. */
async function counted<T>(
  { deployments }: Pick<Meters, 'deployments'>,
  env: Env,
  outcome: 'deployed' | 'undeployed',
  change: () => Promise<T>,
): Promise<T> {
  try {
    const result = await change();
    deployments.add([env, outcome]);
    return result;
  } catch (error) {
    deployments.add([env, isRefusal(error) ? 'refused' : 'failed']);
    throw error;
  }
}

export class Deployments {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /**
   * The vocabulary of a document. Null when agents of both load it, for what cannot be read, and while the evaluator
   * has too much to do. Warnings alone need it, and no deploy or rollback is refused for want of them.
   */
  async kindOf(tenantId: string, yaml: string): Promise<DocumentKind | null> {
    const outline = await this.#ports.evaluator.outline(tenantId, yaml).catch((error: unknown) => {
      if (error instanceof HubError) return null;
      throw error;
    });
    return outline && documentKindOf(outline.kind, this.#ports.settings.wire);
  }

  /**
   * Deploys what its caller has inspected, in the name of the principal. It checks neither rights nor the document.
   * @throws HubError not_found, changed
   */
  deployInspected(principal: Principal, env: Env, request: DeployOrder): Promise<Deployment> {
    return counted(this.#ports.meters, env, 'deployed', () => this.#order(principal, env, request));
  }

  /**
   * Checks early what `deployInspected` guarantees, so that nothing is saved for a deployment that will be refused.
   * @throws HubError changed
   */
  async requireRunning(tenantId: string, env: Env, bundleName: string, ifMatch: IfMatch): Promise<void> {
    if (ifMatch === null) return;
    const current = await this.#ports.store.deployments.getCurrent(tenantId, env, bundleName);
    requireMatch(ifMatch, current ? deploymentTags(current) : [], deploymentSubject(env, bundleName));
  }

  /**
   * Compiles and lints the stored document, then deploys it. A version that was deployed in the environment before is
   * deployed whatever is found: it is a roll-back, which must not wait for a correction.
   * @throws HubError forbidden, not_found, changed, unprocessable (with everything found)
   */
  deploy(
    principal: Principal,
    env: Env,
    bundleName: string,
    version: number,
    how: DeployChoice,
  ): Promise<Deployed> {
    return counted(this.#ports.meters, env, 'deployed', () =>
      this.#deploy(principal, env, bundleName, version, how),
    );
  }

  /**
   * Ends what the environment runs under the name; agents keep it until they get another.
   * @throws HubError forbidden, not_found, changed
   */
  undeploy(principal: Principal, env: Env, bundleName: string, ifMatch: IfMatch = null): Promise<void> {
    return counted(this.#ports.meters, env, 'undeployed', () =>
      this.#undeploy(principal, env, bundleName, ifMatch),
    );
  }

  /**
   * How far a deployment has come among the agents that are connected now and follow its bundle.
   * @throws HubError not_found
   */
  async rollout(
    principal: Principal,
    id: string,
    page: { readonly limit: number; readonly after: string | null },
  ): Promise<DeploymentRollout> {
    const { store, actors } = this.#ports;
    const { tenantId } = principal;
    const deployment = await store.deployments.get(tenantId, id);
    if (!deployment || !seesEnv(principal, deployment.env)) throw notFound('Deployment not found.');
    const { env, bundleName, revisionHash } = deployment;
    const [rollout, newest, current] = await Promise.all([
      actors.ask('environment', environmentKey(tenantId, env), 'rollout', {
        bundleName,
        revisionHash,
        ...page,
      }),
      store.deployments.list(tenantId, { env, bundleName }, { limit: maxVersions, offset: 0 }),
      store.deployments.getCurrent(tenantId, env, bundleName),
    ]);
    const versions = versionsByHash(newest.items);
    versions.set(revisionHash, deployment.version);
    return {
      ...rollout,
      deployment,
      isCurrent: current?.id === id,
      versionOf: (policyVersion) => (policyVersion === null ? null : (versions.get(policyVersion) ?? null)),
    };
  }

  /** @throws HubError not_found */
  async getCurrent(principal: Principal, env: Env, bundleName: string): Promise<CurrentBundle> {
    const { store } = this.#ports;
    requireSight(principal, env);
    const { tenantId } = principal;
    const none = absent(env, bundleName);
    const deployment = await store.deployments.getCurrent(tenantId, env, bundleName);
    if (!deployment) throw none;
    const [bundle, yaml, successions] = await Promise.all([
      store.bundles.getVersion(tenantId, bundleName, deployment.version),
      store.bundles.getYaml(tenantId, bundleName, deployment.version),
      store.signing.listSuccessions(tenantId),
    ]);
    if (!bundle || !yaml) throw none;
    return { bundle, deployment, yaml, successions };
  }

  /** Newest first. @throws HubError validation_failed for a range that ends before it begins */
  async list(
    principal: Principal,
    { env, ...rest }: Omit<DeploymentFilter, 'env'> & { readonly env?: Env },
    page: DeploymentPageRequest,
  ): Promise<Page<ListedDeployment>> {
    const { tenantId } = principal;
    const { since = 0, until = Number.POSITIVE_INFINITY } = rest;
    checkRange({ since, until });
    const filter = { env: listedEnvs(principal, env ?? null), ...rest };
    const { items, more } = await this.#ports.store.deployments.list(tenantId, filter, page);
    const rollbacks = await this.#ports.store.deployments.listRollbacks(tenantId, items);
    return { items: items.map((one) => ({ ...one, isRollback: rollbacks.has(one.id) })), more };
  }

  #order(
    principal: Principal,
    env: Env,
    { ifMatch = null, ...deployment }: DeployOrder,
  ): Promise<Deployment> {
    return this.#ports.actors.ask('environment', environmentKey(principal.tenantId, env), 'deploy', {
      id: this.#ports.secrets.uuid(),
      ...deployment,
      deployedBy: actorName(principal.actor),
      actor: auditActor(principal),
      ...(ifMatch === null ? {} : { ifMatch }),
    });
  }

  async #deploy(
    principal: Principal,
    env: Env,
    bundleName: string,
    version: number,
    { force, reason, ifMatch = null }: DeployChoice,
  ): Promise<Deployed> {
    const { environments, store, inspector } = this.#ports;
    if (force) requireRole(principal, 'admin');
    await environments.requireChange(principal, [env]);
    const { tenantId } = principal;
    const yaml = await store.bundles.getYaml(tenantId, bundleName, version);
    if (!yaml) throw notFound(`Bundle '${bundleName}' v${version} not found`);
    const text = textOf(yaml);
    const warnings = await inspector.inspect(tenantId, text);
    const isBad = warnings.some(isError);
    const isRollback = isBad && (await store.deployments.wasDeployed(tenantId, env, bundleName, version));
    if (!force && !isRollback) requireDeployable(warnings);
    const deployment = await this.#order(principal, env, {
      bundleName,
      version,
      documentKind: await this.kindOf(tenantId, text),
      forced: isBad && !isRollback,
      reason,
      ifMatch,
    });
    return { deployment, warnings };
  }

  async #undeploy(principal: Principal, env: Env, bundleName: string, ifMatch: IfMatch) {
    const { environments, actors } = this.#ports;
    await environments.requireChange(principal, [env]);
    const ended = await actors.ask('environment', environmentKey(principal.tenantId, env), 'undeploy', {
      bundleName,
      undeployedBy: actorName(principal.actor),
      actor: auditActor(principal),
      ...(ifMatch === null ? {} : { ifMatch }),
    });
    if (!ended) throw absent(env, bundleName);
  }
}

const absent = (env: Env, name: string) => notFound(`No deployed bundle '${name}' for env '${env}'`);
