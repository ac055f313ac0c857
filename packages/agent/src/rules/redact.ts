// Redaction: the six rules of document 1 applied to arguments, results and whole records. Pure; bounded in depth, nodes and text.
// Does not write anything anywhere: the guard redacts before a record reaches a sink.

import { keyTest } from './redact/key.ts';
import { hideInline, hideTokens, looksSecret, redacted } from './redact/secret.ts';
import type { JsonObject } from './yaml.ts';

export { looksSecret, redacted } from './redact/secret.ts';

/** A pattern and what replaces it; `$1` in the replacement is the first group. A string is compiled as a regular expression. */
export type CustomPattern = readonly [pattern: string | RegExp, replacement: string];

/** The policy parameters of document 1. */
export interface RedactionPolicy {
  /** Keys to redact besides the built-in ones; they beat the safe list. */
  readonly sensitive_keys?: Iterable<string>;
  /** Keys to keep besides the built-in safe ones. */
  readonly safe_compound_keys?: Iterable<string>;
  /** Applied to every string before the built-in patterns, on its first 10,000 characters: their cost is the author's. */
  readonly custom_patterns?: readonly CustomPattern[];
  /** False: keys alone decide, no value is looked at. Default true. */
  readonly detect_secret_values?: boolean;
}

/** A compiled policy. All methods are pure and return copies. */
export interface Redaction {
  /** True when the key alone says that its value is a secret. */
  isSensitiveKey(key: string): boolean;
  /** Arguments (or any JSON value) with secrets replaced; strings over 1,000 characters are cut. The copy is plain JSON data. */
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
  const isSensitiveKey = keyTest(policy.sensitive_keys ?? [], policy.safe_compound_keys ?? []);
  const detect = policy.detect_secret_values ?? true;
  const custom = (policy.custom_patterns ?? []).map(([pattern, replacement]) => {
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
  const redactString = (text: string): string => {
    if (!detect) return cut(text, maxArgument);
    if (looksSecret(text)) return redacted;
    return cut(hideInline(hideCustom(text)), maxArgument);
  };
  const redactText = (text: string): string => (detect ? hideTokens(hideInline(hideCustom(text))) : text);
  return {
    isSensitiveKey,
    redactArgs: (value) => copy(value, isSensitiveKey, redactString),
    redactText,
    redactResult: (text) => cut(redactText(text), maxResult),
  };
}

/** Walks maps and lists; what lies too deep, or comes after too many nodes, is replaced by a marker (a cycle ends there too). */
function copy(
  root: unknown,
  isSensitive: (key: string) => boolean,
  text: (value: string) => string,
): unknown {
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
    const out: [string, unknown][] = [];
    for (const [key, item] of entries) {
      if (++nodes > maxNodes) {
        out.push([truncated, true]);
        break;
      }
      const name = String(key);
      out.push([name, isSensitive(name) ? redacted : walk(item, depth + 1)]);
    }
    return Object.fromEntries(out);
  };
  const list = (items: Iterable<unknown>, depth: number): unknown[] => {
    const out: unknown[] = [];
    for (const item of items) {
      if (++nodes > maxNodes) {
        out.push(truncated);
        break;
      }
      out.push(walk(item, depth + 1) ?? null);
    }
    return out;
  };
  return walk(root, 0);
}

/** The built-in policy. */
export const defaultRedaction: Redaction = createRedaction();

export const redactArgs = (value: unknown, redaction: Redaction = defaultRedaction): unknown =>
  redaction.redactArgs(value);
export const redactText = (text: string, redaction: Redaction = defaultRedaction): string =>
  redaction.redactText(text);
export const redactResult = (text: string, redaction: Redaction = defaultRedaction): string =>
  redaction.redactResult(text);

/**
 * Rule 6: a record whose JSON is longer than 32,768 characters loses its result summary and its arguments; the rest is not
 * checked again. Smaller records come back as they are.
 */
export function capPayload<T extends object>(record: T): T | JsonObject {
  if (JSON.stringify(record).length <= maxPayload) return record;
  const { result_summary: _removed, ...rest } = record as JsonObject;
  return { ...rest, _truncated: true, tool_args: { _redacted: 'payload exceeded 32KB' } };
}
