// Names on the wire that a deployment may choose (DECISIONS 7), so that clients built for another name connect unchanged.

/** Names on the wire (DECISIONS 7). */
export interface VendorNames {
  /** Lower-case header names that may carry the agent id; the first is emitted in documentation. */
  readonly agentIdHeaders: readonly string[];
  readonly sessionCookie: string;
  readonly signatureHeader: string;
  readonly keyPrefix: string;
  /** Accepted apiVersions; the first is emitted. */
  readonly apiVersions: readonly string[];
  readonly bundleKinds: readonly string[];
  readonly rulesetKinds: readonly string[];
  /** Encoding of `signature` in contract_update. */
  readonly signatureEncoding: 'hex' | 'base64';
}
