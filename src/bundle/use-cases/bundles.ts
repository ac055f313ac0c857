// Bundle versions: uploaded, and read within the principal's environment.

import { noted } from '../../audit/note.ts';
import type { Deployment } from '../../deployment/record.ts';
import { requireRole, seesEnv, visibleEnvs } from '../../shared/access.ts';
import { HubError, notFound } from '../../shared/error.ts';
import { type Env, environments } from '../../shared/ids.ts';
import { changed, type IfMatch, requireMatch } from '../../shared/if-match.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { BundleSummary, BundleVersion } from '../record.ts';
import type { Finding } from '../rules/finding.ts';
import type { Inspector } from './inspection.ts';
import type { Uploads } from './uploads.ts';

const subjectOf = (name: string): string => `Bundle '${name}'`;
const absent = (name: string, version: number): HubError =>
  notFound(`Bundle '${name}' v${version} not found`);

/** A bundle for somebody who sees these current deployments and no others. */
function asSeen(bundle: BundleSummary, current: readonly Deployment[]): BundleSummary {
  const there = current.filter(({ bundleName }) => bundleName === bundle.name);
  return {
    ...bundle,
    deployedEnvs: there.map(({ env }) => env),
    lastDeployedAt: there.length === 0 ? null : Math.max(...there.map(({ createdAt }) => createdAt)),
  };
}

/**
 * A version for somebody who sees these current deployments and no others: a signature that none of them has would show
 * that it was deployed elsewhere.
 */
const asDeployed = (
  principal: Principal,
  bundle: BundleVersion,
  current: readonly Deployment[],
): BundleVersion =>
  visibleEnvs(principal) === null || current.some(({ version }) => version === bundle.version)
    ? bundle
    : { ...bundle, signature: null };

/** The current deployments of a name, in all environments that the principal sees. */
export async function currentOf(
  { deployments }: Pick<AppPorts['store'], 'deployments'>,
  principal: Principal,
  name: string,
): Promise<readonly Deployment[]> {
  const current = await Promise.all(
    environments
      .filter((env) => seesEnv(principal, env))
      .map((env) => deployments.getCurrent(principal.tenantId, env, name)),
  );
  return current.flatMap((one) => one ?? []);
}

type Ports = Pick<AppPorts, 'store' | 'evaluator' | 'clock' | 'secrets'> & {
  readonly inspector: Inspector;
  readonly uploads: Uploads;
};

export class Bundles {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /**
   * Saves the next version of the name in the document, and returns the findings that a deploy would have.
   * @throws HubError forbidden, unprocessable
   */
  async upload(
    principal: Principal,
    yamlText: string,
  ): Promise<{ readonly bundle: BundleVersion; readonly warnings: readonly Finding[] }> {
    const { evaluator, inspector, uploads } = this.#ports;
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const outline = await evaluator.outline(tenantId, yamlText);
    const warnings = await inspector.inspect(tenantId, yamlText);
    const yaml = new TextEncoder().encode(yamlText);
    const bundle = await uploads.upload(principal, { subject: 'bundle', outline, yaml });
    return { bundle, warnings };
  }

  /** Newest upload first; with an environment, those that were ever deployed there. */
  async list(principal: Principal, page: PageRequest): Promise<Page<BundleSummary>> {
    const { tenantId, env } = principal;
    const summaries = await this.#ports.store.bundles.list(tenantId, env, page);
    if (visibleEnvs(principal) === null || env !== null) return summaries;
    const current = (await this.#ports.store.deployments.listAllCurrent(tenantId)).filter((one) =>
      seesEnv(principal, one.env),
    );
    return { ...summaries, items: summaries.items.map((bundle) => asSeen(bundle, current)) };
  }

  /** Newest first, each with the environments that run it. @throws HubError not_found */
  async listVersions(
    principal: Principal,
    name: string,
    page: PageRequest,
  ): Promise<Page<{ readonly bundle: BundleVersion; readonly deployedEnvs: readonly Env[] }>> {
    const { tenantId } = principal;
    const { store } = this.#ports;
    const [versions, current] = await Promise.all([
      store.bundles.listVersions(tenantId, name, page),
      currentOf(store, principal, name),
    ]);
    if (versions.items.length === 0 && !(await this.#newestOf(tenantId, name))) {
      throw notFound(`Bundle '${name}' not found`);
    }
    const envsOf = (version: number): Env[] =>
      current.flatMap((deployment) => (deployment.version === version ? [deployment.env] : [])).sort();
    return {
      ...versions,
      items: versions.items.map((bundle) => ({
        bundle: asDeployed(principal, bundle, current),
        deployedEnvs: envsOf(bundle.version),
      })),
    };
  }

  /**
   * Deletes all versions of a bundle that is deployed nowhere.
   * @param ifMatch the number or hash of the newest version
   * @throws HubError forbidden, not_found, changed, conflict (deployed)
   */
  async remove(principal: Principal, name: string, ifMatch: IfMatch = null): Promise<void> {
    const { store, clock, secrets } = this.#ports;
    requireRole(principal, 'operator');
    const ifVersion = await this.#matchedVersion(principal.tenantId, name, ifMatch);
    const removed = await noted({ store, clock, secrets }, principal, {
      action: 'bundle.removed',
      subject: { id: name, name },
      summary: `Bundle ${name} was deleted.`,
    }).bundles.remove(principal.tenantId, name, clock.now(), ifVersion);
    if (removed === 'changed') throw changed(subjectOf(name));
    if (removed === 'absent') throw notFound(`Bundle '${name}' not found`);
    if (removed === 'deployed') {
      throw new HubError(
        'conflict',
        `Bundle '${name}' is deployed. Undeploy it from every environment first: DELETE /api/v1/deployments/current.`,
      );
    }
  }

  /** With an environment, only the version that it runs now exists. @throws HubError not_found */
  async getVersion(principal: Principal, name: string, version: number): Promise<BundleVersion> {
    const { store } = this.#ports;
    await this.#requireVisible(principal, name, version);
    const bundle = await store.bundles.getVersion(principal.tenantId, name, version);
    if (!bundle) throw absent(name, version);
    return asDeployed(principal, bundle, await currentOf(store, principal, name));
  }

  /** The bytes as uploaded, for the same principals as `getVersion`. @throws HubError not_found */
  async getYaml(principal: Principal, name: string, version: number): Promise<Uint8Array> {
    await this.#requireVisible(principal, name, version);
    const yaml = await this.#ports.store.bundles.getYaml(principal.tenantId, name, version);
    if (!yaml) throw absent(name, version);
    return yaml;
  }

  async #requireVisible({ tenantId, env }: Principal, name: string, version: number): Promise<void> {
    if (env === null) return;
    const current = await this.#ports.store.deployments.getCurrent(tenantId, env, name);
    if (current?.version !== version) throw absent(name, version);
  }

  /** Versions of before a deletion do not come back. */
  async #newestOf(tenantId: string, name: string): Promise<BundleVersion | undefined> {
    return (await this.#ports.store.bundles.listVersions(tenantId, name, { limit: 1, offset: 0 })).items[0];
  }

  /** Returns the number of the newest version; undefined without a condition. @throws HubError changed */
  async #matchedVersion(tenantId: string, name: string, ifMatch: IfMatch) {
    if (ifMatch === null) return undefined;
    const newest = await this.#newestOf(tenantId, name);
    requireMatch(ifMatch, newest ? [String(newest.version), newest.revisionHash] : [], subjectOf(name));
    return newest?.version;
  }
}
