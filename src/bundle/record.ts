// A bundle version's fields.
import { z } from 'zod';
import { mode } from '../contract/record.ts';
import type { Env } from '../shared/ids.ts';
import { field, instant, json, record, type StoredOf } from '../shared/record.ts';
import { env, uuid } from '../shared/schemas.ts';

export interface AssembledContract {
  readonly contract_id: string;
  readonly version: number;
  readonly mode: string;
  readonly observe: boolean;
  /**
   * Ids of its entries, when they are not the contract's alone; what happens to any of them counts as the contract's.
   */
  readonly entries?: readonly string[];
}

export const contractIdOf = ({ contract_id }: AssembledContract): string => contract_id;

const hidden = { wire: false } as const;
/** Of bundles from other hubs, which do not exist. */
const noSource = { stored: false } as const;

/** One saved version of a bundle. Composed and uploaded bundles share one name and version space. */
const versionFields = {
  id: field(uuid),
  tenantId: field(uuid),
  name: field(z.string()),
  /** From 1, by one per upload of this name. */
  version: field(z.number().int()),
  /** Hex SHA-256 of exactly the bytes that were uploaded. */
  revisionHash: field(z.string()),
  /**
   * Signature of its newest deployment; null until deployed, and for people who see only environments without it. 128
   * hex characters.
   */
  signature: field(z.string().nullable(), { name: 'signature_hex' }),
  sourceHubSlug: field(z.string().nullable(), noSource),
  sourceHubRevision: field(z.string().nullable(), noSource),
  uploadedBy: field(z.string()),
  createdAt: field(instant),
  /** Null only in versions that an older hub saved from YAML without a list of contracts; newer ones have 0. */
  contractCount: field(z.int().nullable(), hidden),
  /** Default mode of the document's rules. Null if the document has another default, or if the hub never stored it. */
  mode: field(mode.nullable(), hidden),
  /** The first 2,000 characters of the document's own description. */
  description: field(z.string().nullable(), hidden),
  /** Bytes of YAML. */
  size: field(z.int(), hidden),
  /** The composition it was assembled from, and the contracts' versions then. */
  compositionId: field(z.string().nullable(), hidden),
  snapshot: field(json<readonly AssembledContract[], z.ZodUnknown>(z.unknown()).nullable(), hidden),
};

export type BundleVersion = StoredOf<typeof versionFields>;

export const bundleRecord = record('bundles', versionFields);

const count = z.number().int();
const rulesetMode = field(mode.nullable());
const ruleCount = field(count.nullable(), { name: 'rule_count' });

/** A version of a bundle in the hosted API's replies. */
export const rulesetRecord = record('rulesets', {
  id: field(z.string()),
  name: versionFields.name,
  version: versionFields.version,
  revisionHash: versionFields.revisionHash,
  size: field(count, { name: 'size_bytes' }),
  contractCount: ruleCount,
  mode: rulesetMode,
  description: field(z.string().nullable()),
  uploadedBy: versionFields.uploadedBy,
  createdAt: versionFields.createdAt,
  deployedEnvs: field(z.array(env)),
  /** Of the newest deployment that runs it; null when none does. Ed25519 over the bytes, standard base64. */
  signature: field(z.string().nullable()),
  /** 64 hex characters. */
  publicKey: field(z.string().nullable()),
  keyId: field(z.string().nullable()),
  deployedAt: field(instant.nullable()),
  deployedEnv: field(env.nullable()),
});

const deployedAt = field(instant, { name: 'deployed_at' });
/** The name of a ruleset in a deployment. */
const rulesetName = field(z.string(), { name: 'name' });

export const rulesetDeploymentRecord = record('deployments', {
  env: field(env),
  version: versionFields.version,
  revisionHash: versionFields.revisionHash,
  createdAt: deployedAt,
});

/** A deployment of a ruleset, as the reply of the deploy. */
export const deployedRulesetRecord = record('deployments', {
  bundleName: rulesetName,
  version: versionFields.version,
  revisionHash: versionFields.revisionHash,
  env: field(env),
  /** Grows with every deployment of the ruleset in the environment. */
  sequence: field(count),
  createdAt: deployedAt,
  deployedBy: field(z.string()),
  forced: field(z.boolean()),
  reason: field(z.string().nullable()),
});

/** The ruleset that an environment runs. */
export const currentRulesetRecord = record('deployments', {
  bundleName: rulesetName,
  version: versionFields.version,
  revisionHash: versionFields.revisionHash,
  /** A part of what the attestation signs. */
  tenantId: field(uuid),
  env: field(env),
  yaml: field(z.string()),
  /** The same bytes in standard base64. */
  yamlBytes: field(z.string()),
  /** Ed25519 over the bytes, standard base64. */
  signature: field(z.string()),
  publicKey: field(z.string()),
  keyId: field(z.string()),
});

/** A ruleset in a list. */
export const rulesetSummaryRecord = record('rulesets', {
  name: versionFields.name,
  version: field(count, { name: 'latest_version' }),
  versionCount: field(count),
  revisionHash: versionFields.revisionHash,
  contractCount: ruleCount,
  mode: rulesetMode,
  deployed: field(z.array(rulesetDeploymentRecord.reply('hosted', 'one'))),
  updatedAt: field(instant),
});

export interface BundleSummary {
  readonly name: string;
  readonly latestVersion: number;
  readonly versionCount: number;
  readonly lastUpdated: number;
  readonly deployedEnvs: readonly Env[];
  readonly contractCount: number | null;
  readonly lastDeployedAt: number | null;
}

export interface RulesetVersionKey {
  readonly name: string;
  readonly version: number;
}
