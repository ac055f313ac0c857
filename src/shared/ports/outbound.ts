// Every call that the hub makes to a service somebody configured: webhooks, chats, AI providers, identity providers,
// mail servers. One guard stands in front of all of them. It keeps promise P55, in detail:
//
// - https only, on port 443 or 1024 and above, without user or password in the URL. Loopback may be http with
//   ALLOW_PRIVATE_OUTBOUND.
// - A name is resolved once. Every address that it has must be public, and the connection goes to one of these very
//   addresses.
// - Private and special addresses of both families are refused, also IPv4 addresses inside IPv6 ones.
//   ALLOW_PRIVATE_OUTBOUND lets private and loopback ones through, OUTBOUND_ALLOW single `host:port` targets.
// - Redirects are not followed: an answer with status 302 is an answer. Proxies are not used.
// - Time and bytes are bounded, compressed answers are not asked for.

export type { OutboundFailure } from '../outbound.ts';
export { OutboundError } from '../outbound.ts';

/** A call to a service. */
export interface OutboundRequest {
  readonly url: string;
  /** GET by default. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Without `host` and `content-length`, which are made. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * Milliseconds. `send`: until the answer is whole. `open`: until its head, and then between two pieces of the body.
   */
  readonly timeoutMs: number;
  /** Bytes of the answer's body; more fail with `too_large`. */
  readonly maxBytes: number;
  /** Ends the call at once with `aborted`, also while the body is read. */
  readonly signal?: AbortSignal;
}

/** Status and headers of an answer. */
export interface OutboundHead {
  readonly status: number;
  /** Names in lower case; repeated ones joined with a comma. */
  readonly headers: ReadonlyMap<string, string>;
}

/** A whole answer. */
export interface OutboundAnswer extends OutboundHead {
  readonly body: Uint8Array;
}

/** An answer whose body is still coming. */
export interface OutboundStream extends OutboundHead {
  /**
   * Can be read once. Ending the iteration (`break`, `return`) closes the connection.
   * @throws OutboundError during the iteration
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** Closes the connection when the body will not be read. Safe to repeat. */
  close(): void;
}

/** An address that a name resolved to and that may be called. */
export interface OutboundAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** The guard of every call out. */
export interface Outbound {
  /** The whole answer, whatever its status. @throws OutboundError */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
  /** As soon as the head is there. For server-sent events. @throws OutboundError */
  open(request: OutboundRequest): Promise<OutboundStream>;
  /** Checks the form and the current addresses of a URL before its use. @throws OutboundError */
  check(url: string): Promise<void>;
  /**
   * The addresses of a host, at least one, for a protocol other than HTTP: connect to one of these, never to the name.
   * @throws OutboundError
   */
  resolve(host: string, port: number): Promise<readonly OutboundAddress[]>;
}
