// One-time sign-in links, which are made through the data folder and never over HTTP: whoever can write there may sign
// in.

/** The user and the expiry of a sign-in link. */
export interface LoginLink {
  /** Lower-cased; null for the first admin of the hub. */
  readonly email: string | null;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** Links that were made and not used yet. */
export interface LoginLinks {
  /**
   * The link whose token has this hash, given to one caller once, expired or not; null when there is none. The token
   * itself is stored nowhere.
   */
  take(tokenHash: string): Promise<LoginLink | null>;
}
