// The bundles to choose from for an agent, a selection of agents or a rule.
import { useCall } from '../../lib/query.ts';

/** @param own the present choice, which is among the names even if its bundle is gone */
export function useBundleNames(own: string | null = null) {
  const query = useCall('listBundles', { query: { limit: 1000 } });
  const names = (query.data ?? []).map(({ name }) => name);
  return { query, names: own === null || names.includes(own) ? names : [...names, own] };
}
