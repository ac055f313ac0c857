// Bounded, safe YAML text in and out: the only file that knows the YAML package. It knows nothing of bundles.
import {
  Composer,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type ParsedNode,
  Parser,
  type ScalarTag,
  Schema,
  stringify,
  type YAMLMap,
} from 'yaml';
import { RuleError } from './error.ts';
import { isWellFormed } from './names.ts';
import { isRounded } from './rounding.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Keys and list indexes from the top of a document to a value. */
export type YamlPath = readonly (string | number)[];

/** One-based line and column, columns in UTF-16 units. */
export interface YamlPosition {
  readonly line: number;
  readonly column: number;
}

export interface YamlDocument {
  /** Plain JSON: own keys only, a tree (aliases are copied), no dates, no NaN or infinity. */
  readonly value: Json;
  /** Numbers in `value` that the text has, here or there, with digits that a number does not keep. */
  readonly rounded: ReadonlySet<number>;
  /** Start of the value at `path` (of its key, inside a mapping); else that of the nearest existing parent. */
  positionOf(path: YamlPath): YamlPosition;
}

export interface YamlBounds {
  /** UTF-8 bytes; default 1 MiB. */
  readonly maxBytes?: number;
  /** Mappings and lists inside each other; default 64. */
  readonly maxDepth?: number;
  /** Default 10. */
  readonly maxDocuments?: number;
  /** Values after aliases and merge keys are expanded, all documents together; default 200,000. */
  readonly maxNodes?: number;
  /** Lexical tokens (words, marks, line ends); bounds the time. Default 250,000. */
  readonly maxTokens?: number;
  /** Refuses anchors, aliases and tags, so that what is read is what is written. */
  readonly plain?: boolean;
}

/** The largest YAML text accepted anywhere, in bytes. */
export const maxYamlBytes = 1_048_576;

const refusedKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
const coreTag = /^tag:yaml\.org,2002:(str|int|float|bool|null|map|seq)$/;

/**
 * Parses YAML 1.2 (core schema) within bounds. Merge keys (`<<`) work as clients' loaders read them.
 * @throws RuleError "Invalid YAML: …" with line and column, for any text that is not well formed or leaves a bound.
 */
export function parseYaml(text: string, bounds: YamlBounds = {}): YamlDocument[] {
  const lines = new LineIndex(text);
  checkText(text, bounds.maxBytes ?? maxYamlBytes, lines);
  const maxDepth = bounds.maxDepth ?? 64;
  const maxDocuments = bounds.maxDocuments ?? 10;
  const parser = new Parser();
  const composer = new Composer({
    schema: 'core',
    strict: true,
    prettyErrors: false,
    resolveKnownTags: false,
    // Both are checked while converting; the package's own checks take quadratic time.
    uniqueKeys: false,
    merge: false,
  });
  // Stop at the first error or warning: a hostile text could otherwise collect a million of them. The composer reports
  // what is thrown inside a collection once more for each one around it; the first report is the precise one.
  let first: RuleError | undefined;
  Reflect.set(composer, 'onError', (at: unknown, _code: unknown, message: string) => {
    first ??= lines.problem(message, offsetOf(at));
    throw first;
  });
  const converter = new Converter(lines, {
    maxDepth,
    maxNodes: bounds.maxNodes ?? 200_000,
    plain: bounds.plain ?? false,
  });
  const documents: YamlDocument[] = [];
  const take = (
    composed: Iterable<{ contents: unknown; errors: { message: string; pos: [number, number] }[] }>,
  ) => {
    for (const doc of composed) {
      const error = doc.errors[0];
      if (error) throw lines.problem(error.message, error.pos[0]);
      if (documents.length === maxDocuments) {
        throw lines.problem(
          `more than ${maxDocuments} document${maxDocuments === 1 ? '' : 's'}`,
          text.length,
        );
      }
      documents.push(converter.document(doc.contents as ParsedNode | null));
    }
  };
  let tokens = 0;
  const maxTokens = bounds.maxTokens ?? 250_000;
  for (const source of new Lexer().lex(text)) {
    if (++tokens > maxTokens) throw lines.problem(`more than ${maxTokens} tokens`, parser.offset);
    for (const token of parser.next(source)) {
      if (token.type === 'error') throw lines.problem(token.message, token.offset);
      take(composer.next(token));
    }
    if (parser.stack.length > maxDepth + 3)
      throw lines.problem(`nested deeper than ${maxDepth}`, parser.offset);
  }
  for (const token of parser.end()) take(composer.next(token));
  take(composer.end());
  return documents;
}

/** Texts that PyYAML refuses without quotes: the "value" type of YAML 1.1, and a tab between words. */
const neverPlain: ScalarTag = {
  tag: 'tag:yaml.org,2002:value',
  default: true,
  test: /^=$|\t/,
  resolve: (text) => text,
};

/**
 * Characters that must be escaped between quotes: loaders refuse them, or YAML 1.1 takes them for the end of a line.
 * JSON escapes those below U+0020.
 */
const escapedCharacters = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** Texts of several lines that begin with a tab: libyaml takes it for an indentation and refuses it. */
const tabbedBlock = /^(?:\n+\t|\t.*\n)/s;

const escapedText: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  identify: (value) =>
    typeof value === 'string' && (value.search(escapedCharacters) !== -1 || tabbedBlock.test(value)),
  resolve: (text) => text,
  stringify: ({ value }) =>
    JSON.stringify(value).replace(
      escapedCharacters,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
};

/** Numbers such as `1e-7`, which YAML 1.1 takes for texts unless they have a dot. */
const numberWithExponent: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => typeof value === 'number' && /^-?\de/.test(String(value)),
  // The package prefers tags with a test to those without.
  test: /^-?\d\.0e[-+]\d+$/,
  resolve: Number,
  stringify: ({ value }) => String(value).replace('e', '.0e'),
};

/**
 * Writes a JSON value as YAML that 1.1 and 1.2 loaders read the same (words such as `on` are quoted); keys keep their
 * order.
 */
export const stringifyYaml = (value: unknown): string =>
  stringify(value, {
    compat: [...(new Schema({ compat: 'yaml-1.1' }).compat ?? []), neverPlain],
    customTags: (tags) => [escapedText, numberWithExponent, ...tags],
    aliasDuplicateObjects: false,
    lineWidth: 0,
  });

function offsetOf(at: unknown): number {
  if (typeof at === 'number') return at;
  if (Array.isArray(at)) return Number(at[0]) || 0;
  const offset = (at as { offset?: unknown } | null)?.offset;
  return typeof offset === 'number' ? offset : 0;
}

function checkText(text: string, maxBytes: number, lines: LineIndex): void {
  if (text.length > maxBytes || new TextEncoder().encode(text).length > maxBytes) {
    throw new RuleError(`Invalid YAML: larger than ${maxBytes} bytes`);
  }
  if (text.startsWith('\ufeff')) {
    throw lines.problem('starts with a byte order mark; save the file as UTF-8 without one', 0);
  }
  if (!isWellFormed(text))
    throw lines.problem('contains half of a surrogate pair', text.search(/\p{Surrogate}/u));
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (
      (c < 0x20 && c !== 9 && c !== 10 && c !== 13) ||
      (c > 0x7e && c < 0xa0 && c !== 0x85) ||
      c >= 0xfffe
    ) {
      throw lines.problem(`contains the control character ${c}; the text must be UTF-8`, i);
    }
  }
}

/** Turns offsets into lines and columns. The index is built on the first use only. */
class LineIndex {
  readonly #text: string;
  #starts: number[] | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  position(offset: number): YamlPosition {
    this.#starts ??= [0, ...Array.from(this.#text.matchAll(/\n/g), (m) => m.index + 1)];
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#starts[low] ?? 0) + 1 };
  }

  problem(message: string, offset: number): RuleError {
    const { line, column } = this.position(Math.max(0, offset));
    return new RuleError(`Invalid YAML: ${message.slice(0, 300)} (line ${line}, column ${column})`);
  }
}

/** Nodes to plain values, with anchors, merge keys and the bound on expanded nodes. One per text. */
class Converter {
  readonly #lines: LineIndex;
  readonly #maxDepth: number;
  readonly #maxNodes: number;
  readonly #plain: boolean;
  #nodes = 0;
  #anchors = new Map<string, Json>();
  #rounded = new Set<number>();
  #offsets = new WeakMap<object, Map<string | number, number>>();

  constructor(
    lines: LineIndex,
    { maxDepth, maxNodes, plain }: Required<Pick<YamlBounds, 'maxDepth' | 'maxNodes' | 'plain'>>,
  ) {
    this.#lines = lines;
    this.#maxDepth = maxDepth;
    this.#maxNodes = maxNodes;
    this.#plain = plain;
  }

  document(contents: ParsedNode | null): YamlDocument {
    this.#anchors = new Map();
    this.#rounded = new Set();
    const start = contents?.range[0] ?? 0;
    const value = contents === null ? null : this.#convert(contents, 0);
    return {
      value,
      rounded: this.#rounded,
      positionOf: (path) => {
        let at: Json | undefined = value;
        let offset = start;
        for (const step of path) {
          if (at === null || typeof at !== 'object') break;
          const next = this.#offsets.get(at)?.get(step);
          if (next === undefined) break;
          offset = next;
          at = Array.isArray(at) ? at[step as number] : at[step];
          if (at === undefined) break;
        }
        return this.#lines.position(offset);
      },
    };
  }

  #convert(node: ParsedNode, depth: number): Json {
    const offset = node.range[0];
    if (this.#plain) this.#checkPlain(node, offset);
    if (isAlias(node)) return this.#copy(this.#anchored(node.source, offset), depth, offset);
    this.#count(depth, offset);
    if (node.tag !== undefined && !coreTag.test(node.tag))
      throw this.#lines.problem(`unknown tag ${node.tag}`, offset);
    let value: Json;
    if (isScalar(node)) value = this.#scalar(node, offset);
    else if (isMap(node)) value = this.#map(node as YAMLMap<ParsedNode, ParsedNode | null>, depth, offset);
    else if (isSeq(node)) {
      const places = new Map<string | number, number>();
      const items: readonly unknown[] = node.items;
      value = items.map((item, i) => {
        const child = item as ParsedNode;
        if (!child || !('range' in child))
          throw this.#lines.problem('a pair inside a list needs braces', offset);
        places.set(i, child.range[0]);
        return this.#convert(child, depth + 1);
      });
      this.#offsets.set(value, places);
    } else throw this.#lines.problem('unsupported node', offset);
    const anchor = (node as { anchor?: string }).anchor;
    if (anchor !== undefined) this.#anchors.set(anchor, value);
    return value;
  }

  #checkPlain(node: ParsedNode, offset: number): void {
    const { anchor, tag } = node as { readonly anchor?: string; readonly tag?: string };
    if (isAlias(node)) throw this.#lines.problem('an alias is not allowed here; write the value out', offset);
    if (anchor !== undefined)
      throw this.#lines.problem('an anchor is not allowed here; remove the &', offset);
    if (tag !== undefined) throw this.#lines.problem('a tag is not allowed here; remove the !', offset);
  }

  #scalar({ value, source }: { readonly value: unknown; readonly source?: string }, offset: number): Json {
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'string') {
      // The text is well formed, but an escape may make half of a pair.
      if (isWellFormed(value)) return value;
      throw this.#lines.problem('an escape creates half of a surrogate pair', offset);
    }
    if (typeof value === 'number' && Number.isFinite(value)) {
      if (isRounded(source ?? '', value)) this.#rounded.add(value);
      return value;
    }
    throw this.#lines.problem('a number must be finite', offset);
  }

  #map(node: YAMLMap<ParsedNode, ParsedNode | null>, depth: number, offset: number): JsonObject {
    const value: JsonObject = {};
    const places = new Map<string | number, number>();
    const merged: { json: Json; offset: number }[] = [];
    for (const pair of node.items) {
      const keyOffset = pair.key?.range?.[0] ?? offset;
      if (isScalar(pair.key) && pair.key.value === '<<' && pair.key.type === 'PLAIN') {
        if (!pair.value) throw this.#lines.problem('a merge key needs a mapping', keyOffset);
        merged.push({ json: this.#convert(pair.value, depth + 1), offset: keyOffset });
        continue;
      }
      const key = this.#key(pair.key, keyOffset);
      if (refusedKeys.has(key)) throw this.#lines.problem(`the key ${key} is not allowed`, keyOffset);
      if (Object.hasOwn(value, key)) {
        throw this.#lines.problem(`duplicate key ${JSON.stringify(key.slice(0, 100))}`, keyOffset);
      }
      places.set(key, keyOffset);
      value[key] = pair.value ? this.#convert(pair.value, depth + 1) : null;
    }
    for (const { json, offset: at } of merged) {
      for (const source of Array.isArray(json) ? json : [json]) {
        if (source === null || typeof source !== 'object' || Array.isArray(source)) {
          throw this.#lines.problem('a merge key needs a mapping or a list of mappings', at);
        }
        for (const [key, part] of Object.entries(source)) {
          if (Object.hasOwn(value, key)) continue;
          value[key] = part;
          places.set(key, this.#offsets.get(source)?.get(key) ?? at);
        }
      }
    }
    this.#offsets.set(value, places);
    return value;
  }

  #key(key: ParsedNode | null, offset: number): string {
    if (key !== null && this.#plain) this.#checkPlain(key, offset);
    const value =
      key === null ? null : isAlias(key) ? this.#anchored(key.source, offset) : this.#convert(key, 0);
    if (value === null || typeof value === 'object')
      throw this.#lines.problem('a key must be a string', offset);
    if (typeof value === 'string') return value;
    return isScalar(key) && typeof key.source === 'string' ? key.source : String(value);
  }

  #anchored(name: string, offset: number): Json {
    const value = this.#anchors.get(name);
    if (value === undefined) throw this.#lines.problem(`unknown alias *${name.slice(0, 100)}`, offset);
    return value;
  }

  #copy(value: Json, depth: number, offset: number): Json {
    this.#count(depth, offset);
    if (value === null || typeof value !== 'object') return value;
    const copied: Json = Array.isArray(value)
      ? value.map((item) => this.#copy(item, depth + 1, offset))
      : Object.fromEntries(
          Object.entries(value).map(([key, item]) => [key, this.#copy(item, depth + 1, offset)]),
        );
    const places = this.#offsets.get(value);
    if (places) this.#offsets.set(copied, places);
    return copied;
  }

  #count(depth: number, offset: number): void {
    if (depth > this.#maxDepth) throw this.#lines.problem(`nested deeper than ${this.#maxDepth}`, offset);
    if (++this.#nodes > this.#maxNodes) {
      throw this.#lines.problem(`more than ${this.#maxNodes} values once aliases are expanded`, offset);
    }
  }
}
