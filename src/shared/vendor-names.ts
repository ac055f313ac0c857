// Names on the wire that a deployment may choose, so that clients built for another name connect unchanged.

export interface VendorNames {
  /** Lower-case header names that may carry the agent id; the first is emitted in documentation. */
  readonly agentIdHeaders: readonly string[];
  readonly sessionCookie: string;
  readonly signatureHeader: string;
  readonly keyPrefix: string;
  /** Of tokens of service accounts. */
  readonly tokenPrefix: string;
  /** Prefix of the ids of buttons in chats. */
  readonly actionPrefix: string;
  /** Accepted apiVersions; the first is emitted. */
  readonly apiVersions: readonly string[];
  readonly bundleKinds: readonly string[];
  readonly rulesetKinds: readonly string[];
  /** Encoding of signatures for clients. */
  readonly signatureEncoding: 'hex' | 'base64';
}
