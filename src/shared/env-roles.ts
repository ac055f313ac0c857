// Roles by environment: the ladder viewer < approver < operator < admin, held in one environment or in all. Pure.
import { type Env, environments } from './ids.ts';
import { type EnvRole, type OperatorRole, operatorRoles } from './principal.ts';

export type { EnvRole };

/** Every environment. */
export const anyEnv = '*';

/** Roles of one person or program. */
export const maxEnvRoles = 8;

export const adminRoles: readonly EnvRole[] = [{ role: 'admin', env: anyEnv }];
export const memberRoles: readonly EnvRole[] = [{ role: 'operator', env: anyEnv }];

export const isAdmin = (roles: readonly EnvRole[]): boolean => roles.some(({ role }) => role === 'admin');

/** The strongest of the roles; null: none. */
function strongest(roles: readonly EnvRole[]): OperatorRole | null {
  const ranks = roles.map(({ role }) => operatorRoles.indexOf(role));
  return operatorRoles[Math.max(-1, ...ranks)] ?? null;
}

/** The strongest role in an environment, or with null in any; null: none. */
export const roleIn = (roles: readonly EnvRole[], env: string | null): OperatorRole | null =>
  strongest(env === null ? roles : roles.filter((one) => one.env === env || one.env === anyEnv));

/** True when `role` is the wanted one or includes it. */
export const includesRole = (role: OperatorRole | null, required: OperatorRole): boolean =>
  role !== null && operatorRoles.indexOf(role) >= operatorRoles.indexOf(required);

/** The environments of the roles, for reading; null: all. */
export function envsOf(roles: readonly EnvRole[]): readonly Env[] | null {
  const held = environments.filter((env) => roleIn(roles, env) !== null);
  return held.length === environments.length ? null : held;
}

/** `operator on staging, viewer on *` */
export const rolesText = (roles: readonly EnvRole[]): string =>
  roles.map(({ role, env }) => `${role} on ${env}`).join(', ');
