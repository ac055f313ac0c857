// Redaction of arguments and results. Pure; bounded in depth, nodes, text and steps.
// Does not write anything anywhere: the guard redacts before a record reaches a sink.
import { type NameTest, nameTest } from './redact/names.ts';
import { hideSecrets, type Meter, redacted } from './redact/scan.ts';
import { tokenPattern } from './redact/tokens.ts';
import { isSecretValue } from './redact/values.ts';

export { redacted };

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
  /** True when a text starts like an API key, a cloud key, a JWT, a chat token or a private key. */
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

/** Members that name another one, members that hold its value, and private members of a JSON web key. */
const nameFields = /^(?:name|key|header|variable|field|label|parameter_?key|env_?var|id|type)$/i;
const valueFields = /^(?:\w*values?|val)$/i;
const webKeyFields = /^(?:d|p|q|dp|dq|qi|k)$/;

/** Cuts, and replaces halves of surrogate pairs, which would not survive UTF-8. */
const cut = (text: string, length: number): string =>
  (text.length > length ? `${text.slice(0, length - 3)}...` : text).replace(/\p{Surrogate}/gu, '\ufffd');

/** @throws SyntaxError when a custom pattern is no regular expression */
export function createRedaction(policy: RedactionPolicy = {}): Redaction {
  const names = nameTest([...(policy.sensitiveKeys ?? [])], [...(policy.safeCompoundKeys ?? [])]);
  const tokens = tokenPattern(policy.keyPrefixes);
  const detect = policy.detectSecretValues ?? true;
  const custom = (policy.customPatterns ?? []).map(([pattern, replacement]) => {
    const { source, flags } = new RegExp(pattern);
    return { pattern: new RegExp(source, `${flags.replace(/[gy]/g, '')}g`), replacement };
  });
  const hide = (text: string, meter: Meter): string => {
    if (!detect) return text;
    const rest = custom.reduce((left, { pattern, replacement }) => left.replace(pattern, replacement), text);
    return hideSecrets(rest, { names, tokens, meter });
  };
  const shorten = (text: string, length: number, meter: Meter): string => {
    const hidden = hide(text.slice(0, maxRead), meter);
    return cut(text.length > maxRead && hidden !== redacted ? `${hidden}...` : hidden, length);
  };
  const looksSecret = (text: string): boolean => {
    tokens.lastIndex = 0;
    return tokens.test(text);
  };
  return {
    isSensitiveKey: (key, value) => isSecretValue(names.ofKey(key), value),
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

type Member = readonly [name: string, value: unknown];

/** Items of a list, each named by the flag before it, or by the first of a pair. */
const itemsOf = (list: readonly unknown[]): Member[] =>
  list.map((item, i) => {
    const before = typeof item === 'string' ? list[i - 1] : undefined;
    const word = typeof before === 'string' ? before : '';
    return [(list.length === 2 ? /^[\w.-]{1,128}$/ : /^-[\w.-]{1,128}$/).test(word) ? word : '', item];
  });

/** Walks maps and lists; a marker replaces what lies too deep, or comes after too many nodes, as in a cycle. */
function copy(root: unknown, names: NameTest, text: (value: string) => string, detect: boolean): unknown {
  let nodes = 0;
  const isNamed = (name: unknown, value: unknown): boolean =>
    detect && typeof name === 'string' && name.length <= 128 && isSecretValue(names.inText(name), value);
  const secretFieldsOf = (members: readonly Member[]): RegExp | null => {
    if (detect && members.some(([field]) => field === 'kty')) return webKeyFields;
    const value = members.find(([field]) => field === 'value')?.[1];
    return members.some(([field, name]) => nameFields.test(field) && isNamed(name, value))
      ? valueFields
      : null;
  };
  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'bigint') return String(value);
    if (typeof value === 'function' || typeof value === 'symbol') return undefined;
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= maxDepth || nodes >= maxNodes) return truncated;
    if (value instanceof Date) return value.toJSON();
    if (ArrayBuffer.isView(value)) return `[BINARY ${value.byteLength} bytes]`;
    const isList = Array.isArray(value) || value instanceof Set;
    const all = isList
      ? itemsOf([...value])
      : Object.entries(value instanceof Map ? Object.fromEntries(value) : value);
    const members = all.slice(0, maxNodes - nodes);
    nodes += all.length;
    const fields = isList ? null : secretFieldsOf(members);
    const out = members.map(([name, item]): Member => {
      // Behind `-u` judged as the two words of a command line that they are.
      if (isList && detect && /^(?:-[uU]|--(?:proxy-)?user)$/.test(name))
        return [name, text(`-u ${item}`).slice(3)];
      const isHidden = isList
        ? (detect && name === '-p') || isNamed(name.replace(/^-{1,2}/, ''), item)
        : isSecretValue(names.ofKey(name), item) || fields?.test(name);
      return [name, isHidden ? redacted : walk(item, depth + 1)];
    });
    if (members.length < all.length) out.push([truncated, isList ? truncated : true]);
    return isList ? out.map(([, item]) => item ?? null) : Object.fromEntries(out);
  };
  return walk(root, 0);
}

/** The built-in policy. */
export const defaultRedaction: Redaction = createRedaction();
export const { looksSecret, redactArgs, redactText, redactResult } = defaultRedaction;
