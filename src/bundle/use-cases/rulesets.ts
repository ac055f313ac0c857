// Rulesets: the documents that bundles are, in the way of the hosted API. A put saves and deploys at once; bytes that
// are saved already make no new version.

import { outageOf, outageTable } from '../../admission/outages.ts';
import type { Deployment } from '../../deployment/record.ts';
import type { Deployments } from '../../deployment/use-cases/deployments.ts';
import type { BundleOutline } from '../../evaluation/port/evaluator.ts';
import { requireRole, seesEnv, visibleEnvs } from '../../shared/access.ts';
import { HubError, notFound, refused } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import type { Page, PageRequest } from '../../shared/ports/page.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { documentKindOf } from '../../shared/vocabulary.ts';
import type { Environments } from '../../tenant/use-cases/environments.ts';
import type { BundleVersion } from '../record.ts';
import { type Finding, findingText, isError } from '../rules/finding.ts';
import { currentOf } from './bundles.ts';
import type { Inspector } from './inspection.ts';
import type { Uploads } from './uploads.ts';

/** A version, and the environments that run it now: the newest of its deployments first. */
export interface RulesetVersion {
  readonly bundle: BundleVersion;
  readonly deployments: readonly Deployment[];
  /** Its newest deployment, whether it runs still or not; null when it was never deployed. */
  readonly last: Deployment | null;
}

export interface RulesetSummary {
  readonly latest: BundleVersion;
  readonly versionCount: number;
  readonly updatedAt: number;
  readonly deployments: readonly Deployment[];
}

/** Condition on the newest version for a put. */
export interface Precondition {
  /** One of these revisions; empty: any version at all. Null: no condition. */
  readonly match: readonly string[] | null;
  /** None of these revisions; empty: no version at all. Null: no condition. */
  readonly noneMatch: readonly string[] | null;
}

export interface RulesetOrder extends Precondition {
  readonly name: string;
  readonly yaml: Uint8Array;
  /** Environment of the deployment; null: nowhere. */
  readonly env: Env | null;
  /** Takes a document that the linter finds errors in; admins only. */
  readonly force: boolean;
  /** Reason for the deployment; null if none was given. */
  readonly reason: string | null;
}

export interface SavedRuleset extends RulesetVersion {
  readonly created: boolean;
  readonly warnings: readonly Finding[];
}

type Ports = Pick<AppPorts, 'store' | 'evaluator' | 'secrets' | 'settings'> & {
  readonly inspector: Inspector;
  readonly uploads: Uploads;
  readonly deployments: Pick<Deployments, 'deployInspected'>;
  readonly environments: Pick<Environments, 'requireChange'>;
};

/** Bytes of a document that every released client takes. */
export const maxRuleset = 512 * 1024;
/** Puts that lose to others' before one gives up. */
const _tries = 10;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const absent = (name: string, version: number | null): HubError =>
  notFound(`Ruleset '${name}'${version === null ? '' : ` version ${version}`} not found.`);

const newestFirst = (deployments: readonly Deployment[]): readonly Deployment[] =>
  [...deployments].sort((a, b) => b.createdAt - a.createdAt);

export class Rulesets {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /**
   * @throws HubError forbidden, validation_failed (invalid_ruleset), unprocessable (name_mismatch), precondition_failed
   *   (version_precondition_failed), unavailable
   */
  async deploy(principal: Principal, request: RulesetOrder): Promise<SavedRuleset> {
    const { store, deployments, settings } = this.#ports;
    const { name, yaml, env, force } = request;
    requireRole(principal, force ? 'admin' : 'operator');
    if (env !== null) await this.#ports.environments.requireChange(principal, [env]);
    const { tenantId } = principal;
    if (yaml.length > maxRuleset) {
      throw new HubError('payload_too_large', `The ruleset is larger than ${maxRuleset} bytes. Split it.`);
    }
    if (!(await store.signing.getActive(tenantId))) {
      throw refused(
        'signing_unavailable',
        'Nothing was saved, because no signing key is active. Rotate the signing key to create one.',
      );
    }
    const text = textOf(yaml);
    const { warnings, outline } = await this.#inspect(tenantId, name, text, force);
    const { bundle, created } = await this.#save(principal, request, outline);
    if (env !== null) {
      const current = await store.deployments.getCurrent(tenantId, env, name);
      if (current?.version !== bundle.version) {
        await deployments.deployInspected(principal, env, {
          bundleName: name,
          version: bundle.version,
          documentKind: documentKindOf(outline.kind, settings.wire),
          forced: warnings.some(isError),
          reason: request.reason,
        });
      }
    }
    const ruleset = await this.#withDeployments(principal, bundle, await this.#currentOf(principal, name));
    return { ...ruleset, created, warnings };
  }

  /** By name. */
  async list(principal: Principal, page: PageRequest): Promise<Page<RulesetSummary>> {
    const { store } = this.#ports;
    const { tenantId, env } = principal;
    const { items, more } = await store.bundles.list(tenantId, env, page, 'name');
    const rulesets = await Promise.all(
      items.map(async ({ name, latestVersion, versionCount, lastUpdated, deployedEnvs }) => {
        const visibleEnvs = deployedEnvs.filter((one) => seesEnv(principal, one));
        const [latest, ...current] = await Promise.all([
          store.bundles.getVersion(tenantId, name, latestVersion),
          ...visibleEnvs.map((one) => store.deployments.getCurrent(tenantId, one, name)),
        ]);
        const deployments = newestFirst(current.flatMap((one) => one ?? []));
        return latest ? [{ latest, versionCount, updatedAt: lastUpdated, deployments }] : [];
      }),
    );
    return { items: rulesets.flat(), more };
  }

  /**
   * One version, or with null the newest. A principal of one environment reads only the version that runs there.
   * @throws HubError not_found
   */
  async getVersion(
    principal: Principal,
    name: string,
    version: number | null,
  ): Promise<RulesetVersion & { readonly yaml: Uint8Array }> {
    const { tenantId, env } = principal;
    const current = await this.#currentOf(principal, name);
    const bundle =
      version === null
        ? (await this.#versionsOf(principal, name, current, { limit: 1, offset: 0 })).items[0]
        : await this.#ports.store.bundles.getVersion(tenantId, name, version);
    const there = bundle && running(current, bundle.version);
    if (!bundle || !there || (env !== null && there.length === 0)) throw absent(name, version);
    const yaml = await this.#ports.store.bundles.getYaml(tenantId, name, bundle.version);
    if (!yaml) throw absent(name, version);
    return { ...(await this.#withDeployments(principal, bundle, current)), yaml };
  }

  /** Newest first; for a principal of one environment, the version that runs there. @throws HubError not_found */
  async listVersions(principal: Principal, name: string, page: PageRequest): Promise<Page<RulesetVersion>> {
    const current = await this.#currentOf(principal, name);
    const { items, more } = await this.#versionsOf(principal, name, current, page);
    if (items.length === 0) {
      const first = await this.#versionsOf(principal, name, current, { limit: 1, offset: 0 });
      if (first.items.length === 0) throw absent(name, null);
    }
    return {
      items: await Promise.all(items.map((bundle) => this.#withDeployments(principal, bundle, current))),
      more,
    };
  }

  /** Returns findings that do not prevent the put. @throws HubError with all that do */
  async #inspect(
    tenantId: string,
    name: string,
    text: string,
    force: boolean,
  ): Promise<{ readonly warnings: readonly Finding[]; readonly outline: BundleOutline }> {
    const findings = await this.#ports.inspector.inspect(tenantId, text, 'ruleset');
    const errors = findings.filter((one) => isError(one) && !(force && one.code !== 'invalid'));
    if (errors.length > 0) throw invalid(errors.map((one) => [one.path, findingText(one)]));
    const outline = await this.#ports.evaluator.outline(tenantId, text);
    const { rulesetKinds } = this.#ports.settings.wire;
    if (!rulesetKinds.includes(outline.kind ?? '')) {
      throw invalid([['kind', `must be ${rulesetKinds.join(' or ')}`]]);
    }
    if (outline.name !== name) {
      throw refused(
        'name_mismatch',
        `The document's metadata.name is '${outline.name}', but the path's name is '${name}'. Use the same name in both.`,
      );
    }
    return { warnings: findings, outline };
  }

  /** A page of the versions that exist for the principal, newest first. */
  async #versionsOf(
    { tenantId, env }: Principal,
    name: string,
    current: readonly Deployment[],
    page: PageRequest,
  ): Promise<Page<BundleVersion>> {
    const { bundles } = this.#ports.store;
    if (env === null) return bundles.listVersions(tenantId, name, page);
    // Paged after the choice: a page of all versions may contain none that runs in the environment.
    const versions = await Promise.all(
      current.map(({ version }) => bundles.getVersion(tenantId, name, version)),
    );
    const visibleVersions = versions.flatMap((one) => one ?? []).sort((a, b) => b.version - a.version);
    const end = page.offset + page.limit;
    return { items: visibleVersions.slice(page.offset, end), more: visibleVersions.length > end };
  }

  async #newestOf(tenantId: string, name: string): Promise<BundleVersion | null> {
    const { bundles } = this.#ports.store;
    return (await bundles.listVersions(tenantId, name, { limit: 1, offset: 0 })).items[0] ?? null;
  }

  /** Saves the bytes unless they are the newest version's. @throws HubError precondition_failed */
  async #save(
    principal: Principal,
    { name, yaml, match, noneMatch }: RulesetOrder,
    outline: BundleOutline,
  ): Promise<{ readonly bundle: BundleVersion; readonly created: boolean }> {
    const { tenantId } = principal;
    const revisionHash = this.#ports.secrets.sha256(yaml);
    for (let i = 0; i < outageTable.rulesetChanging.tries; i++) {
      const newest = await this.#newestOf(tenantId, name);
      checkPrecondition({ match, noneMatch }, newest);
      if (newest?.revisionHash === revisionHash) return { bundle: newest, created: false };
      const document = { subject: 'ruleset', outline, yaml } as const;
      const bundle = await this.#ports.uploads.uploadAfter(principal, document, newest?.version ?? 0);
      if (bundle !== 'changed') return { bundle, created: true };
    }
    throw outageOf('rulesetChanging');
  }

  /** The current deployments of a name, in all environments that the principal sees. */
  async #currentOf(principal: Principal, name: string): Promise<readonly Deployment[]> {
    return newestFirst(await currentOf(this.#ports.store, principal, name));
  }

  async #withDeployments(
    principal: Principal,
    bundle: BundleVersion,
    current: readonly Deployment[],
  ): Promise<RulesetVersion> {
    const there = running(current, bundle.version);
    // A person who does not see all environments sees nothing of where else it was; without a signature it was never
    // deployed.
    const isGone = there.length === 0 && visibleEnvs(principal) === null && bundle.signature !== null;
    const last = isGone
      ? await this.#ports.store.deployments.getLast(principal.tenantId, bundle.name, bundle.version)
      : (there[0] ?? null);
    return { bundle, deployments: there, last };
  }
}

/** The text of a document that reads back as the same bytes. @throws HubError */
function textOf(yaml: Uint8Array): string {
  let text: string;
  try {
    text = utf8.decode(yaml);
  } catch {
    throw invalid([['', 'The document is not UTF-8 text. Save it as UTF-8.']]);
  }
  if (text.startsWith('\ufeff'))
    throw invalid([['', 'The document begins with a byte order mark. Save it as UTF-8 without one.']]);
  if (text.includes('\0')) throw invalid([['', 'The document contains a NUL character. Remove it.']]);
  return text;
}

const running = (all: readonly Deployment[], version: number): readonly Deployment[] =>
  all.filter((one) => one.version === version);

/** Everything that is wrong with a document. */
const invalid = (problems: readonly (readonly [path: string, message: string])[]): HubError =>
  refused(
    'invalid_ruleset',
    problems.length === 1
      ? `Nothing was saved. ${problems[0]?.[1] ?? ''}`.slice(0, 1000)
      : `Nothing was saved, because the ruleset has ${problems.length} errors. Correct those in errors.`,
    { fields: problems.slice(0, 50).map(([path, message]) => ({ field: [], path, message })) },
  );

/** @throws HubError precondition_failed */
function checkPrecondition({ match, noneMatch }: Precondition, newest: BundleVersion | null): void {
  const fits = (revisions: readonly string[]): boolean =>
    newest !== null && (revisions.length === 0 || revisions.includes(newest.revisionHash));
  if ((match === null || fits(match)) && (noneMatch === null || !fits(noneMatch))) return;
  throw refused(
    'version_precondition_failed',
    newest === null
      ? 'Nothing was saved, because the ruleset has no version yet. Send If-None-Match: * to create it.'
      : `Nothing was saved, because the newest version is ${newest.version} with the revision ${newest.revisionHash}. Read it, then repeat the change.`,
  );
}
