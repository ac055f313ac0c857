// The queue in sections: calls that are alike as one group, at the place of the most urgent of them, and single calls.
import { useMemo } from 'react';
import { useCall } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { type AlikeCalls, groupAlike, type HubGroup, moneyText } from './alike.ts';
import type { Approval } from './model.ts';

export interface Section {
  readonly key: string;
  /** Null for a single call. */
  readonly group: AlikeCalls | null;
  readonly rows: readonly Approval[];
}

const keyOf = (tool: string, contracts: readonly string[], env: string): string =>
  JSON.stringify([tool, [...contracts].sort(), env]);

/**
 * @param isPending true for a call that can be decided
 * @param hubGroups by the key of their section
 */
export const sectionsOf = (
  rows: readonly Approval[],
  isPending: (row: Approval) => boolean,
  hubGroups: ReadonlyMap<string, HubGroup>,
): readonly Section[] =>
  groupAlike(rows).map(({ calls, ...group }) => {
    const key = keyOf(group.tool, group.contracts, group.env);
    const hub = hubGroups.get(key);
    const pending = calls.filter(isPending);
    const isGroup = calls.length > 1 || hub !== undefined;
    return {
      key,
      group: isGroup ? { ...group, calls: pending, ...(hub ? { hub } : {}) } : null,
      rows: calls,
    };
  });

/**
 * The groups of the hub, by the key of their section: the list contains those that expire next alone.
 * @param enabled the list is cut
 */
export function useHubGroups(enabled: boolean): ReadonlyMap<string, HubGroup> {
  const env = useEnv();
  const { data } = useCall('approvalGroups', { query: env ? { env } : {} }, { enabled });
  return useMemo(
    () =>
      new Map(
        (enabled ? (data?.groups ?? []) : []).map((one) => [
          keyOf(one.tool_name, one.contract_names, one.env),
          { key: one.key, count: one.count, money: moneyText(one.amounts) },
        ]),
      ),
    [data, enabled],
  );
}
