// Frames of deployments on the streams of the console API.

import { z } from 'zod';
import { env, uuid } from '../http/contract/fields.ts';
import {
  event,
  eventMaker,
  type FrameTable,
  hex,
  traceparent,
  version,
} from '../http/contract/frame-table.ts';
import {
  encodeSignature,
  provenance,
  provenanceFields,
  type SignatureEncoding,
} from '../http/contract/signature.ts';
import { type FrameMakers, frame, toDashboards, traceOf } from '../http/live/frame-makers.ts';
import type { Announcements } from '../shared/announcement.ts';
import { agentsOf, dashboardsOf, type FrameHeader } from '../shared/frame.ts';
import { omitUndefined } from '../shared/omit-undefined.ts';

export const deploymentStreamFrames = {
  contract_update: event(
    'contract_update',
    'A bundle is deployed to an environment, or its deployment is signed with a new key. An agent receives those in ' +
      'its environment, or for the bundle that it follows; also at connect, if it does not run the deployed document.',
    {
      bundle_name: z.string(),
      version,
      /** SHA-256 of the YAML. */
      revision_hash: hex(64),
      /** Ed25519 over the YAML's bytes, as 128 hex characters, or as base64 where the hub is set so. */
      signature: z.string(),
      public_key: hex(64),
      /** Base64. */
      yaml_bytes: z.base64(),
      env,
      tenant_id: uuid,
      ...provenanceFields,
      traceparent,
    },
  ),
} satisfies FrameTable;

export const deploymentDashboardFrames = {
  ...deploymentStreamFrames,
  bundle_deployed: event(
    'bundle_deployed',
    'A bundle version is deployed, after its `contract_update`; or a bundle is undeployed.',
    {
      bundle_name: z.string(),
      /** Null when the bundle is taken away. */
      version: version.nullable(),
      env,
      deployed_by: z.string(),
      /** Present when an admin deployed it although the document has errors. */
      forced: z.literal(true).optional(),
      /** Present if the deployer gave a reason. */
      reason: z.string().optional(),
      /** Present when the bundle is taken away: agents keep what they have. */
      undeployed: z.literal(true).optional(),
    },
  ),
} satisfies FrameTable;

type Deployed = Announcements['deploymentResigned'];

const forAgents = eventMaker(deploymentStreamFrames);
const forDashboards = eventMaker(deploymentDashboardFrames);

/** @param encoding how contract updates write their signature */
export const deploymentMakers = (
  encoding: SignatureEncoding,
): Pick<FrameMakers, 'bundleDeployed' | 'bundleUndeployed' | 'deploymentResigned' | 'deploymentDue'> => ({
  bundleDeployed(announced) {
    const { tenantId, id, bundleName, version, env, deployedBy, forced, reason } = announced.deployment;
    const { acceptedAt } = announced;
    const agents = update(encoding, announced, {
      idempotencyKey: signed(announced),
      ...omitUndefined({ acceptedAt }),
    });
    const audience = dashboardsOf(tenantId);
    const key = `deployment:${id}`;
    return [
      agents,
      // Without a bundle: a dashboard sees all environments, whose updates must not take each other's place.
      { audience, envs: [env], idempotencyKey: `${key}:update`, type: agents.type, json: agents.json },
      ...toDashboards(
        tenantId,
        forDashboards('bundle_deployed', {
          bundle_name: bundleName,
          version,
          env,
          deployed_by: deployedBy,
          ...(forced ? { forced } : {}),
          ...(reason ? { reason } : {}),
        }),
        { envs: [env], idempotencyKey: key },
      ),
    ];
  },
  bundleUndeployed: ({ deployment: { tenantId, id, bundleName, env }, undeployedBy }) =>
    toDashboards(
      tenantId,
      forDashboards('bundle_deployed', {
        bundle_name: bundleName,
        version: null,
        env,
        deployed_by: undeployedBy,
        undeployed: true,
      }),
      { envs: [env], idempotencyKey: `deployment:${id}:ended` },
    ),
  deploymentResigned: (announced) => [update(encoding, announced, { idempotencyKey: signed(announced) })],
  deploymentDue: ({ agentId, ...announced }) => [
    update(encoding, announced, agentId === null ? {} : { agent: agentId }),
  ],
});

/** For the agents of its environment; one that is newer takes the place of one that was not sent yet. */
const update = (
  encoding: SignatureEncoding,
  { deployment, yaml, successions }: Deployed,
  header: Pick<FrameHeader, 'agent' | 'idempotencyKey' | 'acceptedAt'>,
) =>
  frame(
    {
      audience: agentsOf(deployment.tenantId, deployment.env),
      bundle: deployment.bundleName,
      ...header,
      ...traceOf(),
    },
    forAgents('contract_update', {
      bundle_name: deployment.bundleName,
      version: deployment.version,
      revision_hash: deployment.revisionHash,
      signature: encodeSignature(deployment.signature, encoding),
      public_key: deployment.publicKey,
      yaml_bytes: Buffer.from(yaml.buffer, yaml.byteOffset, yaml.byteLength).toString('base64'),
      env: deployment.env,
      tenant_id: deployment.tenantId,
      ...provenance(deployment, successions),
    }),
  );

/** A new key makes another signature, which agents must get. */
const signed = ({ deployment }: Deployed): string => `deployment:${deployment.id}:${deployment.signingKeyId}`;
