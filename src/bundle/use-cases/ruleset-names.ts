// The stored version of a policy version: events and agents send the hash of the document they run, never its name.

import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import type { Env } from '../../shared/ids.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { RulesetVersionKey } from '../record.ts';

export interface RulesetNames {
  /**
   * The version with this hash; null when the tenant has none. Of several names the one that is deployed in the
   * environment, else the newest upload. Up to 5 seconds old.
   */
  resolve(tenantId: string, env: Env, policyVersion: string | null): Promise<RulesetVersionKey | null>;
}

const rememberedMs = 5_000;
const maxRemembered = 10_000;
const hash = /^[0-9a-f]{64}$/;

export function createRulesetNames({ store, clock }: Pick<AppPorts, 'store' | 'clock'>): RulesetNames {
  const names = new BoundedMap<Promise<RulesetVersionKey | null>>(maxRemembered);

  async function find(tenantId: string, env: Env, policyVersion: string): Promise<RulesetVersionKey | null> {
    const versions = await store.bundles.listByRevision(tenantId, policyVersion);
    const [newest] = versions;
    if (!newest || versions.every(({ name }) => name === newest.name)) return newest ?? null;
    const deployed = await store.deployments.listCurrent(tenantId, env);
    const here = deployed.find(({ revisionHash }) => revisionHash === policyVersion);
    return here ? { name: here.bundleName, version: here.version } : newest;
  }

  return {
    async resolve(tenantId, env, policyVersion) {
      if (policyVersion === null || !hash.test(policyVersion)) return null;
      const now = clock.monotonic();
      const key = `${tenantId}/${env}/${policyVersion}`;
      const before = names.get(key, now);
      if (before) return before;
      const lookup = find(tenantId, env, policyVersion);
      names.set(key, lookup, now + rememberedMs);
      // A failure is nobody's answer but that of those who wait for it.
      lookup.catch(() => names.delete(key));
      return lookup;
    },
  };
}
