// Searches for a text in rows that SQLite has read: it knows no other cases than those of ASCII.
import { findsIn } from '../../src/shared/search-text.ts';
import { givenText } from './database.ts';

/** True if a search for `needle` finds one of the texts; null finds all. */
export const mentions = (texts: readonly unknown[], needle: string | null): boolean =>
  needle === null || texts.some((text) => typeof text === 'string' && findsIn(givenText(text), needle));
