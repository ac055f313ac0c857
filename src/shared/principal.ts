// The caller for use cases: tenant, environment, rights, and the name in records. It does not contain the credentials.

import type { KeyHolder } from '../admission/caller-name.ts';
import type { AgentScope } from './agent-scope.ts';
import type { Env } from './ids.ts';
import type { AgentApi } from './vocabulary.ts';

/** Rights of a principal. `agent` has those of an API key. */
export type Role = 'agent' | OperatorRole;

/** Roles of people and programs. Each includes the weaker ones before it. */
export const operatorRoles = ['viewer', 'approver', 'operator', 'admin'] as const;
export type OperatorRole = (typeof operatorRoles)[number];

export const isOperatorRole = (value: unknown): value is OperatorRole =>
  typeof value === 'string' && (operatorRoles as readonly string[]).includes(value);

/** A role in an environment, or (`*`) in all. An admin's is for all. */
export interface EnvRole {
  readonly role: OperatorRole;
  readonly env: Env | '*';
}

/** Actor whose name stands in records. */
export type Actor =
  | { readonly kind: 'user'; readonly id: string; readonly email: string }
  /** A person with an operator's token; `id` is issuer and subject. */
  | { readonly kind: 'operator'; readonly id: string; readonly display: string }
  | { readonly kind: 'service'; readonly id: string; readonly name: string }
  | { readonly kind: 'key'; readonly id: string; readonly prefix: string }
  /** A person whom a chat platform names; `id` is the platform's label, a colon and the platform's id. */
  | { readonly kind: 'chat'; readonly id: string; readonly display: string }
  /** The hub itself, for example `auto_deploy`. */
  | { readonly kind: 'system'; readonly name: string };

/** A request by which somebody changes something. */
export interface RequestOrigin {
  /** As X-Request-Id of the answer. */
  readonly id: string;
  /** An IPv4 address or the /64 of an IPv6 one; empty when unknown. */
  readonly network: string;
}

export interface Principal extends AgentScope {
  readonly tenantId: string;
  /** The one environment that it acts in; null: those of its roles. */
  readonly env: Env | null;
  /** Its roles in any environment. */
  readonly roles: ReadonlySet<Role>;
  /** A person's roles by environment; null: `roles` hold in every environment that `env` allows. */
  readonly envRoles: readonly EnvRole[] | null;
  readonly actor: Actor;
  /** The agent it speaks for; null when it speaks for none or names none. */
  readonly agentId: string | null;
  /** Of a person or a service account that changes something. */
  readonly request?: RequestOrigin;
}

/** An API key that acts for agents in one environment. */
export interface KeyPrincipal extends Principal, KeyHolder {
  readonly env: Env;
  readonly agentId: string | null;
  /** The API that it uses. */
  readonly api: AgentApi;
}

/** The name that records and frames show: an e-mail address, a key's prefix, or `system:<name>`. */
export function actorName(actor: Actor): string {
  switch (actor.kind) {
    case 'user':
      return actor.email;
    case 'operator':
    case 'chat':
      return actor.display;
    case 'service':
      return `service:${actor.name}`;
    case 'key':
      return actor.prefix;
    case 'system':
      return `system:${actor.name}`;
  }
}

/** The hub acting by itself in a tenant, with all rights. */
export const systemPrincipal = (tenantId: string, name: string): Principal => ({
  tenantId,
  env: null,
  roles: new Set<Role>(operatorRoles),
  envRoles: null,
  actor: { kind: 'system', name },
  agentId: null,
  agentPattern: null,
});
