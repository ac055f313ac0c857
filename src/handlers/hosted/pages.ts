// Pages of the hosted API's lists: as many items as one answer holds, with what stands beside them.
import { maxOffset } from '../../api/hosted/fields.ts';
import { shortened } from '../../api/listed.ts';

/** Bytes of the items of a page; an answer holds 4 MiB. */
const maxPageBytes = 3.75 * 1024 * 1024;

export interface HostedPage<T> {
  readonly items: T[];
  readonly limit: number;
  readonly offset: number;
  readonly has_more: boolean;
}

/**
 * The items that fit, shortened as lists are (listed.ts); at least one if there is one.
 * @param more true when the list goes on after these items
 */
export function pageOf<T extends object>(
  items: readonly T[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
  more: boolean,
): HostedPage<T> {
  const shown: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const whole = JSON.stringify(item);
    const short = shortened(item, whole) as T;
    bytes += Buffer.byteLength(short === item ? whole : JSON.stringify(short)) + 1;
    if (bytes > maxPageBytes && shown.length > 0) break;
    shown.push(short);
  }
  return { items: shown, limit, offset, has_more: more || shown.length < items.length };
}

/** The answer's word for where the next page begins. @param next items from here to there; null: nothing is left */
export function nextOffset(
  { offset, cursor }: { readonly offset: number; readonly cursor?: string | undefined },
  next: number | null,
): number | null {
  if (next === null || cursor !== undefined || offset + next > maxOffset) return null;
  return offset + next;
}
