// How records take the form of documents: ids as _id, JSON as text (so that no key or operator in it means anything to
// the server), and names as field names.

import type { JsonObject } from '../../src/contract/record.ts';
import { type Env, type EnvFilter, isWellFormed } from '../../src/shared/ids.ts';
import { searchedLetters } from '../../src/shared/search-text.ts';

/** A record with its id as `_id`. */
export type Row<T extends { readonly id: string }> = Omit<T, 'id'> & { readonly _id: string };

export function toRow<T extends { readonly id: string }>(record: T): Row<T> {
  const { id, ...rest } = record;
  return { _id: id, ...rest };
}

export function fromRow<T extends { readonly id: string }>(row: Row<T>): T {
  const { _id, ...rest } = row;
  return { id: _id, ...rest } as unknown as T;
}

export const fromRowOrNull = <T extends { readonly id: string }>(row: Row<T> | null): T | null =>
  row === null ? null : fromRow(row);

/** The highest epoch of an owner that wrote the document: a stale owner's write after a newer one is refused. */
export interface Fenced {
  readonly fence?: number;
}

export const notAfter = (fence: number) => ({
  $or: [{ fence: { $exists: false } }, { fence: { $lte: fence } }],
});

/** The ids of some items of many tenants, by tenant: as many as one command may name. */
export function byTenant<T extends { readonly tenantId: string }>(
  items: readonly T[],
  idOf: (item: T) => string,
): readonly (readonly [tenantId: string, ids: readonly string[]])[] {
  const ids = new Map<string, string[]>();
  for (const item of items) {
    const list = ids.get(item.tenantId) ?? [];
    ids.set(item.tenantId, list);
    list.push(idOf(item));
  }
  return [...ids];
}

/** Condition that documents of a filter's environments match. */
export const inEnvs = (filter: EnvFilter): { readonly env?: Env | { readonly $in: readonly Env[] } } => {
  if (filter === null) return {};
  return { env: typeof filter === 'string' ? filter : { $in: filter } };
};

/** JSON as text; null stays null. */
export const toText = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

export const fromText = <T = JsonObject>(text: string | null): T | null =>
  text === null ? null : (JSON.parse(text) as T);

/** A name as a field name: no dot, no leading dollar, never a number, never empty; different names stay different. */
export const fieldOf = (name: string): string =>
  `k${encodeURIComponent(name.replace(/\p{Surrogate}/gu, '\ufffd')).replaceAll('.', '%2E')}`;

/** A pattern that finds `text` literally: characters with a meaning in patterns are written as \xHH. */
export const literalPattern = (text: string): string =>
  text.replace(/[\0\\^$.*+?()[\]{}|/#\s-]/g, (c) =>
    c.charCodeAt(0) < 0x80 ? `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}` : c,
  );

/** Patterns one after another, a repeated one with its count: servers bound the length of a pattern. */
function joinPatterns(patterns: readonly string[]): string {
  let joined = '';
  let at = 0;
  while (at < patterns.length) {
    const pattern = patterns[at] ?? '';
    let count = 1;
    while (patterns[at + count] === pattern) count++;
    joined += count > 3 ? `(?:${pattern}){${count}}` : pattern.repeat(count);
    at += count;
  }
  return joined;
}

/** A pattern that finds what a search finds (shared/search-text.ts). A server's own idea of cases is not asked. */
export const searchPattern = (search: string): string =>
  joinPatterns(
    searchedLetters(search).map((letters) =>
      letters.length > 1 ? `[${letters.join('')}]` : literalPattern(letters.join('')),
    ),
  );

/** A pattern that finds what a search finds in a text of JSON: names of fields as well as values. */
export const jsonSearchPattern = (search: string): string =>
  joinPatterns(
    [...search].map((letter) => {
      const written = JSON.stringify(letter).slice(1, -1);
      return written === letter ? searchPattern(letter) : literalPattern(written);
    }),
  );

/** Marks a text that is kept as a JSON string. */
const escaped = '\u0001';

/** A text as BSON can hold it: half of a surrogate pair would become another character. */
export const toBsonText = (text: string): string =>
  isWellFormed(text) && !text.startsWith(escaped) ? text : escaped + JSON.stringify(text);

/** One sign of a text within a JSON string, as `toBsonText` keeps it: a letter, or an escape. */
const jsonSign = '(?:[^\\x5c]|\\x5cu[0-9a-f]{4}|\\x5c[^u])';

/** A pattern for whole texts: `*` stands for any signs. Each part takes its first place, so a text is read once. */
function wildcardPattern(text: string, sign: string, partPattern: (part: string) => string): string {
  const [head = '', ...rest] = text.split('*').map(partPattern);
  const inner = rest.slice(0, -1).filter((part) => part !== '');
  const innerPatterns = inner.map((part) => `(?>${sign}*?${part})`).join('');
  return `${head}${innerPatterns}${sign}*${rest.at(-1) ?? ''}`;
}

/**
 * Patterns for the texts from `toBsonText` that a wildcard takes; one of them must match. The real text decides, in
 * either form. Apart, because servers bound the length of a pattern.
 */
export function globPatterns(text: string): readonly string[] {
  const inJson = (part: string): string => literalPattern(JSON.stringify(part).slice(1, -1));
  return [
    `^(?!\\x01)${wildcardPattern(text, '[\\s\\S]', literalPattern)}\\z`,
    `^\\x01"${wildcardPattern(text, jsonSign, inJson)}"\\z`,
  ];
}

/** Conditions of a search among texts from `toBsonText`; one of them must match. */
export function textSearch(search: string): readonly { readonly [operator: string]: unknown }[] {
  return [
    { $regex: searchPattern(search), $not: { $regex: '^\\x01' } },
    { $regex: `^\\x01"${jsonSign}*?${jsonSearchPattern(search)}` },
  ];
}

export const fromBsonText = (text: string): string =>
  text.startsWith(escaped) ? (JSON.parse(text.slice(1)) as string) : text;

/** Ids that are JSON lists whose first text is this one. */
export function listIdsOf(first: string) {
  const start = JSON.stringify([first]).slice(0, -1);
  return { $gte: start, $lt: `${start}\uffff` };
}
