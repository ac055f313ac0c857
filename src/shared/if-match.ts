// The condition of a write: the state that it replaces. A state has one or more tags, such as a version and a hash.
import { HubError } from './error.ts';

/**
 * Tags from an If-Match header; the write replaces only a state with one of them. Empty: any state. Null: no condition.
 */
export type IfMatch = readonly string[] | null;

/** The tag of nothing: nothing is deployed, or nothing was set. */
export const nothingTag = '0';

/** The tag of a state that is known by the time of its last change, in epoch milliseconds. */
export const timeTag = (ms: number): string => new Date(ms).toISOString();

/** Reads an If-Match header. Quotes around a tag are optional. A weak tag matches no state. */
export function ifMatchOf(header: string | null): IfMatch {
  if (header === null) return null;
  if (header.trim() === '*') return [];
  return header
    .slice(0, 1024)
    .split(',')
    .map((tag) => tag.trim().replace(/^"(.*)"$/, '$1'))
    .concat('');
}

/** @param tags those of the present state; empty: there is none */
export function isMatch(ifMatch: IfMatch, tags: readonly string[]): boolean {
  if (ifMatch === null) return true;
  if (tags.length === 0) return ifMatch.includes(nothingTag);
  return ifMatch.length === 0 || tags.some((tag) => ifMatch.includes(tag));
}

/** @param subject the noun and its name, at the start of a sentence */
export const changed = (subject: string): HubError =>
  new HubError(
    'changed',
    `${subject} is not in the state that If-Match names. Nothing was changed. Read it again, then decide if the change is still right.`,
  );

/** @throws HubError changed */
export function requireMatch(ifMatch: IfMatch, tags: readonly string[], subject: string): void {
  if (!isMatch(ifMatch, tags)) throw changed(subject);
}
