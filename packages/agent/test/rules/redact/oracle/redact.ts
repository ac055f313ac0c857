// Redaction of arguments and results. Pure; bounded in depth, nodes, text and steps.
// Does not write anything anywhere: the guard redacts before a record reaches a sink.
import { type NameTest, nameTest } from './names.ts';
import { hideSecrets, type Meter, redacted } from './scan.ts';
import { looksSecret, secretTest } from './tokens.ts';

export { looksSecret, redacted };

/** A pattern and what replaces it; `$1` is the first group. A string is compiled as a regular expression. */
export type CustomPattern = readonly [pattern: string | RegExp, replacement: string];

/** Rules for secrets besides, or instead of, the built-in ones. */
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

/** Cuts, and replaces halves of surrogate pairs, which would not survive UTF-8. */
const cut = (text: string, length: number): string =>
  (text.length > length ? `${text.slice(0, length - 3)}...` : text).replace(/\p{Surrogate}/gu, '\ufffd');

/** @throws SyntaxError when a custom pattern is no regular expression */
export function createRedaction(policy: RedactionPolicy = {}): Redaction {
  const names = nameTest([...(policy.sensitiveKeys ?? [])], [...(policy.safeCompoundKeys ?? [])]);
  const { looksSecret, tokens } = secretTest(policy.keyPrefixes);
  const detect = policy.detectSecretValues ?? true;
  const custom = (policy.customPatterns ?? []).map(([pattern, replacement]) => {
    const { source, flags } = typeof pattern === 'string' ? { source: pattern, flags: '' } : pattern;
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

/** Members that name another one, members that hold its value, and private members of a JSON web key. */
const nameFields = /^(?:name|key|header|variable|field|label|parameter_?key|env_?var|id|type)$/i;
const valueFields = /^(?:\w*values?|val)$/i;
const webKeyFields = /^(?:d|p|q|dp|dq|qi|k)$/;

type Member = readonly [name: string, value: unknown];

/** Items of a list, each named by the flag before it, or by the first of a pair. */
const itemsOf = (list: readonly unknown[]): Member[] =>
  list.map((item, i) => {
    const word = i > 0 && typeof item === 'string' ? String(list[i - 1]).slice(0, 128) : '';
    return [(list.length === 2 ? /^[\w.-]+$/ : /^-[\w.-]+$/).test(word) ? word : '', item];
  });

/** Walks maps and lists; a marker replaces what lies too deep, or comes after too many nodes, as in a cycle. */
function copy(root: unknown, names: NameTest, text: (value: string) => string, detect: boolean): unknown {
  let nodes = 0;
  /** True if a flag says that the item behind it is a secret, or a member of an object, or another member of it. */
  const isSecretItem = ([word, item]: Member): boolean =>
    detect && word !== '' && (word === '-p' || names.isSecretName(word.replace(/^-{1,2}/, ''), item));
  const secretFieldsOf = (members: readonly Member[]): RegExp | null => {
    if (members.some(([field]) => field === 'kty')) return webKeyFields;
    const value = members.find(([field]) => field === 'value')?.[1];
    const isNamed = ([field, name]: Member): boolean =>
      nameFields.test(field) && names.isSecretName(name, value);
    return members.slice(0, 16).some(isNamed) ? valueFields : null;
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
    const members: readonly Member[] = isList
      ? itemsOf([...value].slice(0, maxNodes + 1))
      : Object.entries(value instanceof Map ? Object.fromEntries(value) : value);
    const fields = isList || !detect ? null : secretFieldsOf(members);
    const out: Member[] = [];
    for (const [name, item] of members) {
      if (++nodes > maxNodes) {
        out.push([truncated, isList ? truncated : true]);
        break;
      }
      const isHidden = isList
        ? isSecretItem([name, item])
        : names.isSensitiveKey(name, item) || fields?.test(name);
      // Behind `-u` judged as the two words of a command line that they are.
      const isUser = isList && detect && /^(?:-[uU]|--(?:proxy-)?user)$/.test(name);
      out.push([name, isHidden ? redacted : isUser ? text(`-u ${item}`).slice(3) : walk(item, depth + 1)]);
    }
    return isList ? out.map(([, item]) => item ?? null) : Object.fromEntries(out);
  };
  return walk(root, 0);
}

/** The built-in policy. */
export const defaultRedaction: Redaction = createRedaction();
export const { redactArgs, redactText, redactResult } = defaultRedaction;
