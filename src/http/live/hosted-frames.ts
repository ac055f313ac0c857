// The hosted API's frames of every kind of announcement, in the words of src/http/contract/hosted-frames.ts.

import type { Announcements } from '../../shared/announcement.ts';
import { eventsOf, type Frame, type FrameHeader, hostedAgentsOf } from '../../shared/frame.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { Secrets } from '../../shared/ports/secrets.ts';
import { keyIdOf } from '../../signing/rules/active-signer.ts';
import { isoTime } from '../../signing/rules/attestation.ts';
import { eventMaker } from '../contract/frames.ts';
import { hostedAgentFrames } from '../contract/hosted-frames.ts';
import { encodeSignature, provenance } from '../contract/signature.ts';
import type { ApiFrames, FrameMakers } from './announcer.ts';

/** Stands for frames that a stream has missed: a comment, because the API knows no event for it. */
export const gapType = ':gap';

const make = eventMaker(hostedAgentFrames);
const none = (): readonly Frame[] => [];

const frame = (header: Omit<FrameHeader, 'type'>, data: { readonly type: string }): Frame => ({
  ...header,
  type: data.type,
  json: Buffer.from(JSON.stringify(data)),
});

type Digests = Pick<Secrets, 'sha256'>;

/** @param digests make the id of a key: the beginning of its digest */
export const hostedFrames = (digests: Digests): ApiFrames => ({
  makers: makersOf(digests),
  resync: (audience) => frame({ audience }, { type: gapType }),
});

const makersOf = (digests: Digests): FrameMakers => ({
  bundleDeployed: ({ acceptedAt, ...announced }) =>
    updates(digests, announced, { ...signed(announced), ...omitUndefined({ acceptedAt }) }),
  deploymentResigned: (announced) => updates(digests, announced, signed(announced)),
  deploymentDue: ({ agentId, ...announced }) =>
    updates(digests, announced, agentId === null ? {} : { agent: agentId }),
  agentReassigned: ({ tenantId, env, agentId, bundleName, source }) => [
    frame(
      { audience: hostedAgentsOf(tenantId, env), agent: agentId, assigned: bundleName },
      make('assignment_changed', { agent_id: agentId, bundle_name: bundleName, source }),
    ),
  ],
  approvalRequested: none,
  approvalDecided: none,
  approvalTimedOut: none,
  approvalAssigned: none,
  callsCounted: none,
  bundleUndeployed: none,
  fleetChanged: none,
  toolPinsChanged: none,
  isolationChanged: none,
  agentsAssigned: none,
  assignmentRuleChanged: none,
  signingKeyRotated: none,
  bundleUploaded: none,
  contractCreated: none,
  contractUpdated: none,
  compositionChanged: none,
  // Nodes that have followers read them.
  eventsAccepted: ({ tenantId }) => [frame({ audience: eventsOf(tenantId) }, { type: 'stored' })],
  apiKeyCreated: none,
  apiKeyRevoked: none,
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
      header('ruleset'),
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
