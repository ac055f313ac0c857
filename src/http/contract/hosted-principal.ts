// The hosted API's callers as principals: a key acts for agents, in its environment if it is bound to one; an operator
// by the token's role.

import { rightsOf } from '../../shared/access.ts';
import type { Env } from '../../shared/ids.ts';
import type { KeyPrincipal, Principal, Role } from '../../shared/principal.ts';
import type { Caller } from './call.ts';

const keyRoles: ReadonlySet<Role> = new Set(['agent']);

export type HostedCaller = Extract<Caller, { kind: 'hostedKey' | 'hostedOperator' }>;

export function principalOf(caller: HostedCaller): Principal {
  if (caller.kind === 'hostedOperator') {
    return {
      tenantId: caller.tenantId,
      env: null,
      ...rightsOf(caller.roles),
      actor: caller.service
        ? { kind: 'service', id: caller.subject, name: caller.display }
        : { kind: 'operator', id: `${caller.issuer} ${caller.subject}`, display: caller.display },
      agentId: null,
      agentPattern: null,
      ...(caller.request === undefined ? {} : { request: caller.request }),
    };
  }
  return {
    tenantId: caller.tenantId,
    env: caller.env,
    roles: keyRoles,
    envRoles: null,
    actor: { kind: 'key', id: caller.keyId, prefix: caller.keyPrefix },
    agentId: caller.agentId,
    agentPattern: caller.agentPattern,
  };
}

type HostedKey = Extract<Caller, { kind: 'hostedKey' }>;

/** @param env where it acts when it is bound to no environment */
export const keyPrincipalOf = (caller: HostedKey, env: Env = 'production'): KeyPrincipal => ({
  tenantId: caller.tenantId,
  env: caller.env ?? env,
  roles: keyRoles,
  envRoles: null,
  actor: { kind: 'key', id: caller.keyId, prefix: caller.keyPrefix },
  agentId: caller.agentId,
  agentPattern: caller.agentPattern,
  keyId: caller.keyId,
  network: caller.network,
  api: 'hosted',
});
