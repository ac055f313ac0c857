// Audit records of deployments, for every API that requests them.

import type { AuditActor, AuditNote } from '../src/audit/record.ts';
import type { Deployment } from '../src/deployment/record.ts';
import { snakeKeys } from '../src/shared/snake-keys.ts';

const system = 'system:';

/** Actor behind a name in a record that contains the name alone. */
export const namedActor = (name: string): AuditActor =>
  name.startsWith(system)
    ? { type: 'system', id: name.slice(system.length), display: name }
    : { type: 'operator', id: name, display: name };

/** The deployment's id is the note's: a repeat is recorded once. */
export const deployNote = (
  deployment: Pick<
    Deployment,
    | 'id'
    | 'tenantId'
    | 'env'
    | 'bundleName'
    | 'version'
    | 'revisionHash'
    | 'createdAt'
    | 'deployedBy'
    | 'forced'
    | 'reason'
  >,
  actor: AuditActor = namedActor(deployment.deployedBy),
): AuditNote => {
  const { bundleName, version, env, forced, reason, revisionHash } = deployment;
  return {
    id: deployment.id,
    tenantId: deployment.tenantId,
    at: deployment.createdAt,
    actor,
    action: 'ruleset.deployed',
    subject: { id: bundleName, name: bundleName },
    summary: `Version ${version} of ${bundleName} was deployed to ${env}${forced ? ' despite its errors' : ''}.`,
    details: snakeKeys({ env, version, revisionHash, forced, ...(reason === null ? {} : { reason }) }),
    agentId: null,
    sessionId: null,
  };
};

export const undeployNote = (
  what: Pick<Deployment, 'id' | 'tenantId' | 'env' | 'bundleName'> & { readonly at: number },
  actor: AuditActor,
): AuditNote => ({
  id: what.id,
  tenantId: what.tenantId,
  at: what.at,
  actor,
  action: 'ruleset.undeployed',
  subject: { id: what.bundleName, name: what.bundleName },
  summary: `${what.bundleName} was undeployed from ${what.env}.`,
  details: { env: what.env },
  agentId: null,
  sessionId: null,
});
