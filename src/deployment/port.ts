// Store port of deployments. Every write is durable when its promise resolves.

import type { Env, EnvFilter } from '../shared/ids.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import type { Deployment, Undeployment } from './record.ts';

/** Versions that run in each environment, and those that ran before. */
export interface DeploymentStore {
  /**
   * The sequence of the bundle's last deployment in the environment, also when that is gone since; 0 when there was
   * none.
   */
  getLastSequence(tenantId: string, env: Env, bundleName: string): Promise<number>;
  /**
   * Adds a deployment, provided the version exists, `signingKeyId` is still the active key and `sequence` is above the
   * last one of (tenant, env, bundle). Safe to repeat: the same id returns the same deployment.
   * @param fence the writer's epoch. Where nodes share the store, an epoch below that of an earlier deployment in the
   *   environment throws HubError unavailable (a stale owner) and writes nothing
   */
  deploy(
    deployment: Deployment,
    fence?: number,
  ): Promise<Deployment | 'no_version' | 'stale_key' | 'stale_sequence'>;
  /**
   * Gives a current deployment without an attestation its own. Changes nothing when it has one or was
   * signed by another key since.
   */
  attest(deployment: Deployment): Promise<void>;
  /**
   * Ends the current deployment of the bundle and returns it as it was; null when there is none. The deployment stays
   * in the history, and its sequence stays the last one.
   * @param fence as for `deploy`
   * @param end when, and by whom: the history has it. Where nodes share the store, a process that dies right after the
   *   write may leave it out
   */
  undeploy(
    tenantId: string,
    env: Env,
    bundleName: string,
    fence?: number,
    end?: Undeployment,
  ): Promise<Deployment | null>;
  /** True if the version was ever deployed in the environment. */
  wasDeployed(tenantId: string, env: Env, bundleName: string, version: number): Promise<boolean>;
  /** The newest deployment of the version in any environment, current or not; null when it was never deployed. */
  getLast(tenantId: string, bundleName: string, version: number): Promise<Deployment | null>;
  /** The current deployment of every bundle in the environment; by bundle name. */
  listCurrent(tenantId: string, env: Env): Promise<readonly Deployment[]>;
  getCurrent(tenantId: string, env: Env, bundleName: string): Promise<Deployment | null>;
  /** The current deployments of the tenant in all environments (each env and bundle once). */
  listAllCurrent(tenantId: string): Promise<readonly Deployment[]>;
  /** Current or not. */
  get(tenantId: string, id: string): Promise<Deployment | null>;
  /** Newest first. */
  list(tenantId: string, filter: DeploymentFilter, page: DeploymentPageRequest): Promise<Page<Deployment>>;
  /**
   * Those of these deployments of a tenant that are roll-backs: the version ran in the environment before, and another
   * one ran right before them. At most 1,000.
   */
  listRollbacks(tenantId: string, deployments: readonly Deployment[]): Promise<ReadonlySet<string>>;
}

export interface DeploymentFilter {
  readonly env?: EnvFilter;
  readonly bundleName?: string;
  /** Deployed or undeployed at this time or later. Epoch milliseconds. */
  readonly since?: number;
  /** Deployed or undeployed before this time. */
  readonly until?: number;
}

export interface DeploymentPageRequest extends PageRequest {
  /** The id of the deployment that the page before ended with; null or absent: the first page. */
  readonly after?: string | null;
}
