// Positions in an audience's log: their form and their order, defined nowhere else. Pure.

/**
 * `<ms>-<n>`, both decimal, ordered by ms and then by n (the form of a Redis stream id). A frame that was made for one
 * stream alone has `.<k>` after it: such frames sort between two that all streams get.
 */
export type Position = string;

const pattern = /^(\d{1,15})-(\d{1,15})(?:\.(\d{1,6}))?$/;

/** False for what no log ever gave: a client may send anything as its last event id. */
export const isPosition = (text: string): boolean => pattern.test(text);

/**
 * Below 0 when `a` comes before `b`, 0 when both are the same place. A text that is no position comes before all that
 * are.
 */
export function comparePositions(a: Position, b: Position): number {
  const [left, right] = [pattern.exec(a), pattern.exec(b)];
  if (!left || !right) return Number(left !== null) - Number(right !== null);
  for (const part of [1, 2, 3]) {
    const difference = Number(left[part] ?? 0) - Number(right[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export const isAfter = (a: Position, b: Position): boolean => comparePositions(a, b) > 0;

/** Place of a position in the audience's log: without what was made for one stream after it. */
export function sharedPosition(position: Position): Position {
  const match = pattern.exec(position);
  return match ? `${Number(match[1])}-${Number(match[2])}` : position;
}

/** The place of the `k`th frame that one stream alone gets after `shared`. */
export const ownPosition = (shared: Position, k: number): Position => `${shared}.${k}`;

/**
 * The id of a frame among which stored events come: its position, and the highest place (`seq`) of the events that were
 * sent until then. A client that sends it back goes on with both.
 */
export const idWithPlace = (position: Position, place: number): string => `${position}~${place}`;

/** The parts of such an id. `place` is null where it has none, and `position` is then the whole text. */
export function readId(id: string): { readonly position: string; readonly place: number | null } {
  const [, position, digits] = /^(.*)~(\d{1,16})$/.exec(id) ?? [];
  const place = Number(digits);
  return position === undefined || !Number.isSafeInteger(place)
    ? { position: id, place: null }
    : { position, place };
}

/** Number of frames made for it alone that a stream had got after the shared position. */
export const ownCount = (position: Position): number => Number(pattern.exec(position)?.[3] ?? 0);
