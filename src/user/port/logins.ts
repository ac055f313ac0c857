// Store port of logins. Every write is durable when its promise resolves.

import type { Login } from '../record.ts';

/** Logins, by the hash of their token. */
export interface LoginStore {
  /** Adds the login, or replaces the one with its hash. */
  create(login: Login): Promise<void>;
  /** The login when it exists and has not expired at `now`. */
  get(tokenHash: string, now: number): Promise<Login | null>;
  /** Moves the expiry and the last use; harmless when the login is gone. */
  extend(tokenHash: string, expiresAt: number, now: number): Promise<void>;
  /** A user's that have not expired at `now`, the newest `limit`. */
  listOfUser(userId: string, now: number, limit: number): Promise<readonly Login[]>;
  /** Logins of a session at the identity provider that have not expired at `now`, at most `limit`. */
  listOfProviderSession(session: string, now: number, limit: number): Promise<readonly Login[]>;
  remove(tokenHash: string): Promise<void>;
  /** All of a user's, but the one with the hash `except`. */
  removeOfUser(userId: string, except?: string): Promise<void>;
  /** Removes expired ones; returns how many. */
  removeExpired(now: number): Promise<number>;
  /**
   * Remembers that the user signed in from a network (the newest `maxNetworks` of each user); never moves a time
   * backwards.
   */
  signedInFrom(userId: string, network: string, now: number): Promise<void>;
  /** True if the user signed in from the network at `since` or later. */
  hasSignedInFrom(userId: string, network: string, since: number): Promise<boolean>;
  /** Removes networks that nobody signed in from since `before`; returns how many. */
  removeNetworks(before: number): Promise<number>;
}

/** Networks that a user signed in from and that are remembered. */
export const maxNetworks = 100;
