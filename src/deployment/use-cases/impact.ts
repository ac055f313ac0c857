// The impact of a deployment before it happens: differences from the deployed document of the same name, and the
// current versions of agents.
import { maxStoredRules } from 'reeve-agent/rules';
import { environmentKey, type Rollout } from '../../../actors/protocol.ts';
import { textOf } from '../../bundle/rules/deployable.ts';
import type { Compositions } from '../../composition/use-cases/compositions.ts';
import { HubError } from '../../shared/error.ts';
import type { Env } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { type ComparedDocument, type Impact, impactOf } from '../rules/impact.ts';
import { versionsByHash } from '../rules/versions.ts';

/** A text, or a composition that is saved. */
export type Proposed = { readonly yaml: string } | { readonly composition: string };

export interface ProposedImpact {
  readonly bundleName: string;
  /** The deployed version; null without one. */
  readonly current: { readonly version: number; readonly revisionHash: string } | null;
  /** Of the proposed document. */
  readonly revisionHash: string;
  /** Null when what runs now cannot be taken apart into contracts. */
  readonly impact: Impact | null;
  /**
   * Connected agents that follow the bundle, by what they run; `running` counts those that run the proposed document
   * already.
   */
  readonly rollout: Rollout;
  /** Of the newest deployment of this document there; null: it is none of the newest deployments. */
  versionOf(policyVersion: string): number | null;
}

export interface Impacts {
  /**
   * Changes nothing.
   * @throws HubError not_found, unprocessable (with what is wrong with the document), overloaded, unavailable
   */
  get(principal: Principal, env: Env, proposed: Proposed): Promise<ProposedImpact>;
}

const maxVersions = 200;

type Ports = Pick<AppPorts, 'store' | 'actors' | 'evaluator' | 'secrets'> & {
  readonly compositions: Pick<Compositions, 'preview'>;
};

export function createImpacts({ store, actors, evaluator, secrets, compositions }: Ports): Impacts {
  async function textFor(principal: Principal, proposed: Proposed): Promise<string> {
    if ('yaml' in proposed) return proposed.yaml;
    const { assembly } = await compositions.preview(principal, proposed.composition);
    const [problem] = assembly.problems;
    if (problem !== undefined) throw new HubError('unprocessable', problem);
    return assembly.yaml;
  }

  /** Null: the stored document is not a valid bundle by the rules of this version. */
  async function runningNow(
    tenantId: string,
    name: string,
    version: number,
  ): Promise<ComparedDocument | null> {
    const yaml = await store.bundles.getYaml(tenantId, name, version);
    try {
      return yaml && (await evaluator.takeApart(tenantId, textOf(yaml), maxStoredRules));
    } catch (error) {
      if (error instanceof HubError && error.code === 'unprocessable') return null;
      throw error;
    }
  }

  return {
    async get(principal, env, proposed) {
      const { tenantId } = principal;
      const yaml = await textFor(principal, proposed);
      const after = await evaluator.takeApart(tenantId, yaml, maxStoredRules);
      const revisionHash = secrets.sha256(yaml);
      const bundleName = after.name;
      const request = { bundleName, revisionHash, limit: 1, after: null };
      const [deployed, rollout, newest] = await Promise.all([
        store.deployments.getCurrent(tenantId, env, bundleName),
        actors.ask('environment', environmentKey(tenantId, env), 'rollout', request),
        store.deployments.list(tenantId, { env, bundleName }, { limit: maxVersions, offset: 0 }),
      ]);
      const before = deployed && (await runningNow(tenantId, bundleName, deployed.version));
      const versions = versionsByHash(newest.items);
      return {
        bundleName,
        current: deployed && { version: deployed.version, revisionHash: deployed.revisionHash },
        revisionHash,
        impact: deployed !== null && before === null ? null : impactOf(before, after),
        rollout,
        versionOf: (policyVersion) => versions.get(policyVersion) ?? null,
      };
    },
  };
}
