// An identity provider for tests that signs in whoever the test says, without a page: a certified one (oidc-provider)
// whose only interaction is a redirect. It knows back-channel logout, can be away, and can change its key.
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK } from 'jose';
import Provider from 'oidc-provider';

export interface Account {
  readonly sub: string;
  readonly [claim: string]: unknown;
}

export const client = { id: 'console', secret: 'a-secret-of-the-client-of-the-console' };

export class SignInProvider {
  readonly #server: Server = createServer((request, response) => {
    if (this.isAway) return void request.socket.destroy();
    this.#handler?.(request, response);
  });
  #handler: RequestListener | null = null;
  #keys = 0;
  #redirectUri = '';
  #logoutUri = '';
  readonly accounts = new Map<string, Account>();
  /** Whom the next sign-in is of. */
  signsIn = '';
  isAway = false;

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<void> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
  }

  /** @param hubUrl where the hub is */
  async serve(hubUrl: string): Promise<void> {
    this.#redirectUri = `${hubUrl}/auth/oidc/callback`;
    this.#logoutUri = `${hubUrl}/auth/oidc/backchannel-logout`;
    await this.newKey();
  }

  /** From now on tokens are signed with another key, and the old one is not known any more. */
  async newKey(): Promise<void> {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = { ...(await exportJWK(privateKey)), kid: `key-${++this.#keys}`, alg: 'RS256', use: 'sig' };
    const provider = new Provider(this.issuer, {
      jwks: { keys: [jwk] as never },
      clients: [
        {
          client_id: client.id,
          client_secret: client.secret,
          grant_types: ['authorization_code'],
          redirect_uris: [this.#redirectUri],
          response_types: ['code'],
          backchannel_logout_uri: this.#logoutUri,
          backchannel_logout_session_required: true,
        },
      ],
      cookies: { keys: ['a key of the cookies'] },
      conformIdTokenClaims: false,
      claims: {
        openid: ['sub'],
        email: ['email', 'email_verified'],
        profile: ['name', 'org_id', 'org_role', 'roles'],
      },
      features: {
        devInteractions: { enabled: false },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: { enabled: true },
      },
      pkce: { required: () => true },
      // The hub is at a private address here, which the provider's own way to fetch refuses.
      fetch: (
        url: string | URL | Request,
        { dispatcher: _none, ...options }: RequestInit & { dispatcher?: unknown } = {},
      ) => fetch(url, options),
      findAccount: (_ctx, id) => {
        const account = this.accounts.get(id);
        return account && { accountId: id, claims: async () => account };
      },
      interactions: { url: (_ctx, { uid }) => `/sign-in/${uid}` },
      loadExistingGrant: async (ctx) => {
        const grant = new ctx.oidc.provider.Grant({
          clientId: ctx.oidc.client?.clientId ?? '',
          accountId: ctx.oidc.session?.accountId ?? '',
        });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
    });
    const answer = provider.callback();
    this.#handler = async (request, response) => {
      if (!request.url?.startsWith('/sign-in/')) return answer(request, response);
      await provider.interactionFinished(request, response, { login: { accountId: this.signsIn } });
    };
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** A browser: follows redirects of hub and provider, and keeps the cookies of each. */
export class Browser {
  readonly #jars = new Map<string, Map<string, string>>();
  readonly #headers: { readonly [name: string]: string };

  /** @param headers of each request beside its cookies */
  constructor(headers: { readonly [name: string]: string } = {}) {
    this.#headers = headers;
  }

  cookies(origin: string): string {
    const jar = this.#jars.get(origin) ?? new Map();
    return [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** @param cookies as a Cookie header has them */
  set(origin: string, cookies: string): void {
    const pairs = cookies.split('; ').filter((pair) => pair !== '');
    this.#jars.set(
      origin,
      new Map(
        pairs.map((pair): [string, string] => [
          pair.slice(0, pair.indexOf('=')),
          pair.slice(pair.indexOf('=') + 1),
        ]),
      ),
    );
  }

  /** One request, whose cookies are kept. */
  async get(url: string): Promise<Response> {
    const { origin } = new URL(url);
    const headers = { ...this.#headers, Cookie: this.cookies(origin) };
    const answer = await fetch(url, { redirect: 'manual', headers });
    const jar = this.#jars.get(origin) ?? new Map<string, string>();
    this.#jars.set(origin, jar);
    for (const text of answer.headers.getSetCookie()) {
      const [pair = '', ...attributes] = text.split('; ');
      const [name = '', ...value] = pair.split('=');
      if (attributes.some((one) => /^max-age=0$/i.test(one) || /^expires=thu, 01 jan 1970/i.test(one)))
        jar.delete(name);
      else jar.set(name, value.join('='));
    }
    return answer;
  }

  /** Goes where it is sent until somebody answers with a page, or `until` holds of the next address. */
  async follow(
    url: string,
    until: (url: string) => boolean = () => false,
  ): Promise<{ url: string; answer: Response }> {
    let next = url;
    for (let hops = 0; hops < 12; hops++) {
      const answer = await this.get(next);
      const location = answer.headers.get('location');
      if (location === null) return { url: next, answer };
      const target = new URL(location, next).href;
      if (until(target)) return { url: target, answer };
      next = target;
    }
    throw new Error(`too many redirects, last to ${next}`);
  }
}
