// The settings of the identity provider: what is read, and what is refused in which words.
import { expect, it } from 'vitest';
import { readConfig } from '../../src/hub/config.ts';

const issuer = { OIDC_ISSUER: 'https://issuer.example', OIDC_AUDIENCE: 'a, b' };

it('are none without an issuer, and have the usual claims without others', () => {
  expect(readConfig({}).oidc).toBeNull();
  expect(readConfig(issuer).oidc).toEqual({
    issuer: 'https://issuer.example',
    audiences: ['a', 'b'],
    jwksUrl: null,
    workspaceClaims: ['workspace_id', 'org_id', 'o.id'],
    roleClaims: ['role', 'org_role', 'o.rol', 'roles'],
    roleMap: {},
    defaultRole: null,
    autoProvision: false,
    login: null,
    rolesFrom: 'claims',
  });
  expect(readConfig({ ...issuer, AUTO_PROVISION: 'On' }).oidc?.autoProvision).toBe(true);
  expect(readConfig({ ...issuer, OIDC_ISSUER: 'http://127.0.0.1:9' }).oidc?.issuer).toBe(
    'http://127.0.0.1:9',
  );
});

it.each([
  [{ ...issuer, OIDC_ISSUER: 'http://issuer.example' }, 'OIDC_ISSUER'],
  [{ ...issuer, OIDC_ISSUER: 'https://hub.example', BASE_URL: 'https://hub.example' }, 'OIDC_ISSUER'],
  [{ OIDC_ISSUER: 'https://issuer.example' }, 'OIDC_AUDIENCE'],
  [{ ...issuer, OIDC_JWKS_URL: 'ftp://x' }, 'OIDC_JWKS_URL'],
  [{ ...issuer, OIDC_DEFAULT_ROLE: 'owner' }, 'OIDC_DEFAULT_ROLE'],
  [{ ...issuer, OIDC_ROLE_MAP: '{"a":"owner"}' }, 'OIDC_ROLE_MAP'],
  [{ ...issuer, AUTO_PROVISION: 'yes' }, 'AUTO_PROVISION'],
  [{ ...issuer, OIDC_ROLE_MAP: '[' }, 'OIDC_ROLE_MAP'],
])('are refused by name: %o', (env, name) => {
  expect(() => readConfig(env)).toThrow(new RegExp(`^${name}: `, 'm'));
});
