// Checks of rights that use cases share. Keeps promises P47 and P62.
import { type EnvRole, envsOf, includesRole, roleIn } from './env-roles.ts';
import { HubError, refused } from './error.ts';
import type { Env, EnvFilter } from './ids.ts';
import { type OperatorRole, operatorRoles, type Principal, type Role } from './principal.ts';

const words: { readonly [R in Role]: string } = {
  agent: 'This request needs an API key. Send one as a bearer token.',
  viewer: 'Your credentials do not allow reading. Use a role or an API key that does.',
  approver: 'Your role does not allow decisions. Ask an admin for the role approver.',
  operator: 'Your role does not allow changes. Ask an admin for the role operator.',
  admin: 'Admin access required.',
};

type Rights = Pick<Principal, 'roles' | 'envRoles'>;

/** The rights of somebody with these roles. */
export const rightsOf = (envRoles: readonly EnvRole[]): Rights => {
  const strongest = roleIn(envRoles, null);
  return { roles: new Set(operatorRoles.filter((role) => includesRole(strongest, role))), envRoles };
};

/** True when the principal has the role in the environment, or with null in any. */
export function holdsRole({ roles, envRoles }: Rights, role: Role, env: Env | null): boolean {
  if (envRoles === null || env === null || role === 'agent') return roles.has(role);
  return includesRole(roleIn(envRoles, env), role);
}

/** True for an admin who is a person: service accounts list neither people nor service accounts. */
export const mayListPeople = (principal: Pick<Principal, 'roles' | 'envRoles' | 'actor'>): boolean =>
  principal.actor.kind !== 'service' && holdsRole(principal, 'admin', null);

export const roleRefusal = (role: OperatorRole, env: Env): HubError =>
  new HubError('role_required', `This request needs the role ${role} in ${env}. Ask an admin for the role.`);

/**
 * @param env the environment that is changed or named; null: the role in any one suffices
 * @throws HubError forbidden when the principal has not the role
 */
export function requireRole(principal: Principal, role: Role, env: Env | null = null): void {
  if (holdsRole(principal, role, env)) return;
  if (env === null || role === 'agent' || !principal.roles.has(role))
    throw refused('role_required', words[role]);
  throw roleRefusal(role, env);
}

/** True when records of the environment exist for the principal. */
export const seesEnv = (principal: Pick<Principal, 'env' | 'envRoles'>, env: string): boolean =>
  (principal.env === null || principal.env === env) &&
  (principal.envRoles === null || roleIn(principal.envRoles, env) !== null);

/** Agent with the environments where it was seen. */
interface SeenAgent {
  readonly lastEnv: Env | null;
  readonly seenEnvs: readonly Env[];
}

/** The environment in which the principal sees an agent, the last one first; null: in none. */
export const visibleEnvOf = (
  principal: Pick<Principal, 'env' | 'envRoles'>,
  { lastEnv, seenEnvs }: SeenAgent,
): Env | null =>
  [...(lastEnv === null ? [] : [lastEnv]), ...seenEnvs].find((env) => seesEnv(principal, env)) ?? null;

/** True when the agent was seen where the principal has a role, or nowhere. */
export const seesAgent = (principal: Pick<Principal, 'env' | 'envRoles'>, agent: SeenAgent): boolean =>
  agent.seenEnvs.length === 0 || visibleEnvOf(principal, agent) !== null;

/** The environments whose records exist for the principal; null: all. */
export function visibleEnvs({ env, envRoles }: Pick<Principal, 'env' | 'envRoles'>): readonly Env[] | null {
  if (env !== null) return [env];
  return envRoles === null ? null : envsOf(envRoles);
}

/** A person who names an environment needs a role there. @throws HubError forbidden (role_required) */
export function requireSight(principal: Pick<Principal, 'envRoles'>, env: Env): void {
  if (principal.envRoles !== null && roleIn(principal.envRoles, env) === null)
    throw roleRefusal('viewer', env);
}

/**
 * The environments of a principal's list: its own, the named one, or all that it sees.
 * @throws HubError forbidden (role_required) when it has no role in the named one
 */
export function listedEnvs(principal: Pick<Principal, 'env' | 'envRoles'>, filter: EnvFilter): EnvFilter {
  if (principal.env !== null) return principal.env;
  if (typeof filter === 'string') requireSight(principal, filter);
  if (filter !== null) return filter;
  const envs = visibleEnvs(principal);
  return envs?.length === 1 ? (envs[0] ?? null) : envs;
}
