// A certified identity provider for tests, and a token of it: its one client is an operator of workspace `acme`.
import type { KeyObject } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { exportJWK } from 'jose';
import Provider from 'oidc-provider';

const client = { id: 'console', secret: 'a secret of the client' };

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

/** @param audience of the access tokens, which it signs with the first key */
export async function certifiedProvider(
  issuer: string,
  audience: string,
  keys: readonly SigningKey[],
): Promise<RequestListener> {
  const jwks = keys.map(async ({ kid, privateKey }) => {
    const jwk = await exportJWK(privateKey);
    return { ...jwk, kid, alg: 'RS256', use: 'sig' };
  });
  const provider = new Provider(issuer, {
    jwks: { keys: (await Promise.all(jwks)) as never },
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'operate',
          audience,
          accessTokenFormat: 'jwt' as const,
          accessTokenTTL: 600,
          jwt: { sign: { alg: 'RS256' as const } },
        }),
      },
    },
    extraTokenClaims: () => ({ org_id: 'acme', org_role: 'operator', sub: client.id }),
  });
  return provider.callback();
}

export async function tokenOf(issuer: string, audience: string): Promise<string> {
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience, scope: 'operate' }),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  return token;
}
