// The console API's frames of every kind of announcement, in the words of src/http/contract/frames.ts.

import type { Announcements } from '../../shared/announcement.ts';
import { agentsOf, dashboardsOf, type Frame, type FrameHeader } from '../../shared/frame.ts';
import type { Env } from '../../shared/ids.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { currentTrace } from '../../shared/tracing.ts';
import { consoleAgentFrames, consoleDashboardFrames, eventMaker } from '../contract/frames.ts';
import { iso } from '../contract/render.ts';
import { encodeSignature, provenance, type SignatureEncoding } from '../contract/signature.ts';
import type { ApiFrames, FrameMakers } from './announcer.ts';

type Deployed = Announcements['deploymentResigned'];

/** In place of agent ids, where many were assigned at once. */
const bulkId = '__bulk__';

const forAgents = eventMaker(consoleAgentFrames);
const forDashboards = eventMaker(consoleDashboardFrames);

const traceOf = (): Pick<FrameHeader, 'trace'> => {
  const trace = currentTrace();
  return trace === null ? {} : { trace };
};

/** A frame of an event; its data is written here, for all who get it. */
const frame = (header: Omit<FrameHeader, 'type'>, data: { readonly type: string }): Frame => ({
  ...header,
  type: data.type,
  json: Buffer.from(JSON.stringify(data)),
});

const toDashboards = (
  tenantId: string,
  data: { readonly type: string },
  { envs, idempotencyKey }: { readonly envs?: readonly Env[]; readonly idempotencyKey?: string } = {},
): readonly Frame[] => [
  frame(
    {
      audience: dashboardsOf(tenantId),
      ...(envs ? { envs } : {}),
      ...(idempotencyKey ? { idempotencyKey } : {}),
    },
    data,
  ),
];

/** @param encoding how contract updates write their signature */
export const consoleFrames = (encoding: SignatureEncoding): ApiFrames => ({
  makers: { ...makers, ...updateMakersOf(encoding) },
  resync: (audience, reason) => frame({ audience }, forAgents('resync', reason ? { reason } : {})),
});

type UpdateKind = 'bundleDeployed' | 'deploymentResigned' | 'deploymentDue';

const makers: Omit<FrameMakers, UpdateKind> = {
  approvalRequested: ({ approval: { tenantId, env, id, agentId, toolName, message } }) =>
    toDashboards(
      tenantId,
      forDashboards('approval_created', {
        approval_id: id,
        agent_id: agentId,
        tool_name: toolName,
        message,
      }),
      { envs: [env], idempotencyKey: `approval:${id}:pending` },
    ),

  approvalDecided({ approval }) {
    const { tenantId, env, id, agentId, status, decidedBy } = approval;
    if (status !== 'approved' && status !== 'denied') return [];
    const idempotencyKey = `approval:${id}:${status}`;
    const data = forAgents('approval_decided', { approval_id: id, status, decided_by: decidedBy });
    return [
      frame({ audience: agentsOf(tenantId, env), agent: agentId, idempotencyKey, ...traceOf() }, data),
      ...toDashboards(tenantId, data, { envs: [env], idempotencyKey }),
    ];
  },

  // Agents receive no frame about requests and timeouts: they know their own deadline.
  approvalTimedOut: ({ approval: { tenantId, env, id, agentId, toolName } }) =>
    toDashboards(
      tenantId,
      forDashboards('approval_timeout', { approval_id: id, agent_id: agentId, tool_name: toolName }),
      { envs: [env], idempotencyKey: `approval:${id}:timeout` },
    ),

  approvalAssigned: ({ approval: { tenantId, env, id, assignee } }) => [
    frame(
      { audience: dashboardsOf(tenantId), envs: [env], part: 'assignments' },
      forDashboards('approval_assigned', {
        approval_id: id,
        assignee: assignee && { ...assignee, since: iso(assignee.since) },
      }),
    ),
  ],

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

  agentReassigned: ({ tenantId, env, agentId, bundleName, source }) => [
    frame(
      { audience: agentsOf(tenantId, env), agent: agentId, assigned: bundleName },
      forAgents('assignment_changed', { agent_id: agentId, bundle_name: bundleName, source }),
    ),
  ],
  fleetChanged: ({ tenantId, env, numbers: { connected, current, drift, unknown } }) => [
    frame(
      { audience: dashboardsOf(tenantId), envs: [env], fleet: env },
      forDashboards('fleet_changed', { env, connected, current, drift, unknown }),
    ),
  ],
  agentsAssigned: ({ tenantId, agentIds, bundleName, envs, bulk }) =>
    (bulk ? [bulkId] : agentIds).flatMap((agentId) =>
      toDashboards(
        tenantId,
        forDashboards('assignment_changed', {
          agent_id: agentId,
          bundle_name: bundleName,
          source: 'explicit',
        }),
        { envs },
      ),
    ),
  assignmentRuleChanged: ({ tenantId, ruleId, envs, change }) =>
    toDashboards(tenantId, forDashboards('assignment_changed', { rule_id: ruleId, action: change }), {
      envs,
    }),
  toolPinsChanged: ({ tenantId, env, server, sequence, isForAgents }) => [
    ...(isForAgents
      ? [
          frame(
            { audience: agentsOf(tenantId, env), tools: true },
            forAgents('tool_pins_changed', { server, sequence }),
          ),
        ]
      : []),
    frame(
      { audience: dashboardsOf(tenantId), envs: [env], tools: true },
      forDashboards('tool_pins_changed', { server, sequence, env }),
    ),
  ],
  isolationChanged: ({ tenantId, env, isolation }) => [
    frame(
      { audience: agentsOf(tenantId, env), part: 'isolation' },
      forAgents('isolation_changed', { isolation }),
    ),
  ],
  signingKeyRotated: ({ tenantId, publicKey }) =>
    toDashboards(tenantId, forDashboards('signing_key_rotated', { public_key: publicKey })),

  bundleUploaded: ({ bundle: { tenantId, name, version, revisionHash, uploadedBy } }) =>
    toDashboards(
      tenantId,
      forDashboards('bundle_uploaded', {
        bundle_name: name,
        version,
        revision_hash: revisionHash,
        uploaded_by: uploadedBy,
      }),
    ),
  contractCreated: ({ tenantId, contractId, version }) =>
    toDashboards(tenantId, forDashboards('contract_created', contract(contractId, version))),
  contractUpdated: ({ tenantId, contractId, version }) =>
    toDashboards(tenantId, forDashboards('contract_updated', contract(contractId, version))),
  compositionChanged: ({ tenantId, name, bundleVersion }) =>
    toDashboards(
      tenantId,
      forDashboards('composition_changed', {
        composition_name: name,
        ...(bundleVersion === null ? {} : { bundle_version: bundleVersion }),
      }),
    ),
  eventsAccepted: ({ tenantId, env, accepted }) =>
    toDashboards(tenantId, forDashboards('event_created', { accepted }), { envs: [env] }),
  callsCounted: ({ tenantId, env, minute, counts: { allowed, denied, observed, pending } }) => [
    frame(
      { audience: dashboardsOf(tenantId), envs: [env], part: 'stats' },
      forDashboards('stats_changed', {
        env,
        minute: iso(minute),
        ...{ allowed, denied, would_deny: observed, asked: pending },
      }),
    ),
  ],
  apiKeyCreated: ({ tenantId, keyId, env, label }) =>
    toDashboards(
      tenantId,
      forDashboards('api_key_created', { key_id: keyId, env, label }),
      env === null ? {} : { envs: [env] },
    ),
  apiKeyRevoked: ({ tenantId, keyId, env }) =>
    toDashboards(
      tenantId,
      forDashboards('api_key_revoked', { key_id: keyId }),
      env === null ? {} : { envs: [env] },
    ),
};

/** Makers of frames that contain the signed document. */
const updateMakersOf = (encoding: SignatureEncoding): Pick<FrameMakers, UpdateKind> => ({
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

const contract = (contractId: string, version: number | null) => ({
  contract_id: contractId,
  ...(version === null ? {} : { version }),
});
