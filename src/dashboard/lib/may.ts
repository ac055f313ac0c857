// Actions that the signed-in person may not take, and why: roles that the hub's routes declare, against the person's.
import { type EnvRole, includesRole, roleIn } from '../../shared/env-roles.ts';
import type { Env } from '../../shared/ids.ts';
import type { OperatorRole } from '../../shared/principal.ts';
import { liveStatus } from '../live/live.ts';
import { consoleRoutes, type Operation } from './api.ts';
import { type HostedOperation, hostedRoutes } from './hosted.ts';
import { useSignedIn } from './me.ts';
import { useCall } from './query.ts';
import { useStore } from './store.ts';

/** The operations that change what agents enforce. Protected environments have their own rule for them. */
const enforcing: ReadonlySet<string> = new Set<Operation | HostedOperation>([
  'deployBundle',
  'undeployBundle',
  'deployComposition',
  'updateRegistration',
  'bulkAssign',
  'createRule',
  'updateRule',
  'deleteRule',
  'decideToolPin',
]);

const routes: { readonly [name: string]: { readonly method: string; readonly role?: OperatorRole } } = {
  ...consoleRoutes,
  ...hostedRoutes,
};

/**
 * A sentence that names the missing role.
 * @param envs where the role is needed; none: in any environment
 * @returns null if the roles suffice
 */
export function missingRole(
  roles: readonly EnvRole[],
  needed: OperatorRole,
  envs: readonly Env[] = [],
): string | null {
  if (envs.length === 0) {
    if (includesRole(roleIn(roles, null), needed)) return null;
    return `You need the role ${needed}. Ask an admin.`;
  }
  const missing = envs.find((env) => !includesRole(roleIn(roles, env), needed));
  return missing === undefined ? null : `You need the role ${needed} in ${missing}. Ask an admin.`;
}

/** Why an environment is off for a person; null with any role in it. */
export const envRefusal = (roles: readonly EnvRole[], env: Env): string | null =>
  roleIn(roles, env) === null ? `You have no role in ${env}. Ask an admin.` : null;

/** A sentence that names the missing role for an operation; null if none is missing. */
export function refusalOf(
  roles: readonly EnvRole[],
  operation: Operation | HostedOperation | undefined,
  envs: readonly Env[] = [],
): string | null {
  const needed = operation && routes[operation]?.role;
  return needed === undefined ? null : missingRole(roles, needed, envs);
}

/**
 * Why the signed-in person may not send this operation; null if they may.
 * @param envs the environments that it changes; none: the role in any environment suffices
 */
export function useRefusal(
  operation: Operation | HostedOperation | undefined,
  envs: readonly Env[] = [],
): string | null {
  const { roles } = useSignedIn();
  const isEnforcing = operation !== undefined && enforcing.has(operation) && envs.length > 0;
  const { data } = useCall('listEnvironments', {}, { enabled: isEnforcing });
  const missing = refusalOf(roles, operation, envs);
  if (missing !== null || !isEnforcing) return missing;
  const closed = data?.environments.find((one) => envs.includes(one.env) && one.protected && !one.can_change);
  return closed === undefined
    ? null
    : `${closed.env} is protected. You need the role operator for ${closed.env} itself, or admin.`;
}

/** Why a button that needs the hub is off; null while the hub responds. */
export const useStaleReason = (): string | null =>
  useStore(liveStatus).state === 'stale'
    ? 'The hub is not responding. Wait until the connection returns.'
    : null;

/**
 * Why the signed-in person cannot send this operation now; null if they can.
 * @param envs the environments that it changes; none: the role in any environment suffices
 */
export function useActionBlockReason(
  operation: Operation | HostedOperation | undefined,
  envs?: readonly Env[],
): string | null {
  const staleReason = useStaleReason();
  const refusal = useRefusal(operation, envs);
  return staleReason ?? refusal;
}
