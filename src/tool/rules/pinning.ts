// The definitions that the hub accepts by itself, and the order of changes. Both stores decide by these functions.
import type { PinMode } from 'reeve-agent/rules';
import { firstSeenActor, type PinRuling, type ToolEntry } from '../record.ts';

/** The sequence of a change at `now` after one with the sequence `last` (0: the first). */
export const nextPinSequence = (last: number, now: number): number => Math.max(last + 1, now);

export const firstSeenRuling = (now: number): PinRuling => ({
  decision: 'accepted',
  decidedBy: firstSeenActor,
  decidedAt: now,
  reason: null,
});

/**
 * The ruling of a definition that an environment did not have. In `hold`, what an environment sees first of a server is
 * accepted. A definition that comes later waits, whether its tool is new or changed.
 * @param isKnownServer false if the environment had no definition of the server before this observation
 */
export const rulingOfNew = (mode: PinMode, isKnownServer: boolean, now: number): PinRuling | null =>
  mode === 'hold' && !isKnownServer ? firstSeenRuling(now) : null;

/**
 * The definitions to accept when a server's mode becomes `hold`: the first one of each tool about which nobody has
 * decided anything.
 */
export function firstSeenOf<T extends Pick<ToolEntry, 'id' | 'server' | 'tool' | 'firstSeenAt' | 'ruling'>>(
  entries: readonly T[],
): readonly T[] {
  const firstByTool = new Map<string, T | null>();
  for (const entry of entries) {
    const key = JSON.stringify([entry.server, entry.tool]);
    const first = firstByTool.get(key);
    if (first === null) continue;
    if (entry.ruling !== null) firstByTool.set(key, null);
    else if (first === undefined || isBefore(entry, first)) firstByTool.set(key, entry);
  }
  return [...firstByTool.values()].filter((entry) => entry !== null);
}

/** Of definitions of one moment the id decides, so that both stores choose alike. */
const isBefore = (
  a: Pick<ToolEntry, 'id' | 'firstSeenAt'>,
  b: Pick<ToolEntry, 'id' | 'firstSeenAt'>,
): boolean => a.firstSeenAt < b.firstSeenAt || (a.firstSeenAt === b.firstSeenAt && a.id < b.id);

/** True if people or the audit chain have to learn of a new definition. */
export const isNoteworthy = (
  { isChange, ruling }: Pick<ToolEntry, 'isChange' | 'ruling'>,
  mode: PinMode,
): boolean => isChange || ruling !== null || mode !== 'observe';
