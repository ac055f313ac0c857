// Redaction: six rules applied to arguments, results and whole records. Pure; bounded in depth, nodes, text and steps.
// Does not write anything anywhere: the guard redacts before a record reaches a sink.
import { type NameTest, nameTest } from './redact/names.ts';
import { hideSecrets, type Meter, redacted } from './redact/scan.ts';
import { looksSecret, secretTest } from './redact/tokens.ts';
import { isDigits } from './redact/values.ts';
import type { JsonObject } from './yaml.ts';

export { looksSecret, redacted };

/** A pattern and what replaces it; `$1` is the first group. A string is compiled as a regular expression. */
export type CustomPattern = readonly [pattern: string | RegExp, replacement: string];

/** What is redacted besides, or instead of, what the built-in rules find. */
export interface RedactionPolicy {
  /** Keys to redact besides the built-in ones; they beat the safe list. */
  readonly sensitiveKeys?: Iterable<string>;
  /** Keys to keep besides the built-in safe ones. */
  readonly safeCompoundKeys?: Iterable<string>;
  /** Applied to every string before the built-in rules, as far as it is read: their cost is the author's. */
  readonly customPatterns?: readonly CustomPattern[];
  /** False: keys alone decide, no value is looked at. Default true. */
  readonly detectSecretValues?: boolean;
  /** Prefixes of hubs' API keys besides `svk_`: keys are secrets wherever they stand. */
  readonly keyPrefixes?: Iterable<string>;
}

/** A compiled policy. All methods are pure and return copies. */
export interface Redaction {
  /** True when the key says that its value is a secret. The value matters where the name is also an ordinary word. */
  isSensitiveKey(key: string, value?: unknown): boolean;
  /** True when a text starts like a known kind of secret. */
  looksSecret(text: string): boolean;
  /**
   * Arguments (or any JSON value) with secrets replaced, as plain JSON data. Of a string the first 4,096 characters are
   * read and 1,000 kept. Where all strings together need more than 4,000,000 steps, the rest is replaced whole.
   */
  redactArgs(value: unknown): unknown;
  /** Text with every secret in it replaced; nothing is cut. Steps grow with the text's length. */
  redactText(text: string): string;
  /** As redactText, of the first 4,096 characters, cut to 500. */
  redactResult(text: string): string;
}

const maxDepth = 32;
const maxNodes = 20_000;
const maxRead = 4096;
const maxSteps = 4_000_000;
const truncated = '[TRUNCATED]';

/** Characters of serialised JSON above which a payload is cut (rule 6). */
export const maxPayload = 32_768;

/** Cuts, and replaces halves of surrogate pairs, which would not survive UTF-8. */
const cut = (text: string, length: number): string =>
  (text.length > length ? `${text.slice(0, length - 3)}...` : text).replace(/\p{Surrogate}/gu, '\ufffd');

/** @throws SyntaxError when a custom pattern is no regular expression */
export function createRedaction(policy: RedactionPolicy = {}): Redaction {
  const names = nameTest(policy.sensitiveKeys ?? [], policy.safeCompoundKeys ?? []);
  const { looksSecret, tokens } = secretTest(policy.keyPrefixes);
  const detect = policy.detectSecretValues ?? true;
  const custom = (policy.customPatterns ?? []).map(([pattern, replacement]) => {
    const { source, flags } = typeof pattern === 'string' ? { source: pattern, flags: '' } : pattern;
    return { pattern: new RegExp(source, `${flags.replace(/[gy]/g, '')}g`), replacement };
  });
  const hide = (text: string, meter: Meter): string => {
    if (!detect) return text;
    const rest = custom.reduce((left, { pattern, replacement }) => left.replace(pattern, replacement), text);
    return hideSecrets(rest, { names, tokens }, meter);
  };
  const shorten = (text: string, length: number, meter: Meter): string => {
    const hidden = hide(text.slice(0, maxRead), meter);
    return cut(text.length > maxRead && hidden !== redacted ? `${hidden}...` : hidden, length);
  };
  return {
    isSensitiveKey: names.isSensitiveKey,
    looksSecret,
    redactArgs(value) {
      const meter = { steps: 0, budget: maxSteps };
      const text = (one: string) => (detect && looksSecret(one) ? redacted : shorten(one, 1000, meter));
      return copy(value, names, text, detect);
    },
    redactText: (text) => hide(text, { steps: 0, budget: Number.POSITIVE_INFINITY }),
    redactResult: (text) => shorten(text, 500, { steps: 0, budget: maxSteps }),
  };
}

/** Walks maps and lists; a marker replaces what lies too deep, or comes after too many nodes, as in a cycle. */
function copy(root: unknown, names: NameTest, text: (value: string) => string, detect: boolean): unknown {
  let nodes = 0;
  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' || value === null)
      return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
    if (depth >= maxDepth || nodes >= maxNodes) return truncated;
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value)) return `[BINARY ${value.byteLength} bytes]`;
    if (Array.isArray(value) || value instanceof Set) return list(value, depth);
    const isNamed = detect && namesSecret(value, names);
    const isWebKey = detect && 'kty' in value;
    const out: [string, unknown][] = [];
    for (const [key, item] of value instanceof Map ? value.entries() : Object.entries(value)) {
      const name = String(key);
      if (++nodes > maxNodes) {
        out.push([truncated, true]);
        break;
      }
      const isHidden = names.isSensitiveKey(name, item) || (isNamed && valueNames.test(name));
      out.push([name, isHidden || (isWebKey && webKeyParts.test(name)) ? redacted : walk(item, depth + 1)]);
    }
    return Object.fromEntries(out);
  };
  const list = (items: Iterable<unknown>, depth: number): unknown[] => {
    const out: unknown[] = [];
    const isPair = Array.isArray(items) && items.length === 2;
    let previous: unknown = null;
    for (const item of items) {
      if (++nodes > maxNodes) return [...out, truncated];
      const word = detect && typeof previous === 'string' && typeof item === 'string' ? previous : '';
      if (announcesSecret(word, item, isPair, names)) out.push(redacted);
      // Judged as the two words of a command line that they are.
      else out.push(userFlag.test(word) ? text(`-u ${item}`).slice(3) : (walk(item, depth + 1) ?? null));
      previous = item;
    }
    return out;
  };
  return walk(root, 0);
}

/** Members that hold what another one names, members that name it, and private members of a JSON web key. */
const valueNames = /^(?:\w*values?|val)$/i;
const nameFields = /^(?:name|key|header|variable|field|label|parameter_?key|env_?var|id|type)$/i;
const webKeyParts = /^(?:d|p|q|dp|dq|qi|k)$/;
const userFlag = /^(?:-[uU]|--(?:proxy-)?user)$/;

/** A name in running text, with the value that belongs to it. */
const isSecretName = (name: string, value: unknown, names: NameTest): boolean => {
  const strength = names.strengthOf(name);
  return strength === 'code' ? isDigits(name, value) : strength === 'any' || strength === 'text';
};

/** A header or variable as an object: `{name: 'Authorization', value: '…'}`. Such objects have few members. */
const namesSecret = (value: object, names: NameTest): boolean =>
  (value instanceof Map ? [...value] : Object.entries(value)).slice(0, 16).some(([field, one]) => {
    if (typeof field !== 'string' || typeof one !== 'string' || !nameFields.test(field)) return false;
    return isSecretName(one.slice(0, 128), (value as { readonly value?: unknown }).value, names);
  });

/** A flag in an argument list whose value is the next word, or the name in a pair of name and value. */
const announcesSecret = (word: string, value: unknown, isPair: boolean, names: NameTest): boolean =>
  word === '-p' ||
  ((isPair ? /^-{0,2}[A-Za-z][\w.-]{1,127}$/ : /^--?[A-Za-z][\w.-]{1,127}$/).test(word) &&
    isSecretName(word.replace(/^-{1,2}/, ''), value, names));

/** The built-in policy. */
export const defaultRedaction: Redaction = createRedaction();

export const redactArgs = (value: unknown, redaction = defaultRedaction): unknown =>
  redaction.redactArgs(value);
export const redactText = (text: string, redaction = defaultRedaction): string => redaction.redactText(text);
export const redactResult = (text: string, redaction = defaultRedaction): string =>
  redaction.redactResult(text);

/**
 * Rule 6: a record whose JSON is longer than 32,768 characters loses its result summary and its arguments; the rest is
 * not checked again. Smaller records come back as they are.
 */
export function capPayload<T extends object>(record: T): T | JsonObject {
  if (JSON.stringify(record).length <= maxPayload) return record;
  const { result_summary: _removed, ...rest } = record as JsonObject;
  return { ...rest, _truncated: true, tool_args: { _redacted: 'payload exceeded 32KB' } };
}
