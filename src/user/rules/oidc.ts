// Reads an identity provider's tokens: the claims with workspace and role, and the words for roles. Pure.
import { isOperatorRole, type OperatorRole, operatorRoles } from '../../shared/principal.ts';

/** The installation's identity provider. */
export interface OidcSettings {
  /** Exactly as tokens say it. */
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Where its keys are; null: where its discovery document says. */
  readonly jwksUrl: string | null;
  /** Paths of claims, names separated by dots; the first that is there counts. */
  readonly workspaceClaims: readonly string[];
  readonly roleClaims: readonly string[];
  /** The role that a word of the claim stands for; other words that are roles stand for themselves. */
  readonly roleMap: { readonly [word: string]: OperatorRole };
  /** Of who has no role or an unknown one; null: is refused. */
  readonly defaultRole: OperatorRole | null;
  /** True if an admin's token creates the tenant of an unlinked workspace. */
  readonly autoProvision: boolean;
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

/** The strongest role that the claims give; null when they give none. */
export function roleIn(
  claims: Claims,
  { roleClaims, roleMap, defaultRole }: Pick<OidcSettings, 'roleClaims' | 'roleMap' | 'defaultRole'>,
): OperatorRole | null {
  const words = roleClaims.flatMap((path) => at(claims, path));
  const roles = words.flatMap((word) => {
    if (typeof word !== 'string') return [];
    const mapped = Object.hasOwn(roleMap, word) ? roleMap[word] : word;
    return isOperatorRole(mapped) ? [mapped] : [];
  });
  const strongest = [...operatorRoles].reverse().find((role) => roles.includes(role));
  return strongest ?? defaultRole;
}

/** The name for records: the e-mail unless it is said not to be verified, else the name, else the subject. */
export function displayIn(claims: Claims): string {
  const { email, email_verified: verified, name, sub } = claims;
  if (typeof email === 'string' && email !== '' && verified !== false) return email.slice(0, 255);
  return typeof name === 'string' && name !== '' ? name.slice(0, 255) : String(sub);
}
