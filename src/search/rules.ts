// Comparison of names in a search for things: each of its words begins a word of the name, the id or the hint, or the
// whole text begins the id. Pure.
import { foldedText } from '../shared/search-text.ts';

export const thingTypes = [
  'approval',
  'event',
  'deployment',
  'run',
  'agent',
  'contract',
  'composition',
  'bundle',
  'tool',
  'channel',
  'key',
  'service_account',
  'person',
] as const;
export type ThingType = (typeof thingTypes)[number];

export interface Thing {
  readonly type: ThingType;
  readonly id: string;
  readonly name: string;
  /** One line that distinguishes it from others; empty: none. */
  readonly hint: string;
}

const separators = /[^\p{L}\p{M}\p{N}]+/u;

const wordsOf = (text: string): readonly string[] =>
  foldedText(text)
    .split(separators)
    .filter((word) => word !== '');

export interface NameSearch {
  /** The longest word: each match contains it. */
  readonly longest: string;
  /** Less is better; null: no match. */
  rank(thing: Thing): number | null;
}

/** @returns null for a text without a letter or digit */
export function nameSearch(text: string): NameSearch | null {
  const words = wordsOf(text);
  const [longest] = [...words].sort((a, b) => b.length - a.length);
  if (longest === undefined) return null;
  const whole = foldedText(text.trim());
  const isPrefixOfOne = (names: readonly string[], word: string): boolean =>
    names.some((name) => name.startsWith(word));
  return {
    longest,
    rank({ id, name, hint }) {
      const [foldedId, foldedName] = [foldedText(id), foldedText(name)];
      if (foldedId === whole || foldedName === whole) return 0;
      if (foldedName.startsWith(whole)) return 1;
      if (foldedId.startsWith(whole)) return 2;
      const own = wordsOf(`${name} ${id}`);
      if (words.every((word) => isPrefixOfOne(own, word))) return 3;
      const all = [...own, ...wordsOf(hint)];
      return words.every((word) => isPrefixOfOne(all, word)) ? 4 : null;
    },
  };
}

/** The best matches: by rank, then type, then name. */
export function bestMatches(things: readonly Thing[], search: NameSearch, limit: number): readonly Thing[] {
  const ranked = things.flatMap((thing) => {
    const rank = search.rank(thing);
    return rank === null ? [] : [{ thing, rank }];
  });
  const typeOf = ({ type }: Thing): number => thingTypes.indexOf(type);
  return ranked
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        typeOf(a.thing) - typeOf(b.thing) ||
        (a.thing.name < b.thing.name ? -1 : a.thing.name > b.thing.name ? 1 : 0),
    )
    .slice(0, limit)
    .map(({ thing }) => thing);
}
