// Redaction of arguments and results, before a record reaches a sink. Pure; bounded in depth, nodes and text.
import { createJudges, isSecretValue, type Judges } from './redact/judges.ts';
import { createNameRedaction, type NameRedaction } from './redact/names.ts';
import { redacted, SecretScan } from './redact/scan.ts';

/** A pattern and what replaces it; `$1` is the first group. A string is compiled as a regular expression. */
export type CustomPattern = readonly [pattern: string | RegExp, replacement: string];

/** Redaction beside, or instead of, the built-in rules. */
export interface RedactionPolicy {
  /** Keys to redact beside the built-in ones. These keys take precedence over the safe list. */
  readonly sensitiveKeys?: Iterable<string>;
  /** Keys to keep beside the built-in safe ones. */
  readonly safeCompoundKeys?: Iterable<string>;
  /** Applied to every string before the built-in rules, as far as it is read: their cost is the author's. */
  readonly customPatterns?: readonly CustomPattern[];
  /** False: keys alone decide, no value is looked at. Default true. */
  readonly detectSecretValues?: boolean;
  /** Prefixes of hubs' API keys beside `svk_`: keys are secrets in every place. */
  readonly keyPrefixes?: Iterable<string>;
}

/** A compiled policy. All methods are pure and return copies. */
export interface Redaction {
  /** True when the key marks its value as a secret. The value matters where the name is also an ordinary word. */
  isSensitiveKey(key: string, value?: unknown): boolean;
  /** True when a text starts like an API key, a cloud key, a JWT, a chat token or a private key. */
  looksSecret(text: string): boolean;
  /**
   * Arguments (or any JSON value) with secrets replaced, as plain JSON data. Of a string the first 4,096 characters are
   * read and 1,000 kept. Strings behind the first 150,000 characters are replaced whole. In names, tokens are replaced;
   * a number keeps two such names apart.
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
const maxText = 150_000;
const truncated = '[TRUNCATED]';

/** Members that name another one, and members that hold its value. */
const nameFields = /^(?:name|key|header|variable|field|label|parameter_?key|env_?var|id|type)$/i;
const valueFields = /^(?:\w*values?|val)$/i;

/** @throws SyntaxError when a custom pattern is no regular expression */
export function createRedaction(policy: RedactionPolicy = {}): Redaction {
  const { sensitiveKeys = [], safeCompoundKeys = [], keyPrefixes = [] } = policy;
  const judges = createJudges([...sensitiveKeys], [...safeCompoundKeys], [...keyPrefixes]);
  const detect = policy.detectSecretValues ?? true;
  const custom = (policy.customPatterns ?? []).map(([pattern, replacement]) => {
    const { source, flags } = new RegExp(pattern);
    const everyMatch = new RegExp(source, `${flags.replace(/[gy]/g, '')}g`);
    return (text: string): string => text.replace(everyMatch, replacement);
  });
  const replaceCustom = (text: string): string => custom.reduce((rest, replace) => replace(rest), text);
  const hide = (text: string): string => (detect ? new SecretScan(replaceCustom(text), judges).run() : text);
  const shorten = (text: string, length: number): string => {
    const hidden = hide(text.slice(0, maxRead));
    const whole = text.length > maxRead && hidden !== redacted ? `${hidden}...` : hidden;
    const short = whole.length > length ? `${whole.slice(0, length - 3)}...` : whole;
    // Halves of surrogate pairs would not survive UTF-8.
    return short.replace(/\p{Surrogate}/gu, '\ufffd');
  };
  const redactNames = detect ? createNameRedaction(judges.tokens) : () => (name: string) => name;
  const beginsWithToken = (text: string): boolean => text.search(judges.tokens) === 0;
  return {
    isSensitiveKey: (key, value) => isSecretValue(judges.ofKey(key), value),
    looksSecret: beginsWithToken,
    redactArgs(value) {
      let read = 0;
      const text = (one: string): string => {
        read += Math.min(one.length, maxRead);
        return detect && (read > maxText || beginsWithToken(one)) ? redacted : shorten(one, 1000);
      };
      return copy(value, judges, text, redactNames, detect);
    },
    redactText: hide,
    redactResult: (text) => shorten(text, 500),
  };
}

/** A value that a selector gives, as plain data, with secrets replaced as in a mapping with the names of its path. */
export function redactSelected(
  selector: string,
  value: unknown,
  redaction: Pick<Redaction, 'redactArgs'>,
): unknown {
  const names = selector.split('.');
  let at = redaction.redactArgs(names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value));
  // A secret name on the way hides all that is below it. Each mapping on the way has one member.
  for (const _ of names) {
    if (typeof at !== 'object' || at === null) return at;
    at = Object.values(at)[0];
  }
  return at;
}

/** Walks maps and lists; a marker replaces what lies too deep, or comes after too many nodes, as in a cycle. */
function copy(
  root: unknown,
  judges: Judges,
  text: (value: string) => string,
  redactNames: NameRedaction,
  detect: boolean,
): unknown {
  let nodes = 0;
  /** An item of a list, judged as text behind the flag before it, or behind the name in a pair. */
  const walkItem = (item: unknown, before: unknown, isPair: boolean, depth: number): unknown => {
    const isName = isPair ? /^[\w.-]{1,128}$/ : /^-[\w.-]{1,128}$/;
    if (!detect || typeof item !== 'string' || typeof before !== 'string' || !isName.test(before))
      return walk(item, depth) ?? null;
    const start = before[0] === '-' ? `${before} "` : `${before}: "`;
    const judged = text(`${start}${item}"`);
    const isHidden = !judged.startsWith(start) || judged.startsWith(start + redacted);
    return isHidden ? redacted : judged.slice(start.length).replace(/"$/, '');
  };
  /** True if one of the members is a name of the others. */
  const areNamed = (members: readonly (readonly [string, unknown])[]): boolean => {
    const value = members.find(([field]) => field === 'value')?.[1];
    const isName = (name: unknown) => typeof name === 'string' && isSecretValue(judges.ofWord(name), value);
    return detect && members.some(([field, name]) => nameFields.test(field) && isName(name));
  };
  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'bigint') return String(value);
    if (typeof value === 'function' || typeof value === 'symbol') return undefined;
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= maxDepth || nodes >= maxNodes) return truncated;
    if (value instanceof Date) return value.toJSON();
    if (ArrayBuffer.isView(value)) return `[BINARY ${value.byteLength} bytes]`;
    const room = maxNodes - nodes;
    const list = Array.isArray(value) || value instanceof Set ? [...value] : null;
    const members = Object.entries(list ?? (value instanceof Map ? Object.fromEntries(value) : value));
    nodes += members.length;
    const isNamed = list === null && areNamed(members);
    const redactName = redactNames(() => members.map(([name]) => name));
    const copies = members.slice(0, room).map(([name, item], i): [string, unknown] => {
      if (list) return [name, walkItem(item, list[i - 1], list.length === 2, depth + 1)];
      const isHidden = isSecretValue(judges.ofKey(name), item) || (isNamed && valueFields.test(name));
      return [redactName(name), isHidden ? redacted : walk(item, depth + 1)];
    });
    if (members.length > room) copies.push(list ? [truncated, truncated] : [truncated, true]);
    return list ? copies.map(([, item]) => item) : Object.fromEntries(copies);
  };
  return walk(root, 0);
}

export const defaultRedaction: Redaction = createRedaction();
export const { looksSecret, redactArgs, redactText, redactResult } = defaultRedaction;
