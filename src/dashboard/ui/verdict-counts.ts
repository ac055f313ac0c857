/** The calls of a span of time by verdict. */
export interface VerdictCounts {
  /** Start of the span, in epoch milliseconds. */
  readonly at: number;
  readonly allowed: number;
  readonly denied: number;
  readonly pending: number;
  readonly observed: number;
}
