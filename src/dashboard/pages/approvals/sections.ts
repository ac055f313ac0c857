// The queue in sections: calls that are alike as one group, at the place of the most urgent of them, and single calls.
import { useCall } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { type AlikeCalls, groupAlike, sumArguments } from './alike.ts';
import type { Approval } from './model.ts';

export interface Section {
  readonly key: string;
  /** Null for a single call. */
  readonly group: AlikeCalls | null;
  readonly rows: readonly Approval[];
}

const keyOf = (tool: string, contracts: readonly string[], env: string): string =>
  JSON.stringify([tool, [...contracts].sort(), env]);

/** @param isPending true for a call that can be decided */
export const sectionsOf = (
  rows: readonly Approval[],
  isPending: (row: Approval) => boolean,
): readonly Section[] =>
  groupAlike(rows).map(({ calls, ...group }) => {
    const pending = calls.filter(isPending);
    return {
      key: keyOf(group.tool, group.contracts, group.env),
      group: calls.length > 1 ? { ...group, calls: pending } : null,
      rows: calls,
    };
  });

/** The sums of the first argument that is money, by currency: `EUR 1,200.00, USD 90.00`; empty without money. */
export function moneyIn({ calls }: AlikeCalls): string {
  const sums = sumArguments(calls).filter(({ total }) => /^[A-Z]{3} /.test(total));
  return sums.flatMap(({ name, total }) => (name === sums[0]?.name ? [total] : [])).join(', ');
}

/**
 * The number of all calls in a group, by the key of its section: the list contains the newest alone.
 * @param enabled the list is cut
 */
export function useGroupCounts(enabled: boolean): ReadonlyMap<string, number> {
  const env = useEnv();
  const { data } = useCall('approvalGroups', { query: env ? { env } : {} }, { enabled });
  return new Map(
    (enabled ? (data?.groups ?? []) : []).map((one) => [
      keyOf(one.tool_name, one.contract_names, one.env),
      one.count,
    ]),
  );
}
