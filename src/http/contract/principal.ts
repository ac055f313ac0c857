// The console API's callers as principals: a key acts for agents in its environment, a person in those of the roles.

import { rightsOf } from '../../shared/access.ts';
import type { KeyPrincipal, Principal, Role } from '../../shared/principal.ts';
import type { Caller } from './call.ts';
import { principalOf as hostedPrincipalOf } from './hosted-principal.ts';

const keyRoles: ReadonlySet<Role> = new Set(['agent']);

export function principalOf(caller: Extract<Caller, { kind: 'user' | 'key' | 'hostedOperator' }>): Principal {
  if (caller.kind === 'hostedOperator') return hostedPrincipalOf(caller);
  if (caller.kind === 'user') {
    return {
      tenantId: caller.tenantId,
      env: null,
      ...rightsOf(caller.roles),
      actor: caller.service
        ? { kind: 'service', id: caller.userId, name: caller.email }
        : { kind: 'user', id: caller.userId, email: caller.email },
      agentId: null,
      agentPattern: null,
      ...(caller.request === undefined ? {} : { request: caller.request }),
    };
  }
  return keyPrincipalOf(caller);
}

export const keyPrincipalOf = (caller: Extract<Caller, { kind: 'key' }>): KeyPrincipal => ({
  tenantId: caller.tenantId,
  env: caller.env,
  roles: keyRoles,
  envRoles: null,
  actor: { kind: 'key', id: caller.keyId, prefix: caller.keyPrefix },
  agentId: caller.agentId,
  agentPattern: caller.agentPattern,
  keyId: caller.keyId,
  network: caller.network,
  api: 'console',
});
