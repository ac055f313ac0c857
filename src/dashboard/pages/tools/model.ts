// Tool definitions for the page: states as words, and the definition that a new one is compared with.
import type { Reply } from '../../lib/api.ts';

export type ToolPin = Reply<'listToolPins'>['tools'][number];
export type ToolServer = Reply<'listToolPins'>['servers'][number];
export type ToolPinDetail = Reply<'getToolPin'>;
export type Definition = ToolPinDetail['history'][number];
export type JsonObject = { readonly [name: string]: unknown };

export const modes = ['observe', 'hold', 'deny'] as const;
export type Mode = (typeof modes)[number];

const words: { readonly [S in ToolPin['status']]: string } = {
  observed: 'undecided',
  waiting: 'waiting',
  accepted: 'accepted',
  rejected: 'rejected',
};

export const isUndecided = ({ status }: Pick<ToolPin, 'status'>): boolean =>
  status === 'waiting' || status === 'observed';

/** A definition that waits, or that replaced another one where nothing waits. */
export const isToReview = ({ status, changed }: Pick<ToolPin, 'status' | 'changed'>): boolean =>
  status === 'waiting' || (status === 'observed' && changed);

export const statusWord = ({ status }: Pick<ToolPin, 'status'>): string => words[status];

export const problemWords: { readonly [P in ToolServer['refused'][number]['problem']]: string } = {
  too_many_tools: 'more than 2,000 tools',
  too_large: 'larger than 256 KiB',
  too_deep: 'nested deeper than 64 levels',
  duplicate_name: 'a name that another tool has, perhaps in another case',
  unusable_name: 'an unusable name',
  unreadable: 'text or a number that programs read differently',
  no_room: 'no room for more definitions',
};

/** The members of a definition; empty if no agent has sent it. */
export function membersOf({ definition }: Pick<Definition, 'definition'>): JsonObject {
  return definition === null ? {} : (JSON.parse(definition) as JsonObject);
}

/**
 * The definition of the same environment that agents use until now: the one that was accepted last, else the one before
 * in time. Null for the first one.
 */
export function previousOf({ id, env, first_seen_at, history }: ToolPinDetail): Definition | null {
  const others = history.filter((one) => one.env === env && one.id !== id);
  const accepted = others
    .filter((one) => one.status === 'accepted')
    .sort((a, b) => Date.parse(b.decided_at ?? '') - Date.parse(a.decided_at ?? ''));
  const earlier = others.filter((one) => one.first_seen_at <= first_seen_at);
  return accepted[0] ?? earlier.at(-1) ?? null;
}
