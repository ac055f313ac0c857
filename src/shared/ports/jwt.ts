// JSON Web Tokens: made and checked, never trusted unread. One adapter (adapters/jose).

/** A JSON Web Key, as RFC 7517 writes it. */
export interface Jwk {
  readonly [member: string]: unknown;
}

/** The keys of an issuer, as RFC 7517 writes them. */
export interface JwkSet {
  readonly keys: readonly Jwk[];
}

/** Claims of a token by name. */
export interface Claims {
  readonly [claim: string]: unknown;
}

/** Conditions for a valid token. */
export interface Expected {
  readonly issuer: string;
  /** The token must name one of them, as `aud` or as `azp`. */
  readonly audiences: readonly string[];
  /** Epoch milliseconds. */
  readonly now: number;
  /** True for a logout token, which may name a session instead of a subject. Default: any token but that. */
  readonly isLogout?: boolean;
}

/** Makes and checks tokens. */
export interface Jwts {
  /** The unverified issuer of a token; null if it is no JWT. */
  issuerOf(token: string): string | null;
  /**
   * The claims, once the signature holds with a key of the set and issuer, audience and times fit: RS256, ES256 and
   * EdDSA alone, a minute of leeway, a life of 24 hours at most.
   * @throws HubError unauthenticated, with the reason token_expired when that is all that is wrong
   */
  verify(token: string, keys: JwkSet, expected: Expected): Promise<Claims>;
  /** A token by an Ed25519 key, with `iat`, `exp` and `kid`. @param seed 32 bytes */
  sign(
    seed: Uint8Array,
    publicKey: string,
    claims: Claims,
    times: { readonly issuedAt: number; readonly expiresAt: number },
  ): Promise<string>;
  /** The public half of an Ed25519 key. @param publicKey 64 hex characters */
  publicJwk(publicKey: string): Jwk;
  /** True if a set has the token's key, or if the token names none. */
  hasKeyOf(token: string, keys: JwkSet): boolean;
}
