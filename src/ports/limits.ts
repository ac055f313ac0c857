// Sliding-window limits.

export interface Limits {
  /**
   * Counts `cost` against `name` and says whether it fits into `max` per `windowMs`: one atomic step over all nodes.
   * A refused call counts nothing. When the limiter cannot be reached it refuses with 30 s (fails closed).
   */
  hit(name: string, max: number, windowMs: number, cost?: number): Promise<LimitAnswer>;
}

export type LimitAnswer =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** Whole seconds until it may fit again, at least 1. */
      readonly retryAfter: number;
    };
