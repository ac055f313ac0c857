// The sign-in port with openid-client. Calls go through the outbound guard. The provider's document is read anew every
// few minutes and its keys for each sign-in, so that a key that it changed is known at once.
import type * as Openid from 'openid-client';
import { HubError } from '../../src/shared/error.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { Outbound } from '../../src/shared/ports/outbound.ts';
import type { SignInProvider } from '../../src/shared/ports/sign-in-provider.ts';

export interface SignInProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly outbound: Pick<Outbound, 'send'>;
  readonly clock: Clock;
  readonly log: Log;
}

const documentMs = 5 * 60_000;
const timeoutMs = 5_000;
const maxBytes = 256 * 1024;
/** Loaded when somebody signs in: most hubs have no provider. */
const library = (): Promise<typeof Openid> => import('openid-client');
const scope = 'openid email profile';

export function createSignInProvider(options: SignInProviderOptions): SignInProvider {
  const { issuer, clientId, clientSecret, outbound, clock, log } = options;
  let document: { readonly metadata: Openid.ServerMetadata; readonly until: number } | null = null;

  const away = (err: unknown): HubError => {
    log.warn({ err, issuer }, 'the identity provider does not answer a sign-in');
    return new HubError('unavailable', 'The identity provider does not answer. Try again in a moment.', {
      retryAfter: 5,
    });
  };

  const fetched: Openid.CustomFetch = async (url, { method, headers, body }) => {
    const answer = await outbound.send({
      url,
      method: method as 'GET' | 'POST',
      headers: Object.fromEntries(new Headers(headers as Record<string, string>)),
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      timeoutMs,
      maxBytes,
    });
    return new Response(Buffer.from(answer.body), { status: answer.status, headers: [...answer.headers] });
  };

  const isPlain = issuer.startsWith('http:');

  async function metadata(): Promise<Openid.ServerMetadata> {
    if (document && clock.monotonic() < document.until) return document.metadata;
    const openid = await library();
    const configuration = await openid
      .discovery(new URL(issuer), clientId, clientSecret, undefined, {
        [openid.customFetch]: fetched,
        execute: isPlain ? [openid.allowInsecureRequests] : [],
      })
      .catch((err: unknown) => {
        throw away(err);
      });
    document = { metadata: configuration.serverMetadata(), until: clock.monotonic() + documentMs };
    return document.metadata;
  }

  /** Fresh for each sign-in: it holds the provider's keys. */
  async function configuration(): Promise<Openid.Configuration> {
    const openid = await library();
    const config = new openid.Configuration(await metadata(), clientId, clientSecret);
    config[openid.customFetch] = fetched;
    config.timeout = timeoutMs / 1000;
    openid.enableNonRepudiationChecks(config);
    if (isPlain) openid.allowInsecureRequests(config);
    return config;
  }

  return {
    async begin(redirectUri, { state, nonce, verifier }) {
      const openid = await library();
      const url = openid.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return url.href;
    },

    async finish(url, { state, nonce, verifier }) {
      const [openid, config] = [await library(), await configuration()];
      try {
        const tokens = await openid.authorizationCodeGrant(config, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        return { ...tokens.claims() };
      } catch (err) {
        log.warn({ err, issuer }, 'a sign-in through the identity provider was refused');
        throw new HubError(
          'unauthenticated',
          'The identity provider did not confirm this sign-in. Start again.',
        );
      }
    },
  };
}
