// The settings of the identity provider: read together, because one makes sense with the others alone.

import { anyEnv, type EnvRole, maxEnvRoles } from '../shared/env-roles.ts';
import { isEnv } from '../shared/ids.ts';
import { isOperatorRole, operatorRoles } from '../shared/principal.ts';
import { type OidcSettings, usualRoleClaims, usualWorkspaceClaims } from '../user/rules/oidc.ts';
import { readSwitch, switchWords } from './environment.ts';

const list = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** https, or http on this machine. */
function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (
    protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname))
  );
}

/** `operator`, or `operator@staging`; null: neither. */
function readRole(text: unknown): EnvRole | null {
  if (typeof text !== 'string') return null;
  const [role, env = anyEnv, more] = text.split('@');
  if (!isOperatorRole(role) || more !== undefined || (env !== anyEnv && !isEnv(env))) return null;
  return role === 'admin' && env !== anyEnv ? null : { role, env };
}

type RoleMap = OidcSettings['roleMap'];

function readRoleMap(text: string): RoleMap | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    const map: { [word: string]: readonly EnvRole[] } = {};
    for (const [word, member] of Object.entries(value)) {
      const roles = [member].flat().map(readRole);
      if (roles.length === 0 || roles.length > maxEnvRoles || roles.includes(null)) return null;
      map[word] = roles.flatMap((role) => role ?? []);
    }
    return map;
  } catch {
    return null;
  }
}

/**
 * Null without OIDC_ISSUER.
 * @param fail notes that a setting is wrong, and what fits
 */
export function readOidc(
  get: (name: string) => string,
  fail: (name: string, expected: string) => void,
  baseUrl: string,
): OidcSettings | null {
  const issuer = get('OIDC_ISSUER');
  if (issuer === '') {
    const alone = ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_AUDIENCE'].find((name) => get(name) !== '');
    if (alone !== undefined) fail('OIDC_ISSUER', `must be set with ${alone}`);
    return null;
  }
  if (!isAddress(issuer)) fail('OIDC_ISSUER', 'must be an https URL (http only on this machine)');
  if (issuer === baseUrl) fail('OIDC_ISSUER', 'must not be BASE_URL, because the hub issues its own tokens');
  const audiences = list(get('OIDC_AUDIENCE'));
  const clientId = get('OIDC_CLIENT_ID');
  const clientSecret = get('OIDC_CLIENT_SECRET');
  if ((clientId === '') !== (clientSecret === '')) {
    fail('OIDC_CLIENT_ID', 'and OIDC_CLIENT_SECRET must be set together');
  }
  if (audiences.length === 0 && clientId === '') {
    fail('OIDC_AUDIENCE', 'must name the audience of tokens for this hub, unless OIDC_CLIENT_ID is set');
  }
  const rolesFrom = get('OIDC_ROLES');
  if (rolesFrom !== 'claims' && rolesFrom !== 'here') fail('OIDC_ROLES', 'must be claims or here');
  const jwksUrl = get('OIDC_JWKS_URL');
  if (jwksUrl !== '' && !isAddress(jwksUrl)) {
    fail('OIDC_JWKS_URL', 'must be an https URL (http only on this machine)');
  }
  const defaultRole = get('OIDC_DEFAULT_ROLE');
  if (defaultRole !== '' && !isOperatorRole(defaultRole)) {
    fail('OIDC_DEFAULT_ROLE', `must be one of ${operatorRoles.join(', ')}`);
  }
  const autoProvision = readSwitch(get('AUTO_PROVISION'));
  if (autoProvision === null) fail('AUTO_PROVISION', switchWords);
  const map = get('OIDC_ROLE_MAP');
  const roleMap = map === '' ? {} : readRoleMap(map);
  if (roleMap === null) {
    fail(
      'OIDC_ROLE_MAP',
      `must be a JSON object that maps words to the roles ${operatorRoles.join(', ')}, to a role in an environment as in operator@staging, or to a list of these`,
    );
  }
  const claims = (name: string, usual: readonly string[]): readonly string[] => {
    const listed = list(get(name));
    return listed.length === 0 ? usual : listed;
  };
  return {
    issuer,
    audiences,
    jwksUrl: jwksUrl || null,
    workspaceClaims: claims('OIDC_WORKSPACE_CLAIM', usualWorkspaceClaims),
    roleClaims: claims('OIDC_ROLE_CLAIM', usualRoleClaims),
    roleMap: roleMap ?? {},
    defaultRole: isOperatorRole(defaultRole) ? defaultRole : null,
    autoProvision: autoProvision === true,
    login: clientId === '' ? null : { clientId, clientSecret, name: get('OIDC_NAME') },
    rolesFrom: rolesFrom === 'here' ? 'here' : 'claims',
  };
}
