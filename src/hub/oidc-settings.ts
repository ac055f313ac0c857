// The settings of the identity provider: read together, because one makes sense with the others alone.

import { isOperatorRole, type OperatorRole, operatorRoles } from '../shared/principal.ts';
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

function readRoleMap(text: string): { readonly [word: string]: OperatorRole } | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return Object.values(value).every(isOperatorRole) ? (value as { [word: string]: OperatorRole }) : null;
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
  fail: (name: string, wanted: string) => void,
  baseUrl: string,
): OidcSettings | null {
  const issuer = get('OIDC_ISSUER');
  if (issuer === '') return null;
  if (!isAddress(issuer)) fail('OIDC_ISSUER', 'must be an https URL (http only on this machine)');
  if (issuer === baseUrl) fail('OIDC_ISSUER', 'must not be BASE_URL, because the hub issues its own tokens');
  const audiences = list(get('OIDC_AUDIENCE'));
  if (audiences.length === 0) fail('OIDC_AUDIENCE', 'must name the audience of tokens for this hub');
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
    fail('OIDC_ROLE_MAP', `must be a JSON object that maps words to the roles ${operatorRoles.join(', ')}`);
  }
  const claims = (name: string, usual: readonly string[]): readonly string[] => {
    const named = list(get(name));
    return named.length === 0 ? usual : named;
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
  };
}
