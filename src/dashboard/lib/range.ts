// The range of time that all pages share: words that people type, what the address contains, and its ends.
import { dayMs, hourMs, minuteMs } from '../../shared/duration.ts';
import type { Search } from './search.ts';

/** Ranges to choose from: their text in the address, and their name. */
export const ranges = [
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['6h', 'Last 6 hours'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

/** The range without a selection. */
export const defaultRange = '24h';

const units: { readonly [unit: string]: number } = { m: minuteMs, h: hourMs, d: dayMs, w: 7 * dayMs };
const longestMs = 3_660 * dayMs;

export interface Span {
  readonly from: number;
  readonly until: number;
  /** The span ends now and moves with the time. */
  readonly open: boolean;
  /** Length before now, such as `24h`; null for a fixed start. */
  readonly range: string | null;
}

/** Length of `90m`, `2d`; null if the text is none. */
export function lengthOf(text: string): number | null {
  const [, size = '', unit = ''] = /^(\d{1,4})([mhdw])$/.exec(text) ?? [];
  const ms = Number(size) * (units[unit] ?? 0);
  return ms > 0 && ms <= longestMs ? ms : null;
}

/** The span in the address: `from=now-7d`, or instants of RFC 3339. The default is a day before now. */
export function spanOf({ from, to }: Search, now: number): Span {
  // The end of the current minute, which contains the newest events.
  const end = (Math.floor(now / minuteMs) + 1) * minuteMs;
  const [start, stop] = [Date.parse(from ?? ''), Date.parse(to ?? '')];
  if (!Number.isNaN(start) && (Number.isNaN(stop) || stop > start)) {
    return { from: start, until: Number.isNaN(stop) ? end : stop, open: Number.isNaN(stop), range: null };
  }
  const text = from?.startsWith('now-') ? from.slice(4) : defaultRange;
  const length = lengthOf(text) ?? lengthOf(defaultRange) ?? dayMs;
  return {
    from: end - length,
    until: end,
    open: true,
    range: lengthOf(text) === null ? defaultRange : text,
  };
}

/** Figures of a range stand beside those of the range before, until a person turns that off. */
export const isCompared = ({ compare }: Search): boolean => compare !== 'off';

/** A span as instants, for requests. */
export const instantsOf = ({ from, until }: Pick<Span, 'from' | 'until'>) => ({
  since: new Date(from).toISOString(),
  until: new Date(until).toISOString(),
});

/** The value of a date-time field for an instant. */
export const fieldText = (instant: number, utc: boolean): string => {
  const shift = utc ? 0 : new Date(instant).getTimezoneOffset() * minuteMs;
  return new Date(instant - shift).toISOString().slice(0, 16);
};

/** The instant of such a value; NaN if it is none. */
export const instantOf = (text: string, utc: boolean): number => Date.parse(utc ? `${text}Z` : text);

/** A fixed span as parameters of the address. */
export const fixedRange = ({ from, until }: Pick<Span, 'from' | 'until'>): Search => ({
  from: new Date(from).toISOString(),
  to: new Date(until).toISOString(),
});

/** The range before now as parameters of the address. */
export const rangeBefore = (length: string): Search => ({
  from: length === defaultRange ? undefined : `now-${length}`,
  to: undefined,
});

const dayOf = (text: string, now: number, utc: boolean): number | null => {
  const date = new Date(now);
  const start = utc
    ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate())
    : new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
  if (text === 'today') return start;
  if (text === 'yesterday') return start - dayMs;
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined) return null;
  const parts = [Number(year), Number(month) - 1, Number(day)] as const;
  const midnight = utc ? Date.UTC(...parts) : new Date(...parts).getTime();
  return Number.isNaN(midnight) ? null : midnight;
};

const clockOf = (text: string): number | null => {
  const [, hours = '', minutes = ''] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  if (hours === '' || Number(hours) > 24 || Number(minutes) > 59) return null;
  return Number(hours) * hourMs + Number(minutes) * minuteMs;
};

/**
 * Reads a range that a person typed: `2d`, `yesterday`, `yesterday 14:00-15:00`, `2026-11-20 08:00-09:30`.
 * @returns parameters of the address; null if the text is no range
 */
export function readRange(text: string, now: number, utc: boolean): Search | null {
  const plain = text.trim().toLowerCase();
  if (lengthOf(plain) !== null) return rangeBefore(plain);
  const [day = '', clocks, ...rest] = plain.split(/\s+/);
  const midnight = dayOf(day, now, utc);
  if (midnight === null || rest.length > 0) return null;
  if (clocks === undefined) return fixedRange({ from: midnight, until: midnight + dayMs });
  const [from, until] = clocks.split('-').map(clockOf);
  if (from == null || until == null || until <= from) return null;
  return fixedRange({ from: midnight + from, until: midnight + until });
}

/** The span before or after this one, of the same length. It never ends after now. */
export function shifted(span: Span, by: -1 | 1, now: number): Search {
  const length = span.until - span.from;
  const until = Math.min(now, span.until + by * length);
  return fixedRange({ from: until - length, until });
}

/** Twice the span around its middle. */
export function zoomedOut(span: Span, now: number): Search {
  const half = (span.until - span.from) / 2;
  return fixedRange({ from: span.from - half, until: Math.min(now, span.until + half) });
}
