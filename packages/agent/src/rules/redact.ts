// Redaction: six rules applied to arguments, results and whole records. Pure; bounded in depth, nodes and text.
// Does not write anything anywhere: the guard redacts before a record reaches a sink.
import { type NameTest, nameTest } from './redact/key.ts';
import { redacted, secretTest } from './redact/secret.ts';
import { hideInline } from './redact/text.ts';
import type { JsonObject } from './yaml.ts';

export { looksSecret, redacted } from './redact/secret.ts';

/**
 * A pattern and what replaces it; `$1` in the replacement is the first group. A string is compiled as a regular
 * expression.
 */
export type CustomPattern = readonly [pattern: string | RegExp, replacement: string];

/** What is redacted besides, or instead of, what the built-in rules find. */
export interface RedactionPolicy {
  /** Keys to redact besides the built-in ones; they beat the safe list. */
  readonly sensitiveKeys?: Iterable<string>;
  /** Keys to keep besides the built-in safe ones. */
  readonly safeCompoundKeys?: Iterable<string>;
  /**
   * Applied to every string before the built-in patterns, on its first 10,000 characters: their cost is the author's.
   */
  readonly customPatterns?: readonly CustomPattern[];
  /** False: keys alone decide, no value is looked at. Default true. */
  readonly detectSecretValues?: boolean;
  /** Prefixes of hubs' API keys besides `svk_`: keys are secrets wherever they stand. */
  readonly keyPrefixes?: Iterable<string>;
}

/** A compiled policy. All methods are pure and return copies. */
export interface Redaction {
  /** True when the key says that its value is a secret. The value matters for `pwd` alone, which may be a folder. */
  isSensitiveKey(key: string, value?: unknown): boolean;
  /** True when a text starts like a known kind of secret. */
  looksSecret(text: string): boolean;
  /**
   * Arguments (or any JSON value) with secrets replaced; strings over 1,000 characters are cut. The copy is plain JSON
   * data.
   */
  redactArgs(value: unknown): unknown;
  /** Text with every secret in it replaced; nothing is cut. */
  redactText(text: string): string;
  /** As redactText, cut to 500 characters. */
  redactResult(text: string): string;
}

const maxDepth = 32;
const maxNodes = 20_000;
const maxArgument = 1000;
const maxResult = 500;
const maxCustomInput = 10_000;
const truncated = '[TRUNCATED]';

/** Characters of serialised JSON above which a payload is cut (rule 6). */
export const maxPayload = 32_768;

/** Cuts, and replaces halves of surrogate pairs, which would not survive UTF-8. */
const cut = (text: string, length: number): string =>
  (text.length > length ? `${text.slice(0, length - 3)}...` : text).replace(/\p{Surrogate}/gu, '\ufffd');

/** @throws SyntaxError when a custom pattern is no regular expression */
export function createRedaction(policy: RedactionPolicy = {}): Redaction {
  const names = nameTest(policy.sensitiveKeys ?? [], policy.safeCompoundKeys ?? []);
  const { looksSecret, hideTokens } = secretTest(policy.keyPrefixes);
  const detect = policy.detectSecretValues ?? true;
  const custom = (policy.customPatterns ?? []).map(([pattern, replacement]) => {
    const source = typeof pattern === 'string' ? pattern : pattern.source;
    const flags = typeof pattern === 'string' ? '' : pattern.flags.replace(/[gy]/g, '');
    return { pattern: new RegExp(source, `${flags}g`), replacement };
  });
  const hideCustom = (text: string): string => {
    if (custom.length === 0) return text;
    let head = text.slice(0, maxCustomInput);
    for (const { pattern, replacement } of custom) head = head.replace(pattern, replacement);
    return head + text.slice(maxCustomInput);
  };
  const redactText = (text: string): string =>
    detect ? hideTokens(hideInline(hideCustom(text), names)) : text;
  const redactString = (text: string): string =>
    detect && looksSecret(text) ? redacted : cut(redactText(text), maxArgument);
  return {
    isSensitiveKey: names.isSensitiveKey,
    looksSecret,
    redactArgs: (value) => copy(value, names, redactString, detect),
    redactText,
    redactResult: (text) => cut(redactText(text), maxResult),
  };
}

/**
 * Walks maps and lists; what lies too deep, or comes after too many nodes, is replaced by a marker (a cycle ends there
 * too).
 */
function copy(root: unknown, names: NameTest, text: (value: string) => string, detect: boolean): unknown {
  let nodes = 0;
  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' || value === null) {
      return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
    }
    if (depth >= maxDepth || nodes >= maxNodes) return truncated;
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value)) return `[BINARY ${value.byteLength} bytes]`;
    if (Array.isArray(value) || value instanceof Set) return list(value, depth);
    const entries = value instanceof Map ? value.entries() : Object.entries(value);
    const named = detect && namesSecret(value, names);
    const isWebKey = detect && 'kty' in value;
    const out: [string, unknown][] = [];
    for (const [key, item] of entries) {
      if (++nodes > maxNodes) {
        out.push([truncated, true]);
        break;
      }
      const name = String(key);
      const hide =
        names.isSensitiveKey(name, item) ||
        (named && valueNames.test(name)) ||
        (isWebKey && webKeyParts.has(name));
      out.push([name, hide ? redacted : walk(item, depth + 1)]);
    }
    return Object.fromEntries(out);
  };
  const list = (items: Iterable<unknown>, depth: number): unknown[] => {
    const out: unknown[] = [];
    const isPair = Array.isArray(items) && items.length === 2;
    let previous: unknown = null;
    for (const item of items) {
      if (++nodes > maxNodes) {
        out.push(truncated);
        break;
      }
      const after = detect && typeof previous === 'string' && typeof item === 'string' ? previous : null;
      if (after !== null && announcesSecret(after, String(item), isPair, names)) out.push(redacted);
      // Judged as the two words of a command line that they are.
      else if (after !== null && userFlag.test(after)) out.push(text(`-u ${item}`).slice(3));
      else out.push(walk(item, depth + 1) ?? null);
      previous = item;
    }
    return out;
  };
  return walk(root, 0);
}

/** Members that hold what another one names. */
const valueNames = /^(?:\w*values?|val)$/i;
/** Members of an object whose value names it. */
const nameFields = /^(?:name|key|header|variable|field|label|parameter_?key|env_?var|id|type)$/i;
/** Private members of a JSON web key. */
const webKeyParts: ReadonlySet<string> = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']);

/** A header or variable as an object: `{name: 'Authorization', value: '…'}`. */
function namesSecret(value: object, names: NameTest): boolean {
  const said = (value as { readonly value?: unknown }).value;
  const about = typeof said === 'string' || typeof said === 'number' ? { value: String(said) } : {};
  const fields = value instanceof Map ? [...value] : Object.entries(value);
  // Objects that are named have few members.
  return fields
    .slice(0, 16)
    .some(
      ([field, one]) =>
        typeof field === 'string' &&
        typeof one === 'string' &&
        nameFields.test(field) &&
        names.isSensitiveName(one.slice(0, 128), about),
    );
}

const userFlag = /^(?:-[uU]|--(?:proxy-)?user)$/;

/** A flag in an argument list whose value is the next word, or the name in a pair of name and value. */
const announcesSecret = (word: string, value: string, isPair: boolean, names: NameTest): boolean =>
  word === '-p' ||
  ((isPair ? /^-{0,2}[A-Za-z][\w.-]{1,127}$/ : /^--?[A-Za-z][\w.-]{1,127}$/).test(word) &&
    names.isSensitiveName(word.replace(/^-{1,2}/, ''), { value }));

/** The built-in policy. */
export const defaultRedaction: Redaction = createRedaction();

export const redactArgs = (value: unknown, redaction: Redaction = defaultRedaction): unknown =>
  redaction.redactArgs(value);
export const redactText = (text: string, redaction: Redaction = defaultRedaction): string =>
  redaction.redactText(text);
export const redactResult = (text: string, redaction: Redaction = defaultRedaction): string =>
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
