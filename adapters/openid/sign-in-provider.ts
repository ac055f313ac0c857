// The sign-in port with openid-client. Calls go through the outbound guard. The provider's document is read again every
// few minutes, and its keys for each sign-in, so that a changed key is known at once.

import type * as Openid from 'openid-client';
import { outageOf } from '../../src/admission/outages.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Claims } from '../../src/shared/ports/jwt.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import type { Outbound } from '../../src/shared/ports/outbound.ts';
import type { SignInProvider, SignInRequest } from '../../src/shared/ports/sign-in-provider.ts';

export interface SignInProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly outbound: Pick<Outbound, 'send'>;
  readonly clock: Clock;
  readonly log: Log;
}

const documentMs = 5 * 60_000;
/** Time after a failure in which the document is not fetched again, in milliseconds. */
const pauseMs = 5_000;
const timeoutMs = 5_000;
const maxBytes = 256 * 1024;
/** Loaded when somebody signs in: most hubs have no provider. */
const library = (): Promise<typeof Openid> => import('openid-client');
const scope = 'openid email profile';

class OpenidProvider implements SignInProvider {
  readonly #issuer: string;
  readonly #clientId: string;
  readonly #clientSecret: string;
  readonly #outbound: Pick<Outbound, 'send'>;
  readonly #clock: Clock;
  readonly #log: Log;
  #document: { readonly metadata: Openid.ServerMetadata; readonly until: number } | null = null;
  #fetching: Promise<Openid.ServerMetadata> | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;
  readonly #isPlain: boolean;

  constructor(options: SignInProviderOptions) {
    const { issuer, clientId, clientSecret, outbound, clock, log } = options;
    this.#issuer = issuer;
    this.#clientId = clientId;
    this.#clientSecret = clientSecret;
    this.#outbound = outbound;
    this.#clock = clock;
    this.#log = log;
    this.#isPlain = issuer.startsWith('http:');
  }

  async begin(redirectUri: string, { state, nonce, verifier }: SignInRequest): Promise<string> {
    const openid = await library();
    const url = openid.buildAuthorizationUrl(await this.#configuration(), {
      redirect_uri: redirectUri,
      scope,
      state,
      nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return url.href;
  }

  async finish(url: URL, { state, nonce, verifier }: SignInRequest): Promise<Claims> {
    const [openid, config] = [await library(), await this.#configuration()];
    try {
      const tokens = await openid.authorizationCodeGrant(config, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      return { ...tokens.claims() };
    } catch (err) {
      this.#log.warn({ err, issuer: this.#issuer }, 'a sign-in through the identity provider was refused');
      throw new HubError(
        'unauthenticated',
        'The identity provider did not confirm this sign-in. Start again.',
      );
    }
  }

  #away(err: unknown): HubError {
    this.#failedAt = this.#clock.monotonic();
    this.#log.warn({ err, issuer: this.#issuer }, 'the identity provider does not answer a sign-in');
    return outageOf('signInProviderAway');
  }

  async #fetched(
    url: string,
    { method, headers, body }: Parameters<Openid.CustomFetch>[1],
  ): Promise<Response> {
    const answer = await this.#outbound.send({
      url,
      method: method as 'GET' | 'POST',
      headers: Object.fromEntries(new Headers(headers as Record<string, string>)),
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      timeoutMs,
      maxBytes,
    });
    return new Response(Buffer.from(answer.body), { status: answer.status, headers: [...answer.headers] });
  }

  async #metadata(): Promise<Openid.ServerMetadata> {
    const now = this.#clock.monotonic();
    if (this.#document && now < this.#document.until) return this.#document.metadata;
    // While the provider is away, sign-ins do not each wait for it.
    if (now - this.#failedAt < pauseMs) throw outageOf('signInProviderAway');
    this.#fetching ??= this.#discover().finally(() => {
      this.#fetching = null;
    });
    return this.#fetching;
  }

  async #discover(): Promise<Openid.ServerMetadata> {
    const openid = await library();
    const configuration = await openid
      .discovery(new URL(this.#issuer), this.#clientId, this.#clientSecret, undefined, {
        [openid.customFetch]: (url, method) => this.#fetched(url, method),
        execute: this.#isPlain ? [openid.allowInsecureRequests] : [],
      })
      .catch((err: unknown) => {
        throw this.#away(err);
      });
    this.#document = {
      metadata: configuration.serverMetadata(),
      until: this.#clock.monotonic() + documentMs,
    };
    return this.#document.metadata;
  }

  /** Fresh for each sign-in: it holds the provider's keys. */
  async #configuration(): Promise<Openid.Configuration> {
    const openid = await library();
    const config = new openid.Configuration(await this.#metadata(), this.#clientId, this.#clientSecret);
    config[openid.customFetch] = (url, method) => this.#fetched(url, method);
    config.timeout = timeoutMs / 1000;
    openid.enableNonRepudiationChecks(config);
    if (this.#isPlain) openid.allowInsecureRequests(config);
    return config;
  }
}

export const createSignInProvider = (options: SignInProviderOptions): SignInProvider =>
  new OpenidProvider(options);
