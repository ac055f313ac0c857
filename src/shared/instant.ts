// Instants as texts: ISO 8601 in, with any offset and up to microseconds kept, and ISO 8601 UTC out. Pure; knows no
// clock.

/**
 * An ISO 8601 date, or date and time: `T` or a space between, fraction up to 9 digits, offset `Z`, `+hh:mm`, `+hhmm` or
 * none (UTC).
 */
const parts =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?([Zz]|[+\- ]\d{2}:?\d{2})?)?$/u;

/** Offset in milliseconds. A space stands for the `+` that a query string decodes to one. Null when out of range. */
function offsetOf(text: string | undefined): number | null {
  if (text === undefined || text === 'Z' || text === 'z') return 0;
  const hours = Number(text.slice(1, 3));
  const minutes = Number(text.slice(-2));
  if (hours > 23 || minutes > 59) return null;
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

/** `2026-01-31T23:59`: the texts of one batch mostly have it in common. */
const minuteLength = 16;
const usualLength = '2026-01-31T23:59:59.999Z'.length;
let lastMinute = '';
let lastMinuteAt = 0;

/** The digits of a text from a place on, as a number; NaN where one is none. */
function digitsAt(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

/** The instant of a text as `Date` writes it, in the minute of the text before; null for any other. */
function parseInLastMinute(text: string): number | null {
  if (text.length !== usualLength || !text.startsWith(lastMinute) || lastMinute === '') return null;
  if (text[16] !== ':' || text[19] !== '.' || text[23] !== 'Z') return null;
  const seconds = digitsAt(text, 17, 19);
  const at = lastMinuteAt + seconds * 1000 + digitsAt(text, 20, 23);
  return seconds <= 60 && at >= lastMinuteAt ? at : null;
}

/**
 * Epoch milliseconds of an ISO 8601 text; microseconds survive as a fraction. Null when it is not one or names no real
 * instant (13th month, 31st of June).
 */
export function parseInstant(text: string): number | null {
  const inLastMinute = parseInLastMinute(text);
  if (inLastMinute !== null) return inLastMinute;
  const at = parseParts(text);
  if (at !== null && text.length === usualLength && text.endsWith('Z')) {
    lastMinute = text.slice(0, minuteLength);
    // A 60th second is one of its minute, too.
    lastMinuteAt = at - digitsAt(text, 17, 19) * 1000 - digitsAt(text, 20, 23);
  }
  return at;
}

function parseParts(text: string): number | null {
  const match = parts.exec(text);
  if (!match) return null;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone] = match;
  const offset = offsetOf(zone);
  if (offset === null || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null;
  // `Date.UTC` takes the years 0 to 99 for those of the 20th century.
  const date = new Date(0);
  const midnight = date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null;
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  const micros = Number(fraction.slice(0, 6).padEnd(6, '0'));
  return midnight + seconds * 1000 - offset + micros / 1000;
}

/** ISO 8601 UTC with microseconds. @param ms epoch milliseconds, their fraction the microseconds */
export function renderMicros(ms: number): string {
  const micros = Math.round(ms * 1000);
  const whole = Math.floor(micros / 1000);
  const rest = micros - whole * 1000;
  return `${new Date(whole).toISOString().slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

/** Whole minute of the last text, and its beginning up to the seconds: `2026-01-31T23:59:`. */
let renderedMinute = Number.NaN;
let minuteText = '';

/**
 * ISO 8601 UTC with milliseconds, as `Date` writes it, in a third of its time for instants of one minute.
 * @param ms epoch milliseconds; a fraction is cut off
 * @throws RangeError for a number that is no instant
 */
export function renderMillis(ms: number): string {
  const minute = Math.floor(ms / 60_000);
  if (minute !== renderedMinute || !Number.isInteger(ms)) {
    const text = new Date(ms).toISOString();
    if (text.length !== usualLength || !Number.isInteger(ms)) return text;
    renderedMinute = minute;
    minuteText = text.slice(0, minuteLength + 1);
  }
  const digits = String(100_000 + ms - minute * 60_000);
  return `${minuteText}${digits.slice(1, 3)}.${digits.slice(3)}Z`;
}

/** The same, with three more digits where the instant has microseconds. */
export const renderInstant = (ms: number): string =>
  Number.isInteger(ms) ? renderMillis(ms) : renderMicros(ms).replace(/000Z$/, 'Z');
