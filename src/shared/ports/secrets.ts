// Randomness, hashes, passwords, sealing and Ed25519. Implemented with node:crypto and tweetnacl's secretbox.

/** Purpose of a sealed value. Each purpose has its own key, derived from the master secret. */
export type Purpose =
  | 'check'
  | 'signing-key'
  | 'channel-config'
  | 'ai-key'
  | 'cursor'
  | 'device'
  | 'sign-in-state'
  | 'login-link'
  | 'setup-token'
  | 'operator-token'
  | 'tenant-file'
  | 'probe';

/** Everything that needs chance or a key. */
export interface Secrets {
  /** A random UUID (version 4). */
  uuid(): string;
  /** `bytes` random bytes, base64url without padding. */
  token(bytes: number): string;
  /** The UUID (version 5, RFC 9562) of a name within a namespace, itself a UUID: always the same of the same two. */
  namedUuid(namespace: string, name: string): string;
  /** Hex SHA-256. */
  sha256(input: string | Uint8Array): string;
  /** Hex HMAC-SHA256 under a key that is a text. */
  hmac(key: string, input: string | Uint8Array): string;
  /** Hex HMAC-SHA256 under the purpose's own key: proves the master secret. */
  proof(purpose: Purpose, input: string): string;
  /** Equality of two texts in a time that depends on the length alone. */
  equal(a: string, b: string): boolean;
  /** A password's hash, computed off the event loop. For people whom the hub knows, or who brought a set-up token. */
  hashPassword(password: string): Promise<string>;
  /**
   * True when the password fits. With `hash` null: does the same work and answers false. At most a few run at once; the
   * rest wait.
   * @param isKnown the browser or network of this account, or a login: does not wait behind strangers. False if absent
   */
  checkPassword(password: string, hash: string | null, isKnown?: boolean): Promise<boolean>;
  /** Sealed text (authenticated encryption, random nonce), base64. */
  seal(purpose: Purpose, plain: Uint8Array): string;
  /** The plain bytes. Throws HubError('internal') when the text was not sealed with this master secret and purpose. */
  unseal(purpose: Purpose, sealed: string): Uint8Array;
  /** A new Ed25519 pair: public key as 64 hex characters, seed of 32 bytes. */
  newSigningKey(): { readonly publicKey: string; readonly seed: Uint8Array };
  /** Ed25519 signature of the bytes, 128 hex characters. */
  sign(seed: Uint8Array, bytes: Uint8Array): string;
  verify(publicKey: string, bytes: Uint8Array, signature: string): boolean;
}
