// Finds valid parts that their author did not mean: contracts that can never match, and words that other agents read
// otherwise. Refuses nothing.
import { defaultMaxAttempts, defaultMaxToolCalls } from '../evaluate/limits.ts';
import { builtInPrefixes, principalFields } from '../evaluate/selector.ts';
import { nameOf, plainNameOf, profileOf } from '../sandbox/profiles/index.ts';
import type { CommandProfiles } from '../sandbox/profiles/profile.ts';
import { interpreters } from '../sandbox/profiles/projects.ts';
import type { Json, JsonObject, YamlDocument, YamlPath } from '../yaml.ts';
import { approvalDoubts } from './approval-terms.ts';
import { deadParts } from './dead.ts';
import { nearestWord } from './distance.ts';
import { type LanguageOptions, type ReadBundle, readBundle } from './document.ts';
import { type Entry, effectOf, entryOf } from './entries.ts';
import { severalLeaves } from './leaves.ts';
import { operandDoubts } from './operands.ts';
import { laterRefusals, vainQuestions } from './order.ts';
import { emptyPlaceholders, selectorsIn } from './placeholders.ts';
import { isMapping, pathText } from './reader.ts';
import { isGlob, similarTools } from './tool-names.ts';
import { contractWords, rulesetWords, spellEffect, type Vocabulary } from './vocabulary.ts';

/**
 * A doubt of a careful reader. An `error` stops a deploy unless an admin forces the deploy. A `warning` goes away when
 * the document is written otherwise. A `notice` describes a difference of released clients; no other writing helps.
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
  /** The word that the author probably meant; null when no word comes near. */
  readonly suggestion: string | null;
}

export const lintCodes = [
  'bare-selector',
  'unknown-principal-field',
  'unknown-root',
  'unknown-field',
  'never-matches',
  'placeholder-operand',
  'unsafe-number',
  'unknown-tool',
  'glob-key',
  'built-in-limit',
  'undeclared-tool',
  'declared-writing-tool',
  'refusal-after-ask',
  'sandbox-arguments',
  'program_without_profile',
  'unisolated_program',
  'several-conditions',
  'refused-and-asked',
  'message-placeholder',
  'approver-metadata',
  'approval-timeout',
] as const;
export type LintCode = (typeof lintCodes)[number];

export interface LintOptions extends LanguageOptions {
  /** Prefixes of selectors that agents register. */
  readonly selectors?: Iterable<string>;
  /** Declared tools of the agents, beside those that the document declares. */
  readonly tools?: Iterable<string>;
  /** Tools in contracts of other documents. Limits may name them. */
  readonly contractTools?: Iterable<string>;
  /** Profiles of programs beside the built-in ones. */
  readonly commandProfiles?: CommandProfiles;
}

/** Findings kept for one text: its errors before all others, because they alone stop a deploy. */
export const maxFindings = 100;

/**
 * The findings of a text, in its order; none for an invalid text, whose problems `readBundle` returns.
 * @param source the text, or the result of `readBundle` for that text with the same options
 */
export function lintBundle(source: string | ReadBundle, options: LintOptions = {}): LintFinding[] {
  const read = typeof source === 'string' ? readBundle(source, options) : source;
  if (!read.ok) return [];
  const findings = read.parsed.flatMap((document) => new Linter(document, options).run()).sort(byPlace);
  const errors = findings.filter(isError);
  const others = findings.filter((finding) => !isError(finding));
  return [...errors, ...others].slice(0, maxFindings).sort(byPlace);
}

const isError = ({ severity }: Pick<LintFinding, 'severity'>): boolean => severity === 'error';
const byPlace = (a: LintFinding, b: LintFinding): number => a.line - b.line || a.column - b.column;

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

class Linter {
  readonly #document: YamlDocument;
  readonly #words: Vocabulary;
  readonly #commandProfiles: CommandProfiles;
  readonly #selectors: ReadonlySet<string>;
  readonly #tools: readonly string[];
  readonly #contractTools: readonly string[];
  readonly #declared: ReadonlyMap<string, string>;
  readonly #similarTo: ReturnType<typeof similarTools>;
  readonly #entries: readonly Entry[];
  readonly #mode: Json | undefined;
  readonly #errors: LintFinding[] = [];
  readonly #others: LintFinding[] = [];
  #used: ReadonlySet<string> | undefined;

  constructor(document: YamlDocument, options: LintOptions) {
    this.#document = document;
    const value = document.value as JsonObject;
    this.#words = value.rules === undefined ? contractWords : rulesetWords;
    this.#selectors = new Set(options.selectors ?? []);
    this.#tools = [...(options.tools ?? [])];
    this.#contractTools = [...(options.contractTools ?? [])];
    this.#commandProfiles = options.commandProfiles ?? {};
    this.#mode = isMapping(value.defaults) ? value.defaults.mode : undefined;
    const tools = isMapping(value.tools) ? value.tools : {};
    this.#declared = new Map(
      Object.entries(tools).map(([tool, traits]) => [
        tool,
        isMapping(traits) ? String(traits.side_effect) : '',
      ]),
    );
    this.#similarTo = similarTools([...this.#declared.keys(), ...this.#tools]);
    const list = value[this.#words.list] as readonly JsonObject[];
    this.#entries = list.flatMap((entry, i) =>
      entry.enabled === false ? [] : [entryOf(entry, [this.#words.list, i])],
    );
  }

  run(): readonly LintFinding[] {
    for (const entry of this.#entries) {
      this.#toolNames(entry);
      if (entry.value.when !== undefined) this.#condition(entry, entry.value.when, [...entry.at, 'when']);
      this.#message(entry);
      for (const { code, path, message } of approvalDoubts(entry, this.#words))
        this.#add(entry, 'warning', code, path, message);
      if (entry.type === 'post') this.#result(entry);
      if (entry.type === 'session') this.#limits(entry);
      for (const { path, message, suggestion } of deadParts(entry.value))
        this.#add(entry, 'warning', 'never-matches', [...entry.at, ...path], message, suggestion);
    }
    for (const { entry, severity, code, path, message } of [
      ...laterRefusals(this.#entries, this.#words),
      ...vainQuestions(this.#entries, this.#words, this.#mode),
    ])
      this.#add(entry, severity, code, path, message);
    this.#sandboxes();
    for (const entry of this.#entries) if (entry.type === 'sandbox') this.#programs(entry);
    return [...this.#errors, ...this.#others];
  }

  #add(
    entry: Entry | null,
    severity: LintFinding['severity'],
    code: LintCode,
    path: YamlPath,
    message: string,
    suggestion: string | null = null,
  ): void {
    const findings = severity === 'error' ? this.#errors : this.#others;
    if (findings.length >= maxFindings) return;
    const meant = suggestion === null ? '' : ` Did you mean ${suggestion}?`;
    findings.push({
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
    const several = severalLeaves(node);
    if (several) {
      const message =
        'Released clients refuse several conditions in one mapping, and keep their old document.';
      this.#add(entry, 'error', 'several-conditions', [...path, ...several.path], message, several.safeForm);
    }
    for (const [key, inner] of Object.entries(node)) {
      const at = [...path, key];
      if (key === 'all' || key === 'any' || key === 'not') this.#condition(entry, inner, at);
      else {
        this.#selector(entry, key, at);
        for (const [operator, operand] of Object.entries(isMapping(inner) ? inner : {})) {
          for (const { severity, code, message } of operandDoubts(operator, operand, this.#document.rounded))
            this.#add(entry, severity, code, [...at, operator], message);
        }
      }
    }
  }

  #selector(entry: Entry, selector: string, at: YamlPath): void {
    if (selector === 'environment') return;
    if (selector === 'result') {
      const message = 'result alone is always missing. Name one of its fields, or use output.text.';
      this.#add(entry, 'warning', 'bare-selector', at, message);
      return;
    }
    const [root = '', field = ''] = selector.split('.');
    const bare = !selector.includes('.');
    const example = bareRoots.get(root);
    if (bare && example !== undefined) {
      const message = `${root} alone is always missing. Name one of its fields, for example ${example}.`;
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
    const names = [...principalFields, 'claims'];
    const nearest = nearestWord(field, names, () => 2);
    const claim = field === 'claims' ? 'the name of a claim, for example principal.claims.team' : null;
    const suggestion = claim ?? `principal.${nearest ?? `claims.${field}`}`;
    const message = `${selector} is always missing. A principal has ${names.join(', ')}.`;
    this.#add(entry, 'error', 'unknown-principal-field', at, message, suggestion);
  }

  #root(entry: Entry, root: string, bare: boolean, at: YamlPath): void {
    // A long word may be misspelt twice.
    const nearest = nearestWord(root, [...builtInPrefixes, ...this.#selectors], (selector) =>
      selector.length >= 7 ? 2 : 1,
    );
    if (nearest !== undefined) {
      const message = `${root} does not exist, so this selector is always missing.`;
      this.#add(entry, 'error', 'unknown-root', at, message, nearest);
    } else if (bare) {
      const message = `${root} is always missing, because a selector needs a root and a field.`;
      this.#add(entry, 'error', 'unknown-root', at, message, `args.${root}`);
    } else {
      const message = `${root} is not a built-in root, so it matches only for agents that register it. If yours do, list it under custom_selectors.`;
      this.#add(entry, 'error', 'unknown-root', at, message);
    }
  }

  #toolNames(entry: Entry): void {
    const isList = Array.isArray(entry.value.tools);
    for (const [i, tool] of entry.tools.entries()) {
      const similar = this.#similarTo(tool);
      if (similar === undefined) continue;
      const message = `The tool ${tool} is not declared. If the name is right, declare it under tools.`;
      const at = [...entry.at, ...(isList ? ['tools', i] : ['tool'])];
      this.#add(entry, 'error', 'unknown-tool', at, message, similar);
    }
  }

  #message(entry: Entry): void {
    // A session contract's message is taken as it is.
    if (entry.type === 'session') return;
    const [holder, at] =
      entry.type === 'sandbox' ? [entry.value, entry.at] : [entry.value.then, [...entry.at, 'then']];
    const text = isMapping(holder) ? holder.message : null;
    if (typeof text !== 'string') return;
    this.#used ??= new Set(this.#entries.flatMap(({ value }) => selectorsIn(value.when)));
    for (const { message, suggestion } of emptyPlaceholders(text, this.#selectors, this.#used))
      this.#add(entry, 'warning', 'message-placeholder', [...at, 'message'], message, suggestion);
  }

  /** Tools that the document names, declared or in a contract, and those that the caller knows. */
  #allTools(): ReadonlySet<string> {
    const used = this.#entries.flatMap(({ tools }) => tools);
    return new Set(
      [...this.#declared.keys(), ...used, ...this.#tools, ...this.#contractTools].filter(
        (tool) => !isGlob(tool),
      ),
    );
  }

  #limits(entry: Entry): void {
    const { limits } = entry.value;
    if (!isMapping(limits)) return;
    for (const [key, builtIn] of builtInLimits) {
      const max = limits[key];
      if (typeof max !== 'number' || max <= builtIn) continue;
      const message = `Released clients end a session at their built-in limit ${builtIn}, even if ${key} is higher.`;
      this.#add(entry, 'notice', 'built-in-limit', [...entry.at, 'limits', key], message);
    }
    const perTool = limits.max_calls_per_tool;
    if (!isMapping(perTool)) return;
    const names = this.#allTools();
    for (const key of Object.keys(perTool)) {
      if (names.has(key)) continue;
      const at = [...entry.at, 'limits', 'max_calls_per_tool', key];
      if (isGlob(key)) {
        const message = `${key} counts each matching tool separately; released clients read it as a tool name and never count it.`;
        this.#add(entry, 'warning', 'glob-key', at, message);
        continue;
      }
      const nearest = nearestWord(key, names, (tool) => (Math.min(key.length, tool.length) <= 2 ? 1 : 2));
      if (nearest !== undefined) {
        const message = `No contract or declaration contains the tool ${key}. If the name is right, declare it under tools.`;
        this.#add(entry, 'error', 'unknown-tool', at, message, nearest);
      } else {
        const message = `No contract or declaration contains the tool ${key}. If the name is wrong, the limit never counts.`;
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
      const message = `${word} only warns here, because ${writing.join(', ')} is declared as writing: its result must stay visible.`;
      this.#add(entry, 'warning', 'declared-writing-tool', at, message);
    }
    const undeclared = entry.tools.filter((tool) => !this.#declared.has(tool));
    if (undeclared.length === 0) return;
    const message = `Released clients only warn here, because ${undeclared.join(', ')} is not declared under tools. Declare it as pure or read.`;
    this.#add(entry, 'warning', 'undeclared-tool', at, message);
  }

  /** Adds notices about listed programs without a profile, and about interpreters. */
  #programs(entry: Entry): void {
    const { allows } = entry.value;
    const commands = isMapping(allows) && Array.isArray(allows.commands) ? allows.commands.map(String) : [];
    const path = [...entry.at, 'allows', 'commands'];
    const unknown = commands.filter((name) => profileOf(nameOf(name), this.#commandProfiles) === undefined);
    const open = commands.filter((name) => interpreters.has(plainNameOf(name)));
    if (unknown.length > 0)
      this.#add(
        entry,
        'notice',
        'program_without_profile',
        path,
        `No profile describes ${unknown.join(', ')}. Each word is judged as a path, or as a URL if it looks like one.`,
      );
    if (open.length > 0)
      this.#add(
        entry,
        'notice',
        'unisolated_program',
        path,
        `A call of ${open.join(', ')} can run any program and reach any file. Only isolation contains it.`,
      );
  }

  /** Once in a document: it holds for each of them alike. */
  #sandboxes(): void {
    const entry = this.#entries.find(({ type }) => type === 'sandbox');
    if (!entry) return;
    const message =
      'Released clients judge fewer arguments than this engine, by name and literally, so they run ' +
      'some calls that this engine refuses.';
    this.#add(entry, 'notice', 'sandbox-arguments', [...entry.at, 'type'], message);
  }
}
