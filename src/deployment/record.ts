// Deployments: records as the store keeps them.

import type { AuditActor } from '../audit/record.ts';
import type { DocumentKind } from '../contract/record.ts';
import type { Env } from '../shared/ids.ts';

/** A bundle version put to work in an environment. The newest of (tenant, env, bundle) is the current one. */
export interface Deployment {
  readonly id: string;
  readonly tenantId: string;
  readonly env: Env;
  readonly bundleName: string;
  readonly version: number;
  readonly revisionHash: string;
  /**
   * The order of deployments per (tenant, env, bundle): one more than the last, and not less than the time of the
   * deployment in epoch milliseconds, so that it grows also past a store that was restored from an older copy. A new
   * signature keeps it.
   */
  readonly sequence: number;
  /** Ed25519 over the YAML bytes, 128 hex characters, by the key named here. */
  readonly signature: string;
  readonly publicKey: string;
  readonly signingKeyId: string;
  /**
   * Ed25519 by the same key over `attestationText` (signing/rules/attestation), 128 hex characters; null until the hub
   * attests it: after a restore, and of a deployment that was replaced before.
   */
  readonly attestation: string | null;
  readonly deployedBy: string;
  readonly createdAt: number;
  /** True when an admin deployed it although no agent can load it, or the linter found an error. */
  readonly forced: boolean;
  /** Why, as who deployed it said; null when nothing was said. */
  readonly reason: string | null;
  /** The vocabulary of its document; null when agents of both load it, or it is not recorded. */
  readonly documentKind: DocumentKind | null;
  /** When it was undeployed, epoch milliseconds; null: never, or not recorded. */
  readonly undeployedAt: number | null;
  readonly undeployedBy: string | null;
}

/** The end of a deployment that no other one replaced. */
export interface Undeployment {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly by: string;
}

/** A request to end what an environment runs under a name. */
export interface UndeployOrder {
  readonly bundleName: string;
  readonly undeployedBy: string;
  readonly actor?: AuditActor;
  /** Absent without a condition. */
  readonly ifMatch?: readonly string[];
}

/** The tags of what an environment runs under a name, for If-Match. */
export const deploymentTags = ({ version, revisionHash }: Deployment): readonly string[] => [
  String(version),
  revisionHash,
];

export const deploymentSubject = (env: Env, bundleName: string): string =>
  `The deployment of '${bundleName}' in ${env}`;

/** The sequence of a deployment made at `now` after one with sequence `last` (0: the first). */
export const nextSequence = (last: number, now: number): number => Math.max(last + 1, now);
