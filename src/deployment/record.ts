// Deployments: records as the store keeps them.

import { z } from 'zod';
import type { AuditActor } from '../audit/record.ts';
import { documentKinds } from '../contract/record.ts';
import type { Env } from '../shared/ids.ts';
import { field, instant, type RecordOf, record } from '../shared/record.ts';
import { env, text, uuid } from '../shared/schemas.ts';

/** Reason for the deployment: kept with it and in the audit chain, and sent to dashboards. */
export const deployReason = text(500);

const hidden = { wire: false } as const;
const hiddenText = field(z.string(), hidden);

/** A bundle version put to work in an environment. The newest of (tenant, env, bundle) is the current one. */
const deploymentFields = {
  id: field(uuid),
  tenantId: hiddenText,
  env: field(env),
  bundleName: field(z.string()),
  version: field(z.number().int(), { name: 'bundle_version' }),
  revisionHash: hiddenText,
  /**
   * The order of deployments per (tenant, env, bundle): one more than the last, and not less than the time of the
   * deployment in epoch milliseconds. So the sequence also grows past a store that was restored from an older copy. A
   * new signature keeps the sequence.
   */
  sequence: field(z.number().int()),
  /** Ed25519 over the YAML bytes, 128 hex characters, by the key named here. */
  signature: hiddenText,
  publicKey: hiddenText,
  signingKeyId: hiddenText,
  /**
   * Ed25519 by the same key over `attestationText` (signing/rules/attestation), 128 hex characters; null until the hub
   * attests it: after a restore, and of a deployment that was replaced before.
   */
  attestation: field(z.string().nullable(), hidden),
  deployedBy: field(z.string()),
  createdAt: field(instant),
  /** True when an admin deployed it although no agent can load it, or the linter found an error. */
  forced: field(z.boolean()),
  /** The deployer's reason; null: none was sent. */
  reason: field(z.string().nullable()),
  /** The vocabulary of its document; null when agents of both load it, or it is not recorded. */
  documentKind: field(z.enum(documentKinds).nullable(), hidden),
  /** Time of the undeploy; null: never, or not recorded. */
  undeployedAt: field(instant.nullable(), hidden),
  undeployedBy: field(z.string().nullable(), hidden),
};
export type Deployment = RecordOf<typeof deploymentFields>;
export const deploymentRecord = record('deployments', deploymentFields);

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
