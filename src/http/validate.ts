// Validation of params, query and body against a declaration, and the problems in the specification's form. Reads no
// bytes. Keeps promise P48.
import type { z } from 'zod';
import { roleRefusal } from '../shared/access.ts';
import { includesRole, roleIn } from '../shared/env-roles.ts';
import { HubError } from '../shared/error.ts';
import { isEnv } from '../shared/ids.ts';
import type { Caller } from './contract/call.ts';
import type { Problem } from './contract/request-error.ts';
import { isPersonRole, type RouteDeclaration } from './contract/route.ts';
import { problemsOf, sentences, validationFailed } from './contract/validation.ts';

export interface RequestParts {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** The value of an undeclared part. */
const nothing = Object.freeze({});

/**
 * The validated parts. All problems of all parts are reported at once, at most 50.
 * @throws HubError validation_failed
 */
export function validate(declaration: RouteDeclaration, parts: RequestParts): RequestParts {
  const problems: Problem[] = [];
  const check = (
    schema: z.ZodType | undefined,
    value: unknown,
    place: 'body' | 'query' | 'path',
  ): unknown => {
    if (!schema) return nothing;
    const result = schema.safeParse(value, sentences);
    if (result.success) return result.data;
    problems.push(...problemsOf(result.error, place));
    return nothing;
  };
  const params = check(declaration.params, parts.params, 'path');
  const query = check(declaration.query, parts.query, 'query');
  const body = declaration.parse === 'bytes' ? parts.body : check(declaration.body, parts.body, 'body');
  if (problems.length > 0) throw validationFailed(problems);
  return { params, query, body };
}

/**
 * A person needs the route's role in the environment that the request names.
 * @throws HubError forbidden (role_required)
 */
export function checkNamedEnvironment(
  { role, envs }: RouteDeclaration,
  caller: Caller,
  input: { readonly query: unknown; readonly body: unknown },
): void {
  if ((envs !== 'query' && envs !== 'body') || !isPersonRole(role)) return;
  if (caller.kind !== 'user' && caller.kind !== 'hostedOperator') return;
  const envInput = input[envs] as { readonly env?: unknown; readonly environment?: unknown } | null;
  const env = envInput?.env ?? envInput?.environment;
  if (isEnv(env) && !includesRole(roleIn(caller.roles, env), role)) throw roleRefusal(role, env);
}

/**
 * The query before its validation, because a name that is no environment differs from the key's environment too. An
 * empty environment in a key's query means its own, so it is left out.
 * @throws HubError env_mismatch when a key names another environment than its own on a route that declares
 *   `ownEnvironment`
 */
export function readOwnEnvironment<Q>({ ownEnvironment }: RouteDeclaration, caller: Caller, query: Q): Q {
  if (!ownEnvironment || caller.kind !== 'key') return query;
  const requestedEnv = (query as { readonly env?: unknown } | undefined)?.env;
  if (requestedEnv === undefined || requestedEnv === caller.env) return query;
  if (requestedEnv === '') {
    const { env: _empty, ...others } = query as Q & { readonly env: unknown };
    return others as Q;
  }
  throw new HubError(
    'env_mismatch',
    `API key is scoped to '${caller.env}', cannot access env '${String(requestedEnv).slice(0, 64)}'.`,
  );
}
