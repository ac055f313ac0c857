// Access to the whole installation: for its operator, and for the admin of its only tenant.

import { HubError } from '../../shared/error.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';

export interface Installation {
  /**
   * Lets a tenant's admin see what is not the tenant's alone: metrics, nodes and shards.
   * @throws HubError forbidden from the second tenant on
   */
  requireOnlyTenant(): Promise<void>;
}

export function createInstallation({ store }: Pick<AppPorts, 'store'>): Installation {
  return {
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
