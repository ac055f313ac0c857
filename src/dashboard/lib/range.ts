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

/** Year, month from 0, and day of the month. */
type Day = readonly [year: number, month: number, day: number];

/** The instant at which a clock shows the time: a day with a change of summer time has 23 or 25 hours. */
const instantAt = (day: Day, minutes: number, utc: boolean): number =>
  utc ? Date.UTC(...day, 0, minutes) : new Date(...day, 0, minutes).getTime();

/** The day of a typed text; null if it is none, or if no calendar has it. */
function dayOf(text: string, now: number, utc: boolean): Day | null {
  const date = new Date(now);
  const [year, month, day] = utc
    ? [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
    : [date.getFullYear(), date.getMonth(), date.getDate()];
  if (text === 'today') return [year, month, day];
  if (text === 'yesterday') return [year, month, day - 1];
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)?.slice(1).map(Number);
  const dateParts: Day = [parts?.[0] ?? 0, (parts?.[1] ?? 0) - 1, parts?.[2] ?? 0];
  return parts && new Date(Date.UTC(...dateParts)).toISOString().startsWith(text) ? dateParts : null;
}

/** Minutes from midnight to `14:30`, up to 24:59; null if the text is none. */
const clockOf = (text: string): number | null => {
  const [, hours = '', minutes = ''] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  if (hours === '' || Number(hours) > 24 || Number(minutes) > 59) return null;
  return Number(hours) * 60 + Number(minutes);
};

/**
 * Reads a range that a person typed: `2d`, `yesterday`, `yesterday 14:00-15:00`, `2026-11-20 08:00-09:30`.
 * @returns parameters of the address; null if the text is no range
 */
export function readRange(text: string, now: number, utc: boolean): Search | null {
  const plain = text.trim().toLowerCase();
  if (lengthOf(plain) !== null) return rangeBefore(plain);
  const [date = '', clocks = '00:00-24:00', ...rest] = plain.split(/\s+/);
  const day = dayOf(date, now, utc);
  if (day === null || rest.length > 0) return null;
  const [start, end] = clocks.split('-').map(clockOf);
  if (start == null || end == null) return null;
  const [from, until] = [instantAt(day, start, utc), instantAt(day, end, utc)];
  return until > from ? fixedRange({ from, until }) : null;
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
