// What is valid and still not what its author meant: contracts that can never match, and words that other agents read
// otherwise. Finds; refuses nothing.
import { compileGlob } from '../evaluate/glob.ts';
import { defaultMaxAttempts, defaultMaxToolCalls } from '../evaluate/limits.ts';
import { builtInPrefixes, principalFields } from '../evaluate/selector.ts';
import type { Json, JsonObject, YamlDocument, YamlPath } from '../yaml.ts';
import { deadParts } from './dead.ts';
import { nearestWord } from './distance.ts';
import { type LanguageOptions, type ReadBundle, readBundle } from './document.ts';
import { isMapping, pathText } from './reader.ts';
import { contractWords, rulesetWords, spellEffect, type Vocabulary } from './vocabulary.ts';

/**
 * Something a careful reader would ask about. An `error` stops a deploy unless an admin forces it; a `warning` goes
 * away when the document is written otherwise; a `notice` tells how released clients differ, and no other writing
 * helps.
 */
export interface LintFinding {
  readonly severity: 'error' | 'warning' | 'notice';
  /** A stable word for the kind of finding, for example `unknown-root`. */
  readonly code: LintCode;
  /** The id of the contract; null outside of one. */
  readonly contract: string | null;
  /** For example `contracts[2].when.arg.path`. */
  readonly path: string;
  readonly line: number;
  readonly column: number;
  /** One sentence, without the place. */
  readonly message: string;
  /** What was probably meant; null when nothing comes near. */
  readonly suggestion: string | null;
}

export const lintCodes = [
  'bare-selector',
  'unknown-principal-field',
  'unknown-root',
  'unknown-field',
  'never-matches',
  'placeholder-operand',
  'unknown-tool',
  'glob-key',
  'built-in-limit',
  'undeclared-tool',
  'declared-writing-tool',
  'refusal-after-ask',
  'sandbox-arguments',
] as const;
export type LintCode = (typeof lintCodes)[number];

export interface LintOptions extends LanguageOptions {
  /** Prefixes of selectors that agents register. */
  readonly selectors?: Iterable<string>;
  /** Tools that the agents have, besides those that the document names. */
  readonly tools?: Iterable<string>;
}

/** Findings kept for one text. */
export const maxFindings = 100;

/**
 * The findings of a text, in its order; none for a text that is not valid, which is `readBundle`'s to say.
 * @param source the text, or what `readBundle` made of it by the same options
 */
export function lintBundle(source: string | ReadBundle, options: LintOptions = {}): LintFinding[] {
  const read = typeof source === 'string' ? readBundle(source, options) : source;
  if (!read.ok) return [];
  return read.parsed
    .flatMap((document) => new Linter(document, options).run())
    .sort((a, b) => a.line - b.line || a.column - b.column)
    .slice(0, maxFindings);
}

const bareRoots: ReadonlyMap<string, string> = new Map([
  ['args', 'args.path'],
  ['principal', 'principal.role'],
  ['tool', 'tool.name'],
  ['output', 'output.text'],
  ['metadata', 'metadata.ticket'],
  ['env', 'env.CI'],
]);
/** Here a document replaces them; there they can only be lowered. */
const builtInLimits: readonly (readonly [key: string, max: number])[] = [
  ['max_tool_calls', defaultMaxToolCalls],
  ['max_attempts', defaultMaxAttempts],
];
const equalities: ReadonlySet<string> = new Set(['equals', 'not_equals', 'in', 'not_in']);
const wholePlaceholder = /^\{[^{}]+\}$/;
const globCharacters = /[*?[]/;

interface Entry {
  readonly id: string;
  readonly type: string;
  readonly at: YamlPath;
  readonly value: JsonObject;
  readonly tools: readonly string[];
}

class Linter {
  readonly #document: YamlDocument;
  readonly #words: Vocabulary;
  readonly #selectors: ReadonlySet<string>;
  readonly #tools: readonly string[];
  readonly #declared: ReadonlyMap<string, string>;
  readonly #entries: readonly Entry[];
  readonly #findings: LintFinding[] = [];

  constructor(document: YamlDocument, options: LintOptions) {
    this.#document = document;
    const value = document.value as JsonObject;
    this.#words = value.rules === undefined ? contractWords : rulesetWords;
    this.#selectors = new Set(options.selectors ?? []);
    this.#tools = [...(options.tools ?? [])];
    const tools = isMapping(value.tools) ? value.tools : {};
    this.#declared = new Map(
      Object.entries(tools).map(([tool, traits]) => [
        tool,
        isMapping(traits) ? String(traits.side_effect) : '',
      ]),
    );
    const list = value[this.#words.list] as readonly JsonObject[];
    this.#entries = list.flatMap((entry, i) =>
      entry.enabled === false ? [] : [entryOf(entry, [this.#words.list, i])],
    );
  }

  run(): readonly LintFinding[] {
    for (const entry of this.#entries) {
      if (entry.value.when !== undefined) this.#condition(entry, entry.value.when, [...entry.at, 'when']);
      if (entry.type === 'post') this.#result(entry);
      if (entry.type === 'session') this.#limits(entry);
      for (const { path, message, suggestion } of deadParts(entry.value))
        this.#add(entry, 'warning', 'never-matches', [...entry.at, ...path], message, suggestion);
    }
    this.#order();
    this.#sandboxes();
    return this.#findings;
  }

  #add(
    entry: Entry | null,
    severity: LintFinding['severity'],
    code: LintCode,
    path: YamlPath,
    message: string,
    suggestion: string | null = null,
  ): void {
    if (this.#findings.length >= maxFindings) return;
    const meant = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
    this.#findings.push({
      severity,
      code,
      contract: entry?.id ?? null,
      path: pathText(path),
      ...this.#document.positionOf(path),
      message: `${message}${meant}`,
      suggestion,
    });
  }

  #condition(entry: Entry, node: Json, path: YamlPath): void {
    if (Array.isArray(node)) {
      for (const [i, item] of node.entries()) this.#condition(entry, item, [...path, i]);
      return;
    }
    if (!isMapping(node)) return;
    for (const [key, inner] of Object.entries(node)) {
      const at = [...path, key];
      if (key === 'all' || key === 'any' || key === 'not') this.#condition(entry, inner, at);
      else {
        this.#selector(entry, key, at);
        for (const [operator, operand] of Object.entries(isMapping(inner) ? inner : {})) {
          if (equalities.has(operator)) this.#operand(entry, operand, [...at, operator]);
        }
      }
    }
  }

  #selector(entry: Entry, selector: string, at: YamlPath): void {
    if (selector === 'environment') return;
    if (selector === 'result') {
      const message = 'result alone is always missing: name a field of it, or look at output.text.';
      this.#add(entry, 'warning', 'bare-selector', at, message);
      return;
    }
    const [root = '', field = ''] = selector.split('.');
    const bare = !selector.includes('.');
    const example = bareRoots.get(root);
    if (bare && example !== undefined) {
      const message = `${root} alone is always missing: name a field of it, for example ${example}.`;
      this.#add(entry, 'error', 'bare-selector', at, message);
    } else if (root === 'principal') this.#principal(entry, selector, field, at);
    else if (root === 'tool' && selector !== 'tool.name') this.#field(entry, selector, 'tool.name', at);
    else if (root === 'output' && selector !== 'output.text') this.#field(entry, selector, 'output.text', at);
    else if (root === 'environment') this.#field(entry, selector, 'environment', at);
    else if (!builtInPrefixes.has(root) && !this.#selectors.has(root)) this.#root(entry, root, bare, at);
  }

  #field(entry: Entry, selector: string, only: string, at: YamlPath): void {
    this.#add(entry, 'warning', 'unknown-field', at, `${selector} is always missing.`, only);
  }

  #principal(entry: Entry, selector: string, field: string, at: YamlPath): void {
    if (principalFields.has(selector.slice('principal.'.length))) return;
    if (field === 'claims' && selector.length > 'principal.claims.'.length) return;
    const known = [...principalFields, 'claims'];
    const nearest = nearestWord(field, known, () => 2);
    const claim = field === 'claims' ? 'a claim by its name, for example principal.claims.team' : null;
    const suggestion = claim ?? `principal.${nearest ?? `claims.${field}`}`;
    const message = `${selector} is always missing: a principal has ${known.join(', ')}.`;
    this.#add(entry, 'error', 'unknown-principal-field', at, message, suggestion);
  }

  #root(entry: Entry, root: string, bare: boolean, at: YamlPath): void {
    // A long word may be misspelt twice.
    const nearest = nearestWord(root, [...builtInPrefixes, ...this.#selectors], (known) =>
      known.length >= 7 ? 2 : 1,
    );
    if (nearest !== undefined) {
      const message = `Nothing is called ${root}, so that this is always missing.`;
      this.#add(entry, 'error', 'unknown-root', at, message, nearest);
    } else if (bare) {
      const message = `${root} is always missing: a selector is a root and a field.`;
      this.#add(entry, 'warning', 'unknown-root', at, message, `args.${root}`);
    } else {
      const message = `${root} is no built-in root: it matches only where an agent registers it.`;
      this.#add(entry, 'warning', 'unknown-root', at, message);
    }
  }

  #operand(entry: Entry, operand: Json, at: YamlPath): void {
    const texts = Array.isArray(operand) ? operand : [operand];
    const placeholder = texts.find((text) => typeof text === 'string' && wholePlaceholder.test(text));
    if (placeholder === undefined) return;
    const message = `${String(placeholder)} is compared as it is written: placeholders are filled in messages only.`;
    this.#add(entry, 'error', 'placeholder-operand', at, message);
  }

  /** Tools that the document names, declared or in a contract, and those that the caller knows. */
  #known(): ReadonlySet<string> {
    const used = this.#entries.flatMap(({ tools }) => tools);
    return new Set(
      [...this.#declared.keys(), ...used, ...this.#tools].filter((tool) => !globCharacters.test(tool)),
    );
  }

  #limits(entry: Entry): void {
    const { limits } = entry.value;
    if (!isMapping(limits)) return;
    for (const [key, builtIn] of builtInLimits) {
      const max = limits[key];
      if (typeof max !== 'number' || max <= builtIn) continue;
      const message = `Released clients end a session at their built-in ${builtIn}, whatever higher ${key} a document has.`;
      this.#add(entry, 'notice', 'built-in-limit', [...entry.at, 'limits', key], message);
    }
    const perTool = limits.max_calls_per_tool;
    if (!isMapping(perTool)) return;
    const known = this.#known();
    for (const key of Object.keys(perTool)) {
      if (known.has(key)) continue;
      const at = [...entry.at, 'limits', 'max_calls_per_tool', key];
      if (globCharacters.test(key)) {
        const message = `${key} counts each tool that it matches by itself; released clients take it for a tool's name and never count it.`;
        this.#add(entry, 'warning', 'glob-key', at, message);
        continue;
      }
      const nearest = nearestWord(key, known, (tool) => (Math.min(key.length, tool.length) <= 2 ? 1 : 2));
      if (nearest !== undefined) {
        const message = `No contract and no declaration names the tool ${key}. Declare it under tools if it is meant.`;
        this.#add(entry, 'error', 'unknown-tool', at, message, nearest);
      } else {
        const message = `No contract and no declaration names the tool ${key}: the limit never counts if the name is wrong.`;
        this.#add(entry, 'warning', 'unknown-tool', at, message);
      }
    }
  }

  /** `redact` and `deny` after the call depend on what the tool is declared to change. */
  #result(entry: Entry): void {
    const effect = effectOf(entry, this.#words);
    if (effect !== 'redact' && effect !== 'deny') return;
    const at = [...entry.at, 'then', this.#words.effect];
    const word = spellEffect(effect, this.#words);
    const writing = entry.tools.filter((tool) =>
      ['write', 'irreversible'].includes(this.#declared.get(tool) ?? ''),
    );
    if (writing.length > 0) {
      const message = `${word} only warns here: ${writing.join(', ')} is declared to change something, so that its result is shown.`;
      this.#add(entry, 'warning', 'declared-writing-tool', at, message);
    }
    const undeclared = entry.tools.filter((tool) => !this.#declared.has(tool));
    if (undeclared.length === 0) return;
    const message = `Released clients only warn here: ${undeclared.join(', ')} is not declared under tools. Declare it pure or read.`;
    this.#add(entry, 'warning', 'undeclared-tool', at, message);
  }

  /**
   * Released clients ask at the first contract that wants to, and run an approved call without looking at what follows.
   */
  #order(): void {
    const asking = this.#entries.filter((entry) => effectOf(entry, this.#words) === 'approve');
    for (const entry of asking) {
      const rank = rankOf(entry);
      const later = this.#entries.filter((other, i) => {
        if (effectOf(other, this.#words) !== 'deny' || other.type === 'post') return false;
        const follows = rankOf(other) > rank || (rankOf(other) === rank && i > this.#entries.indexOf(entry));
        return follows && (other.type === 'session' || overlap(entry.tools, other.tools));
      });
      if (later.length === 0) continue;
      const ids = later.slice(0, 5).map(({ id }) => `'${id}'`);
      const more = later.length > ids.length ? ` and ${later.length - ids.length} more` : '';
      const message =
        `Released clients run an approved call without looking at ${ids.join(', ')}${more}, which come later and ` +
        'may refuse it.';
      // The types are looked at in an order of their own: within one of them, who writes the document chooses.
      const movable = later.find((other) => rankOf(other) === rank);
      const advice = movable ? ` Put '${movable.id}' first.` : '';
      const key = entry.type === 'sandbox' ? ['outside'] : ['then', this.#words.effect];
      const severity = movable ? 'warning' : 'notice';
      this.#add(entry, severity, 'refusal-after-ask', [...entry.at, ...key], message + advice);
    }
  }

  /** Once in a document: it holds for each of them alike. */
  #sandboxes(): void {
    const entry = this.#entries.find(({ type }) => type === 'sandbox');
    if (!entry) return;
    const message =
      'Released clients judge fewer arguments than this engine, by their names and as they are written: they run ' +
      'some calls that it refuses.';
    this.#add(entry, 'notice', 'sandbox-arguments', [...entry.at, 'type'], message);
  }
}

function entryOf(value: JsonObject, at: YamlPath): Entry {
  const { id, type, tool, tools } = value;
  const named = Array.isArray(tools) ? tools.map(String) : typeof tool === 'string' ? [tool] : [];
  return { id: String(id), type: String(type), at, value, tools: named };
}

/** The effect in the words of contracts. */
function effectOf({ type, value }: Entry, words: Vocabulary): 'deny' | 'approve' | 'warn' | 'redact' {
  const spelled =
    type === 'sandbox' ? value.outside : isMapping(value.then) ? value.then[words.effect] : null;
  if (spelled === words.approve) return 'approve';
  return spelled === 'warn' || spelled === 'redact' ? spelled : 'deny';
}

/** The order in which the types are looked at. */
const rankOf = ({ type }: Entry): number => (type === 'pre' ? 0 : type === 'sandbox' ? 1 : 2);

/** Whether some tool may be meant by both. Of two globs only a plain overlap is seen. */
const overlap = (some: readonly string[], others: readonly string[]): boolean =>
  some.some((a) => others.some((b) => a === b || compileGlob(a)(b) || compileGlob(b)(a)));
