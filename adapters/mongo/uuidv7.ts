// Ids in order of arrival: UUIDs of version 7, whose first 48 bits are milliseconds, rising within a process. Over
// several nodes they order as the nodes' clocks do.
import { randomFillSync } from 'node:crypto';

export type RisingIds = (now: number) => string;

export function risingIds(): RisingIds {
  const random = new Uint8Array(8);
  let last = 0;
  let count = 0;
  return (now) => {
    const ms = Math.max(Math.floor(now), last);
    count = ms > last ? 0 : count + 1;
    last = ms;
    if (count > 0xfff) {
      last++;
      count = 0;
    }
    randomFillSync(random);
    const time = last.toString(16).padStart(12, '0');
    const order = count.toString(16).padStart(3, '0');
    random[0] = 0x80 | ((random[0] ?? 0) & 0x3f);
    const rest = Buffer.from(random).toString('hex');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${order}-${rest.slice(0, 4)}-${rest.slice(4)}`;
  };
}

/** Milliseconds of 2020: counts since then stay below 2^53 until 2089. */
const since = Date.UTC(2020, 0);
const perMs = 4096;

/** Events that were moved here from an embedded store keep its ids, of version 8, and their low numbers. */
const movedPlaces = 256;
/** No number of a moved event is as high, and none of version 7 as low. */
const firstSeq = (2 ** 40 * perMs) / 64;
const isMoved = (id: string): boolean => id[14] === '8';

/** An id as a number that rises with it. Two nodes may give one number to two ids. */
export function seqOf(id: string): number {
  const time = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  const order = Number.parseInt(id.slice(15, 18), 16);
  return isMoved(id) ? time * movedPlaces + order : (time - since) * perMs + order;
}

/** The highest number of this millisecond. */
export const seqAt = (ms: number): number => (Math.floor(ms) - since) * perMs + perMs - 1;

/** The number so many milliseconds before another. Nobody writes among moved events: theirs stays. */
export const seqBefore = (seq: number, ms: number): number => (seq < firstSeq ? seq : seq - ms * perMs);

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

/** A text that is above every id of this number, and below those of the next. */
export function idAfter(seq: number): string {
  if (seq < 0) return '';
  const moved = seq < firstSeq;
  const perTime = moved ? movedPlaces : perMs;
  const time = hex(Math.floor(seq / perTime) + (moved ? 0 : since), 12);
  return `${time.slice(0, 8)}-${time.slice(8)}-${moved ? 8 : 7}${hex(Math.floor(seq) % perTime, 3)}-g`;
}
