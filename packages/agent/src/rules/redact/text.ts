// Secrets inside commands, headers, connection strings and other text: what follows a name that says so. Linear in the
// text's length.

import { looksChosen } from './chosen.ts';
import { hideEncoded } from './encoded.ts';
import type { NameTest } from './key.ts';
import { hideKeys } from './keys.ts';
import { hideMarkup } from './markup.ts';
import { hideAnswers, hidePairs } from './pairs.ts';
import { before, hidePrograms, quotedOrRun } from './programs.ts';
import { hideInProse } from './prose.ts';
import { redacted } from './secret.ts';
import { hideTables } from './tables.ts';

/** Hides what names, flags, schemes and addresses in the text say is a secret. */
export function hideInline(text: string, names: NameTest, depth = 0): string {
  // Two encodings within each other are read, no more: each reads the text once.
  let hidden = depth < 2 ? hideEncoded(text, (inner) => hideInline(inner, names, depth + 1)) : text;
  hidden = hideAnswers(hideTables(hideKeys(hidden), names), names);
  if (hidden.includes('://') || hidden.includes('@')) hidden = hidden.replace(/\S+/g, hideInAddress);
  hidden = hidden.replace(scheme, (whole: string, head: string, value: string) =>
    /\d|=$|.{20}/.test(value) ? head + redacted : whole,
  );
  hidden = hidePairs(hidden, names);
  if (/[=:]/.test(hidden)) hidden = hideAssigned(hidden, names);
  if (hidden.includes('-')) hidden = hideFlags(hidden, names);
  if (hidden.includes('<')) hidden = hideMarkup(hidden, names);
  hidden = hidden.replace(setting, hideByName(names));
  hidden = hidden.replace(sqlPassword, `$1${redacted}`).replace(netrcPassword, `$1${redacted}`);
  hidden = hidePrograms(hidden);
  return hideInProse(hidden);
}

const scheme = /(\b(?:bearer|basic)[ \t]+)([A-Za-z0-9._~+/=-]{8,})/gi;
const sqlPassword = /(\b(?:identified[ \t]+by|password)[ \t]+)'[^'\n]*'/gi;
const netrcPassword = /(\blogin[ \t]+\S+[ \t]+password[ \t]+)\S+/gi;

/** A run without blanks: the password of a URL, or of a driver's address without one. */
function hideInAddress(run: string): string {
  const hidden = run.includes('://') ? hideUrlPassword(run) : run;
  return hidden.includes('@') ? hideDriverPassword(hidden) : hidden;
}

const userPart = /:\/\/([^\s:/@?#]*):/g;
const passwordPart = /[^\s/@]+@/y;

/** After a plain word as user, the password reaches to the run's last `@`; else to the next one. */
function hideUrlPassword(run: string): string {
  const last = run.lastIndexOf('@');
  if (last < 0) return run;
  let out = '';
  let from = 0;
  userPart.lastIndex = 0;
  for (let match = userPart.exec(run); match; match = userPart.exec(run)) {
    const start = match.index + match[0].length;
    if (start >= last) break;
    if (/^\w+$/.test(match[1] ?? '')) return out + run.slice(from, start) + redacted + run.slice(last);
    passwordPart.lastIndex = start;
    const password = passwordPart.exec(run);
    if (!password) continue;
    out += run.slice(from, start) + redacted;
    from = start + password[0].length - 1;
    userPart.lastIndex = from;
  }
  return out + run.slice(from);
}

const driverHost = /@(?:tcp|udp|unix)\(/;
const thinDriver = /(:thin:[^/@\s]*\/)[^@\s]*(?=@)/;

/** `user:password@tcp(host)` and `jdbc:oracle:thin:user/password@host`; one in a run. */
function hideDriverPassword(run: string): string {
  const host = driverHost.exec(run)?.index ?? -1;
  const colon = host < 0 ? -1 : run.indexOf(':');
  if (colon >= 0 && colon < host) return run.slice(0, colon + 1) + redacted + run.slice(host);
  return run.includes(':thin:') ? run.replace(thinDriver, `$1${redacted}`) : run;
}

/** A name at the start of a run of name characters, an optional quote after it, and what assigns. */
const assigned =
  /(?<![\w.-])-{0,2}([A-Za-z_][\w.-]{0,127})(\\{0,4}["'])?(\*{1,2}|`)?(?:\]|(?<=["'])\})?[ \t]{0,8}(?::=|=>|\?=|={1,3}|:(?!\/\/))(?:\*{1,2}(?=[ \t]))?[ \t]{0,8}/g;
/** The lines below hold the value: pairs.ts hides them. */
const blockMark = /^[|>][+-]?\d?[+-]?$/;
const exportBefore = /\bexport[ \t]+$/;
const wholeLine = /^(?:(?:proxy[-_]?)?authorization|(?:set[-_]?)?cookie)$/i;

/** Values after `=`, `:` and the like: of variables, settings, headers, query strings, JSON and connection strings. */
function hideAssigned(text: string, names: NameTest): string {
  const quotes = new OpenQuotes(text);
  let out = '';
  let from = 0;
  assigned.lastIndex = 0;
  for (let match = assigned.exec(text); match; match = assigned.exec(text)) {
    const [whole, name = '', nameQuote, emphasis] = match;
    const exported = exportBefore.test(text.slice(Math.max(0, match.index - 16), match.index));
    if (!names.isSensitiveName(name, { exported })) continue;
    const at = match.index + whole.length;
    const toLineEnd =
      wholeLine.test(name) || (whole.trimEnd().endsWith(':') && startsLine(text, match.index));
    const open = quotes.openAt(at);
    const isSecret = ({ from, to }: Value): boolean =>
      to > from &&
      !blockMark.test(text.slice(from, to)) &&
      names.isSensitiveName(name, { exported, value: text.slice(from, to) });
    let value = valueAt(text, at, open, { toLineEnd, inJson: nameQuote !== undefined });
    // A code of digits may be followed by words about it.
    if (toLineEnd && !isSecret(value)) value = valueAt(text, at, open, { toLineEnd: false, inJson: false });
    if (!isSecret(value)) continue;
    // A name in a list of Markdown is explained more often than it is given.
    if (emphasis !== undefined && !looksChosen(text.slice(value.from, value.to))) continue;
    // JSON keeps the quotes of the value, so that it can still be read; a shell needs none.
    const [begin, upTo] = nameQuote === undefined ? [at, value.end] : [value.from, value.to];
    const end = upTo - at < 512 ? upTo : endOfRest(text, upTo);
    out += text.slice(from, begin) + redacted;
    from = end;
    assigned.lastIndex = Math.max(end, value.end);
  }
  return out + text.slice(from);
}

function endOfRest(text: string, from: number): number {
  rest.lastIndex = from;
  return from + (rest.exec(text)?.[0].length ?? 0);
}

/** True when nothing but blanks and a list's dash stand before this place in its line. */
function startsLine(text: string, at: number): boolean {
  let i = at - 1;
  while (i >= 0 && (text[i] === ' ' || text[i] === '\t' || text[i] === '-')) i--;
  return i < 0 || text[i] === '\n' || text[i] === '\r';
}

/** Which quotes are open at places that are asked for in order. An apostrophe counts as a quote. */
class OpenQuotes {
  readonly #text: string;
  #at = 0;
  #double = false;
  #single = false;

  constructor(text: string) {
    this.#text = text;
  }

  openAt(at: number): string {
    for (; this.#at < at; this.#at++) {
      const char = this.#text[this.#at];
      if (char === '"') this.#double = !this.#double;
      else if (char === "'") this.#single = !this.#single;
    }
    return (this.#double ? '"' : '') + (this.#single ? "'" : '');
  }
}

interface Value {
  readonly from: number;
  readonly to: number;
  /** After the closing quote, if there is one. */
  readonly end: number;
}

const openingQuote = /"""|'''|\\{0,4}["'`]/y;
/** As much of a value as is looked at; a secret that is longer is hidden to its end. */
const run = /\S{1,512}/y;
const line = /[^\n\r]{1,512}/y;
const rest = /[^\s"'`,;&}\]]*/y;
const nextAssignment = /[;&,](?=[A-Za-z_][\w.-]{0,127}=)/;

/**
 * The value that begins here. One without quotes ends at a blank, at a quote that was open before, or where another
 * assignment begins.
 */
function valueAt(
  text: string,
  at: number,
  open: string,
  { toLineEnd, inJson }: { readonly toLineEnd: boolean; readonly inJson: boolean },
): Value {
  // What was hidden before stays as it is.
  if (text.startsWith(redacted, at)) return { from: at, to: at + redacted.length, end: at + redacted.length };
  openingQuote.lastIndex = at;
  const quote = openingQuote.exec(text)?.[0];
  if (quote !== undefined) {
    const from = at + quote.length;
    const to = closingQuote(text, from, quote);
    if (to >= 0) return { from, to, end: to + quote.length };
  }
  const pattern = toLineEnd ? line : run;
  pattern.lastIndex = at;
  let value = pattern.exec(text)?.[0] ?? '';
  const cuts = toLineEnd ? [] : [value.search(nextAssignment)];
  if (inJson) cuts.push(value.search(/[,}\]]/));
  for (const char of open) cuts.push(value.indexOf(char));
  for (const cut of cuts) if (cut >= 0) value = value.slice(0, cut);
  // The backslash of an escaped quote is not the value's.
  const to = at + value.replace(/\\{1,4}$/, '').length;
  return { from: at, to, end: to };
}

/** Where the quote closes; -1 when it does not. A plain quote may be escaped inside. */
function closingQuote(text: string, from: number, quote: string): number {
  let to = text.indexOf(quote, from);
  if (quote.length > 1 || quote === "'") return to;
  while (to > from && text[to - 1] === '\\' && text[to - 2] !== '\\') to = text.indexOf(quote, to + 1);
  return to;
}

const longFlag = new RegExp(
  String.raw`(${before}--?([A-Za-z][\w.-]{0,127})[ \t]+(?:\\\r?\n[ \t]*)?)(?![-\\])(${quotedOrRun})`,
  'g',
);
/** Not the words that other programs begin so. */
const passwordFlag = new RegExp(
  String.raw`(${before}-p(?!(?:ass(?:in|out|word|phrase)?|ath|erm|rint0?|rune|attern)\b)\s*)${quotedOrRun}`,
  'g',
);
const passSource = new RegExp(String.raw`(${before}-pass(?:in|out)?[ \t]+["']?pass:)\S+`, 'g');
const userFlag = new RegExp(
  String.raw`(${before}(?:-[uU][ \t]*|--(?:proxy-)?user(?:[ \t]+|=)))(?:(["'])([^"'\n:]{0,256}):(?!\/\/)([^"'\n]*)|([^\s"':]{1,256}):(?!\/\/)(\S+))`,
  'g',
);
const setting = new RegExp(
  String.raw`((?:\bset(?:env|x)?|(?<![^\n])[ \t]{0,8}ENV)[ \t]+(?:-\w{1,3}[ \t]+)?([A-Za-z_][\w.-]{0,127})[ \t]+)(${quotedOrRun})`,
  'g',
);

const hideByName =
  (names: NameTest) =>
  (whole: string, head: string, name: string, value: string): string =>
    names.isSensitiveName(name, { value }) ? head + redacted : whole;

/** Values of flags that name a secret, of `-p`, and the password in `-u user:password`. */
function hideFlags(text: string, names: NameTest): string {
  let hidden = text.replace(longFlag, hideByName(names)).replace(passSource, `$1${redacted}`);
  if (hidden.includes('-p')) hidden = hidden.replace(passwordFlag, `$1${redacted}`);
  return hidden.replace(userFlag, (whole: string, head: string, quote = '', ...parts: string[]) => {
    const [quotedUser, quotedPassword, bareUser, barePassword] = parts;
    const [user = '', password = ''] = quote === '' ? [bareUser, barePassword] : [quotedUser, quotedPassword];
    // A user and a group by number, as containers take them.
    return /^\d+$/.test(user) && /^\d+$/.test(password) ? whole : `${head}${quote}${user}:${redacted}`;
  });
}
