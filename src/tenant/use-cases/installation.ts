// Access to the whole installation: for its operator, and for the admin of its only tenant.

import { minuteMs } from '../../shared/duration.ts';
import { HubError } from '../../shared/error.ts';
import type { LogLevel } from '../../shared/ports/log.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';

export interface Installation {
  /**
   * Lets a tenant's admin see what is not the tenant's alone: metrics, nodes and shards.
   * @throws HubError forbidden from the second tenant on
   */
  requireOnlyTenant(): Promise<void>;
  /**
   * Has every node log at this level for so long, then at the level of its settings again.
   * @returns until when, epoch milliseconds
   * @throws HubError unavailable
   */
  updateLogLevel(level: LogLevel, minutes: number): Promise<number>;
}

export function createInstallation({
  store,
  broadcast,
  clock,
  log,
}: Pick<AppPorts, 'store' | 'broadcast' | 'clock' | 'log'>): Installation {
  return {
    async updateLogLevel(level, minutes) {
      const until = clock.now() + minutes * minuteMs;
      await broadcast.control({ kind: 'log_level', level, until });
      log.warn({ logLevel: level, minutes }, 'the operator changed the log level of all nodes');
      return until;
    },

    async requireOnlyTenant() {
      if (!(await store.tenants.hasSeveral())) return;
      throw new HubError(
        'forbidden',
        'This installation has several workspaces, and these figures cover all of them. ' +
          "Send the installation's OPERATOR_TOKEN as a bearer token.",
      );
    },
  };
}
