// Answers to requests with an Idempotency-Key, so that a repeat creates nothing new.

/** A request under its key. */
export interface KeyedRequest {
  readonly tenantId: string;
  /** One digest of caller, route and key. */
  readonly id: string;
  /** Of what else makes requests the same. */
  readonly bodyHash: string;
}

/** The answer to a request. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  /** The body's JSON; null when it is not kept. */
  readonly json: string | null;
}

/** The times of a claim, in epoch milliseconds. */
export interface ClaimTimes {
  readonly now: number;
  /** Until when others leave the request to whoever claims it now. */
  readonly runsUntil: number;
  /** Time when the key may be used again. */
  readonly expiresAt: number;
}

export type Claim =
  /** The request is to be carried out now; what it makes gets this id. */
  | { readonly kind: 'claimed'; readonly newId: string }
  /** Somebody carries it out at this moment. */
  | { readonly kind: 'running' }
  /** The key came with another body. */
  | { readonly kind: 'reused' }
  | { readonly kind: 'answered'; readonly newId: string; readonly answer: StoredAnswer };

/** Requests by their Idempotency-Key. */
export interface IdempotencyStore {
  /**
   * One atomic step over all nodes: of many at once one claims. A request whose time is over without an answer is
   * claimed again under the id of the first time. So a record that was made is not made again. An expired request is
   * forgotten.
   * @param newId the id for a request that is not known
   */
  claim(request: KeyedRequest, newId: string, times: ClaimTimes): Promise<Claim>;
  /** The answer to a request with this body; null if there is none, or if it expired. Changes nothing. */
  find(request: KeyedRequest, now: number): Promise<StoredAnswer | null>;
  /** Keeps the answer of a claimed request until it expires. Safe to repeat. */
  answered(request: KeyedRequest, newId: string, answer: StoredAnswer): Promise<void>;
  /** The request had no answer to keep: the next one like it is carried out at once. Safe to repeat. */
  release(request: KeyedRequest, newId: string, now: number): Promise<void>;
  /** Removes at most `limit` expired ones; returns how many. */
  removeExpired(now: number, limit: number): Promise<number>;
}
