// Store port of figures over all tenants, for the metrics of an installation.
import type { Env } from '../ids.ts';

export interface InstallationFigures {
  /** Pending approvals; environments without one may be left out. */
  readonly pendingApprovals: { readonly [E in Env]?: number };
  /** Bytes of the database; null if the server does not report them. */
  readonly storeBytes: number | null;
  /** When the oldest audit entry was recorded that no signed head covers, epoch milliseconds; null: none. */
  readonly unsignedSince: number | null;
}

export interface InstallationStore {
  figures(): Promise<InstallationFigures>;
}
