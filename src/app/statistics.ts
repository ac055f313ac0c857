// Statistics of what contracts decided, from the store's summaries.
import { HubError } from '../domain/error.ts';
import type { Env } from '../domain/ids.ts';
import type { Principal } from '../domain/principal.ts';
import type { ContractUse } from '../ports/usage.ts';
import { requireRole } from './access.ts';
import type { AppPorts } from './ports.ts';

/** Contracts that are listed: those of most calls. */
const maxContracts = 1000;

export interface Statistics {
  /**
   * How contracts decided in [since, until); a call counts once for each contract that it names.
   * @throws HubError unprocessable for a range that ends before it begins; search_timeout
   */
  contracts(
    principal: Principal,
    range: { readonly env: Env | null; readonly since: number; readonly until: number },
  ): Promise<{ readonly events: number; readonly contracts: readonly ContractUse[] }>;
}

export const createStatistics = ({ store }: Pick<AppPorts, 'store'>): Statistics => ({
  async contracts(principal, { env, since, until }) {
    requireRole(principal, 'viewer');
    if (until < since) {
      throw new HubError(
        'unprocessable',
        'The time range ends before it begins: until must not be before since.',
      );
    }
    const found = await store.usage.contracts(principal.tenantId, env, since, until);
    return { events: found.events, contracts: found.contracts.slice(0, maxContracts) };
  },
});
