// Reads an identity provider's tokens: the claims with workspace and role, and the words for roles. Pure.

import { anyEnv, type EnvRole, includesRole, roleIn } from '../../shared/env-roles.ts';
import { isOperatorRole, type OperatorRole } from '../../shared/principal.ts';
import { emailClaims } from '../record.ts';

/** The installation's identity provider. */
export interface OidcSettings {
  /** Exactly as tokens contain it. */
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Address of its keys; null: the one in its discovery document. */
  readonly jwksUrl: string | null;
  /** Paths of claims, names separated by dots; the first that is there counts. */
  readonly workspaceClaims: readonly string[];
  readonly roleClaims: readonly string[];
  /** The role that a word of the claim stands for; other words that are roles stand for themselves. */
  readonly roleMap: { readonly [word: string]: readonly EnvRole[] };
  /** Of who has no role or an unknown one; null: is refused. */
  readonly defaultRole: OperatorRole | null;
  /** True if an admin's token creates the tenant of an unlinked workspace. */
  readonly autoProvision: boolean;
  /** People sign in to the console through it; null: they do not. */
  readonly login: OidcLoginSettings | null;
  /** True if the roles of people follow the claims at each sign-in; false if the console gives them. */
  readonly rolesFrom: 'claims' | 'here';
}

export interface OidcLoginSettings {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Name on the sign-in page. */
  readonly name: string;
}

export const usualWorkspaceClaims = ['workspace_id', 'org_id', 'o.id'];
export const usualRoleClaims = ['role', 'org_role', 'o.rol', 'roles'];

type Claims = { readonly [claim: string]: unknown };

/** The value at a path; a name that holds dots itself counts before the path. */
function at(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Claims)[name];
  }
  return value;
}

/** The first text that one of the paths leads to; null when none does. */
export function textAt(claims: Claims, paths: readonly string[]): string | null {
  for (const path of paths) {
    const value = at(claims, path);
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}

/** The roles that the claims give, each once, strongest first; of who has none the default; empty: none. */
export function rolesIn(
  claims: Claims,
  { roleClaims, roleMap, defaultRole }: Pick<OidcSettings, 'roleClaims' | 'roleMap' | 'defaultRole'>,
): readonly EnvRole[] {
  const words = roleClaims.flatMap((path) => at(claims, path));
  const roles = words.flatMap((word): readonly EnvRole[] => {
    if (typeof word !== 'string') return [];
    if (Object.hasOwn(roleMap, word)) return roleMap[word] ?? [];
    return isOperatorRole(word) ? [{ role: word, env: anyEnv }] : [];
  });
  if (roles.length === 0) return defaultRole === null ? [] : [{ role: defaultRole, env: anyEnv }];
  const admin = roles.find(({ role }) => role === 'admin');
  if (admin) return [admin];
  // The strongest of each environment.
  const byEnv = new Map<string, EnvRole>();
  for (const one of roles) {
    const current = byEnv.get(one.env);
    if (!current || !includesRole(current.role, one.role)) byEnv.set(one.env, one);
  }
  return [...byEnv.values()];
}

/** The strongest role that the claims give in any environment; null when they give none. */
export const roleOf = (roles: readonly EnvRole[]): OperatorRole | null => roleIn(roles, null);

/** The name for records: the e-mail unless it is marked as not verified, else the name, else the subject. */
export function displayIn(claims: Claims): string {
  const { name, sub } = claims;
  const { email, isVerified } = emailClaims(claims);
  if (email !== null && email !== '' && isVerified !== false) return email.slice(0, 255);
  return typeof name === 'string' && name !== '' ? name.slice(0, 255) : String(sub);
}
