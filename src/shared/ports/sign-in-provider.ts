// Signing in at an identity provider with OpenID Connect (code flow with PKCE). One adapter (adapters/openid).

import type { Claims } from './jwt.ts';

/** Values that a browser leaves with, and that must come back. */
export interface SignInRequest {
  readonly state: string;
  readonly nonce: string;
  /** PKCE's secret; the browser is sent its digest. */
  readonly verifier: string;
}

export interface SignInProvider {
  /** Address that the browser opens next. @throws HubError unavailable */
  begin(redirectUri: string, request: SignInRequest): Promise<string>;
  /**
   * The claims of the ID token that the provider gives for the code in the query.
   * @param url the redirect URI with the query that the browser came back with
   * @throws HubError unauthenticated for anything that does not fit, unavailable while the provider is away
   */
  finish(url: URL, request: SignInRequest): Promise<Claims>;
}
