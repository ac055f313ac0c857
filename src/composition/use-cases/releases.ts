// From an assembled composition to a bundle version at work: saves it, then has its environments deploy it.

import type { BundleVersion } from '../../bundle/record.ts';
import { requireDeployable } from '../../bundle/rules/deployable.ts';
import { type Finding, isError } from '../../bundle/rules/finding.ts';
import type { Inspector } from '../../bundle/use-cases/inspection.ts';
import type { Uploads } from '../../bundle/use-cases/uploads.ts';
import type { Deployment } from '../../deployment/record.ts';
import type { DeployChoice, Deployments } from '../../deployment/use-cases/deployments.ts';
import type { Assembly } from '../../evaluation/port/evaluator.ts';
import type { Env } from '../../shared/ids.ts';
import type { IfMatch } from '../../shared/if-match.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { Composition } from '../record.ts';

export interface Release {
  readonly version: BundleVersion;
  /** In the order of the targets. */
  readonly deployments: readonly Deployment[];
  /** Findings about the document. */
  readonly warnings: readonly Finding[];
}

export interface DeployTarget {
  readonly env: Env;
  /** The version that the environment runs; null: any. */
  readonly ifMatch: IfMatch;
}

export interface Releases {
  /**
   * Saves the assembly as the next version of the composition's name and deploys it to each target in turn. Nothing is
   * saved if an environment does not run the version of its target. When a deploy fails the version stays saved,
   * undeployed: deploying it by its number, or the composition again, completes the work.
   * @param by the deployer; the rights are checked
   * @throws HubError unprocessable (with everything found; nothing is saved then), changed, and as the environment's
   *   deploy does
   */
  deploy(
    by: Principal,
    composition: Composition,
    assembly: Assembly,
    targets: readonly DeployTarget[],
    how?: Pick<DeployChoice, 'force' | 'reason'>,
  ): Promise<Release>;
  /** Tells the dashboards that a composition was created, changed, deleted or (with a version) deployed. */
  compositionChanged(tenantId: string, name: string, bundleVersion?: number): Promise<void>;
}

type Ports = Pick<AppPorts, 'announcer'> & {
  readonly uploads: Pick<Uploads, 'upload'>;
  readonly deployments: Pick<Deployments, 'kindOf' | 'deployInspected' | 'requireRunning'>;
  readonly inspector: Inspector;
};

/** For a deployment that follows from a change, without a person to give a reason. */
const unforced = { force: false, reason: null };

export function createReleases(ports: Ports): Releases {
  const { announcer, uploads, deployments, inspector } = ports;
  const compositionChanged = (tenantId: string, name: string, bundleVersion: number | null = null) =>
    announcer.announce([{ kind: 'compositionChanged', tenantId, name, bundleVersion }]);
  return {
    compositionChanged,
    async deploy(by, composition, assembly, targets, { force, reason } = unforced) {
      const { id, tenantId, name, defaultsMode, description } = composition;
      const warnings = await inspector.inspect(tenantId, assembly.yaml);
      if (!force) requireDeployable(warnings);
      const forced = warnings.some(isError);
      for (const { env, ifMatch } of targets) await deployments.requireRunning(tenantId, env, name, ifMatch);
      const version = await uploads.upload(by, {
        subject: 'bundle',
        yaml: new TextEncoder().encode(assembly.yaml),
        outline: {
          name,
          contractCount: assembly.contracts.length,
          mode: defaultsMode,
          description: description || null,
        },
        source: { compositionId: id, snapshot: assembly.contracts },
      });
      const documentKind = await deployments.kindOf(tenantId, assembly.yaml);
      const order = { bundleName: name, version: version.version, documentKind, forced, reason };
      const newDeployments: Deployment[] = [];
      for (const { env, ifMatch } of targets)
        newDeployments.push(await deployments.deployInspected(by, env, { ...order, ifMatch }));
      await compositionChanged(tenantId, name, version.version);
      return { version, deployments: newDeployments, warnings };
    },
  };
}
