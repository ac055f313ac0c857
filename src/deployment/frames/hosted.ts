// Frames of deployments on the streams of the hosted API.

import { z } from 'zod';
import { env } from '../../http/contract/fields.ts';
import { eventMaker, type FrameTable, hex } from '../../http/contract/frame-table.ts';
import { encodeSignature, provenance } from '../../http/contract/signature.ts';
import { type FrameMakers, frame } from '../../http/live/frame-makers.ts';
import type { Announcements } from '../../shared/announcement.ts';
import { type Frame, type FrameHeader, hostedAgentsOf } from '../../shared/frame.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { Secrets } from '../../shared/ports/secrets.ts';
import { keyIdOf } from '../../signing/rules/active-signer.ts';
import { isoTime } from '../../signing/rules/attestation.ts';
import { deploymentStreamFrames } from '../frames.ts';

export const hostedDeploymentFrames = {
  ruleset_updated: {
    summary:
      'A ruleset version is deployed to an environment, or signed with a new key; also at connect, if ' +
      'the agent does not run the deployed version. The YAML is at `GET /v1/rulesets/{name}/current`.',
    data: z.object({
      type: z.literal('ruleset_updated'),
      name: z.string(),
      version: z.number().int().min(1),
      revision_hash: hex(64),
      env,
      /** Version that ran before. Null if none did, or if the frame repeats a deployment. */
      previous_version: z.number().int().nullable(),
      deployed_at: z.iso.datetime(),
      /** Base64 of Ed25519 over the YAML's bytes. */
      signature: z.string(),
      public_key: hex(64),
      key_id: hex(16),
    }),
  },
  contract_update: {
    ...deploymentStreamFrames.contract_update,
    summary:
      'The same with the document, for a stream that names its bundle, is assigned one, or fetched only that ' +
      'one. The signature is base64.',
  },
} satisfies FrameTable;

export type Digests = Pick<Secrets, 'sha256'>;

const make = eventMaker(hostedDeploymentFrames);

/** @param digests make the id of a key: the beginning of its digest */
export const hostedDeploymentMakers = (
  digests: Digests,
): Pick<FrameMakers, 'bundleDeployed' | 'deploymentResigned' | 'deploymentDue'> => ({
  bundleDeployed: ({ acceptedAt, ...announced }) =>
    updates(digests, announced, { ...signed(announced), ...omitUndefined({ acceptedAt }) }),
  deploymentResigned: (announced) => updates(digests, announced, signed(announced)),
  deploymentDue: ({ agentId, ...announced }) =>
    updates(digests, announced, agentId === null ? {} : { agent: agentId }),
});

function updates(
  digests: Digests,
  { deployment, yaml, successions, previousVersion = null }: Announcements['bundleDeployed'],
  more: Pick<FrameHeader, 'agent' | 'acceptedAt'> & { readonly key?: string },
): readonly Frame[] {
  const { tenantId, env, bundleName, version, revisionHash, publicKey } = deployment;
  const { key, acceptedAt, ...to } = more;
  const header = (what: string) => ({
    audience: hostedAgentsOf(tenantId, env),
    bundle: bundleName,
    ...to,
    ...(key === undefined ? {} : { idempotencyKey: `${key}:${what}` }),
  });
  const signature = encodeSignature(deployment.signature, 'base64');
  return [
    frame(
      // Clients know by themselves which ruleset they run, and read no assignment out of their stream.
      { ...header('ruleset'), anyAssignment: true },
      make('ruleset_updated', {
        name: bundleName,
        version,
        revision_hash: revisionHash,
        env,
        previous_version: previousVersion,
        deployed_at: isoTime(deployment.createdAt),
        signature,
        public_key: publicKey,
        key_id: keyIdOf(digests, publicKey),
      }),
    ),
    frame(
      acceptedAt === undefined ? header('update') : { ...header('update'), acceptedAt },
      make('contract_update', {
        bundle_name: bundleName,
        version,
        revision_hash: revisionHash,
        signature,
        public_key: publicKey,
        yaml_bytes: Buffer.from(yaml.buffer, yaml.byteOffset, yaml.byteLength).toString('base64'),
        env,
        tenant_id: tenantId,
        ...provenance(deployment, successions),
      }),
    ),
  ];
}

const signed = ({ deployment }: Announcements['deploymentResigned']) => ({
  key: `deployment:${deployment.id}:${deployment.signingKeyId}`,
});
