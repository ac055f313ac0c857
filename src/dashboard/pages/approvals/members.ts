// The calls of a group for its sheet: those of the list, or, where the list contains a part, those of the hub. They do
// not change under the reader: a person decides only about calls that were visible.
import { useEffect, useState } from 'react';
import { ApiError, callPage } from '../../lib/api.ts';
import type { AlikeCalls } from './alike.ts';
import { type Approval, decisions, statusOf } from './model.ts';

/** Calls of a group that a sheet lists at once, and the maximum of a decision about the selection. */
export const pageSize = 200;

interface LoadedMembers {
  readonly calls: readonly Approval[];
  /** Cursor of the next page, or its place in the list; null after the last one. */
  readonly next: string | null;
  readonly isLoading: boolean;
  readonly error: ApiError | null;
}

export interface Members extends LoadedMembers {
  /** Loads the next page; after an error, the same one again. */
  readonly readOn: () => void;
}

const noMembers: LoadedMembers = { calls: [], next: null, isLoading: false, error: null };

/** @param isLeftOut true for a pending call that the sheet does not show */
export function useMembers(group: AlikeCalls | null, isLeftOut: (call: Approval) => boolean): Members {
  const [loaded, setLoaded] = useState<{
    readonly group: AlikeCalls | null;
    readonly members: LoadedMembers;
  }>({
    group: null,
    members: noMembers,
  });
  const members = loaded.group === group ? loaded.members : { ...noMembers, isLoading: true };
  const load = async (ofGroup: AlikeCalls, hubKey: string, cursor: string | null): Promise<void> => {
    const change = (by: (before: LoadedMembers) => LoadedMembers): void =>
      setLoaded((before) =>
        before.group === ofGroup ? { group: ofGroup, members: by(before.members) } : before,
      );
    change((before) => ({ ...before, isLoading: true, error: null }));
    const query = { group: hubKey, limit: pageSize, ...(cursor === null ? {} : { cursor }) };
    try {
      const page = await callPage('listApprovals', { query });
      const open = page.reply.filter(
        (call) => statusOf(call, decisions.get()) === 'pending' && !isLeftOut(call),
      );
      change(({ calls }) => ({ ...noMembers, calls: [...calls, ...open], next: page.next }));
    } catch (failure) {
      const error = failure instanceof ApiError ? failure : new ApiError(0, 'unknown', String(failure), null);
      change((before) => ({ ...before, isLoading: false, error }));
    }
  };
  const { calls, next, isLoading, error } = members;
  const [local, setLocal] = useState<{ readonly group: AlikeCalls | null; readonly size: number }>({
    group: null,
    size: pageSize,
  });
  const hubKey = group?.hub?.key;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each group
  useEffect(() => {
    setLoaded({ group, members: noMembers });
    if (group && hubKey !== undefined) void load(group, hubKey, null);
  }, [group]);
  const readOn = (): void => {
    if (group && hubKey !== undefined && !isLoading) void load(group, hubKey, next);
  };
  const hasNone = calls.length === 0 && next !== null && error === null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a page without a visible call is passed over
  useEffect(() => {
    if (hasNone) readOn();
  }, [hasNone, next]);
  if (group && hubKey === undefined) {
    const size = local.group === group ? local.size : pageSize;
    return {
      ...noMembers,
      calls: group.calls.slice(0, size),
      next: size < group.calls.length ? String(size) : null,
      readOn: () => setLocal({ group, size: size + pageSize }),
    };
  }
  return { ...members, readOn };
}
