// The form of a class of admission: who is counted, how much may be at once, how much may wait, and the refusal above.

import type { ErrorCode, ErrorReason } from '../shared/error.ts';

/** Seconds of Retry-After for a refusal with status 503 that has none of its own. */
export const usualRetryAfter = 1;

/** The error above a bound. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  /** Seconds. */
  readonly retryAfter?: number;
  /** The finer word for the code. */
  readonly reason?: ErrorReason;
  /** True if a part of the change may be stored. */
  readonly mayBeStored?: true;
}

/**
 * Callers that share a bound. `user`: a person or a service account. `agent`: an API key with an agent id. `person`: a
 * name in a tenant. `caller`: an API key with its agent id and network, a user, or, without credentials, a network.
 */
export type AdmittedPer =
  | 'node'
  | 'tenant'
  | 'user'
  | 'agent'
  | 'person'
  | 'credential'
  | 'caller'
  | 'network'
  | 'key'
  | 'socket'
  | 'stream'
  | 'environment'
  | 'actor'
  | 'shard'
  | 'document'
  | 'channel'
  | 'method';

export interface Bound {
  readonly per: AdmittedPer;
  readonly atOnce?: number;
  /** Above `atOnce`, or in a queue. Absent: none. */
  readonly waiting?: number;
  /** Held at once. */
  readonly bytes?: number;
  /** For a rate: `atOnce`, or `bytes`, come back with time. */
  readonly perSecond?: number;
  /** Default: that of the class. */
  readonly refusal?: Refusal;
}

export interface AdmissionClass {
  /** Name for the documentation. */
  readonly title: string;
  /** Each is taken after the one before. */
  readonly bounds: readonly Bound[];
  /** The longest wait for each bound; absent: none. Of a class that counts: its window. */
  readonly ms?: number;
  /** Work of at most so many bytes is never counted. */
  readonly freeBytes?: number;
  /** Absent: the client sees no answer, but the end of its connection. */
  readonly refusal?: Refusal;
}
