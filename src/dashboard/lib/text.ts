// Numbers and texts for people: counts, durations, relative and absolute times, and untrusted texts.
import { dayMs } from '../../shared/duration.ts';
import { serverNow } from './server-time.ts';

export { endCut, visible } from '../../shared/visible-text.ts';

const numbers = new Intl.NumberFormat('en');
export const count = (value: number): string => numbers.format(value);

/** `3 agents`, `1 agent`, `no agents`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${value === 0 ? 'no' : count(value)} ${value === 1 ? one : many}`;

/** `0 ms`, `850 ms`, `1.2 s`; from a minute on like `duration`. */
export function milliseconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms);
}

/** `4 min 10 s`, `2 h`, `3 d`: at most two parts, rounded down. */
export function duration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  const m = Math.floor(s / 60);
  if (m < 10) return s % 60 === 0 ? `${m} min` : `${m} min ${s % 60} s`;
  if (m < 60) return `${m} min`;
  const h = Math.floor(m / 60);
  if (h < 24) return m % 60 === 0 || h > 9 ? `${h} h` : `${h} h ${m % 60} min`;
  return `${Math.floor(h / 24)} d`;
}

export function relative(instant: number, now: number): string {
  const ms = now - instant;
  if (ms < 0) return ms > -11_000 ? 'just now' : `in ${duration(-ms)}`;
  // Seconds of an old time are noise, and wrap in tables.
  const whole = ms < 60_000 ? ms : Math.floor(ms / 60_000) * 60_000;
  return ms < 5_000 ? 'just now' : `${duration(whole)} ago`;
}

/** One formatter for each zone: a page formats hundreds of times, and a new formatter is expensive. */
function formatter(options: Intl.DateTimeFormatOptions): (instant: number, utc: boolean) => string {
  const make = (zone: object): Intl.DateTimeFormat =>
    new Intl.DateTimeFormat('en-GB', { ...options, ...zone });
  let [local, inUtc]: (Intl.DateTimeFormat | undefined)[] = [];
  return (instant, utc) => {
    if (utc) {
      inUtc ??= make({ timeZone: 'UTC' });
      return inUtc.format(instant);
    }
    local ??= make({});
    return local.format(instant);
  };
}

export const absolute = formatter({
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'short',
});

const clockWithMilliseconds = formatter({
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
});

/** Hours and minutes, for charts. */
export const clockTime = formatter({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** Day and month, for charts of several days. */
export const dayName = formatter({ day: '2-digit', month: 'short' });

/** The day first, if it is not today. */
const withDay =
  (clock: typeof clockTime): typeof clockTime =>
  (instant, utc) => {
    const [day, now] = [dayName(instant, utc), serverNow()];
    const isToday = Math.abs(now - instant) < dayMs && dayName(now, utc) === day;
    return `${isToday ? '' : `${day} `}${clock(instant, utc)}`;
  };

/** Time and milliseconds, for lists of events: `04:51:02.123`, or `23 Nov 04:51:02.123` if it is not today. */
export const preciseTime = withDay(clockWithMilliseconds);

/** For lists of changes and for `stale since`: `04:51`, or `23 Nov 04:51` if it is not today. */
export const minuteTime = withDay(clockTime);

/** Shortens a long text to its start and its end. */
export const middleCut = (text: string, max: number): string =>
  text.length <= max
    ? text
    : `${text.slice(0, Math.ceil(max * 0.65))} … ${text.slice(-Math.floor(max * 0.3))}`;

/** A text with content; null for any other value. */
export const textOrNull = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

export const plainJson = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined');

/** Name and colour of a finding, by severity. */
export const severities = {
  error: { word: 'Error', tone: 'tone-deny' },
  warning: { word: 'Warning', tone: 'tone-ask' },
  notice: { word: 'Notice', tone: 'tone-unknown' },
} as const;

/** Rows after which a list loads no more. */
export const maxRows = 2_000;

/** `3 runs`, or `1,000+ runs` if more were not counted. */
export const cappedText = (size: number, noun: string, isCapped: boolean, nouns = `${noun}s`): string =>
  isCapped ? `${count(size)}+ ${nouns}` : counted(size, noun, nouns);

/**
 * The loaded rows of a list with pages: `3 runs`, `100+ runs; scroll for more`, or `2,000 runs loaded. For others,
 * narrow the list`.
 */
export function loadedText(size: number, noun: string, hasMore: boolean, nouns = `${noun}s`): string {
  if (!hasMore) return counted(size, noun, nouns);
  return size < maxRows
    ? `${cappedText(size, noun, true, nouns)}; scroll for more`
    : `${count(size)} ${nouns} loaded. For others, narrow the list`;
}
