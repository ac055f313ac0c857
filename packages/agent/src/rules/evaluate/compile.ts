// Bundles compiled once for many calls: functions per rule, and per tool the rules that look at it.
import { readBundle } from '../bundle/document.ts';
import type { BundleProblem } from '../bundle/reader.ts';
import type { Mode, Rule, RuleDocument, SessionRule, ToolTraits } from '../bundle/rule.ts';
import { RuleError } from '../error.ts';
import { looksSecret } from '../redact/tokens.ts';
import { remembered } from '../remembered.ts';
import { sandboxCompiler } from '../sandbox/sandbox.ts';
import type { View } from './call.ts';
import { compileCondition, type Extensions, outputPatterns, type Predicate } from './condition.ts';
import { compileGlob } from './glob.ts';
import { composeDocuments, type LayerReport } from './layers.ts';
import { type MergedLimits, mergeLimits } from './limits.ts';
import { compileMessage } from './message.ts';
import type { EngineOptions } from './options.ts';
import { builtInPrefixes } from './selector.ts';

export type { EngineOptions } from './options.ts';

/** A rule that looks at calls, ready to run. */
export interface CompiledRule {
  readonly rule: Exclude<Rule, SessionRule>;
  readonly fires: Predicate;
  readonly message: (view: View) => string;
  /** Patterns of the text that a redaction replaces; for post rules. */
  readonly patterns: readonly string[];
  readonly matchesTool: (tool: string) => boolean;
}

/** The rules that look at one tool, each kind in the order of the document, shadows apart. */
export interface ToolRules {
  /** All pre, then all sandbox rules. */
  readonly before: readonly CompiledRule[];
  readonly post: readonly CompiledRule[];
  /** Shadow copies of every kind. */
  readonly shadow: readonly CompiledRule[];
}

/** Immutable but for a cache; safe to share between any number of evaluations. */
export interface CompiledBundle {
  readonly name: string;
  readonly mode: Mode;
  readonly document: RuleDocument;
  readonly report: LayerReport;
  readonly tools: ReadonlyMap<string, ToolTraits>;
  readonly limits: MergedLimits;
  /** Enabled session rules, shadows too. */
  readonly sessions: readonly SessionRule[];
  readonly env: (name: string) => string | undefined;
  rulesFor(tool: string): ToolRules;
}

export type CompileResult =
  | { readonly ok: true; readonly bundle: CompiledBundle }
  | { readonly ok: false; readonly problems: readonly BundleProblem[] };

/**
 * Compiles bundle YAML, or documents that were read before (several are layered, first to last). Never throws for bad
 * input: all problems come back at once. Nothing is half compiled.
 * @throws TypeError when an option is wrong (a custom selector takes a built-in prefix)
 */
export function compileBundle(
  source: string | RuleDocument | readonly RuleDocument[],
  options: EngineOptions = {},
): CompileResult {
  for (const prefix of Object.keys(options.selectors ?? {})) {
    if (builtInPrefixes.has(prefix)) throw new TypeError(`The selector prefix ${prefix} is built in`);
  }
  let documents: readonly RuleDocument[];
  if (typeof source === 'string') {
    const { operators, ...language } = options;
    const read = readBundle(source, { ...language, operators: Object.keys(operators ?? {}) });
    if (!read.ok) return read;
    documents = read.documents;
  } else documents = Array.isArray(source) ? source : [source as RuleDocument];
  const [first, ...others] = documents;
  if (!first) return { ok: false, problems: [problemOf(null, 'expected at least one document')] };
  const { document, report } = composeDocuments([first, ...others]);
  const sandboxOf = sandboxCompiler(options);
  const compiled: CompiledRule[] = [];
  const problems: BundleProblem[] = [];
  for (const rule of document.rules) {
    if (!rule.enabled || rule.type === 'session') continue;
    try {
      compiled.push(compileRule(rule, options, sandboxOf));
    } catch (error) {
      if (!(error instanceof RuleError)) throw error;
      problems.push(problemOf(rule.id, error.message));
    }
  }
  if (problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    bundle: {
      name: document.name,
      mode: document.mode,
      document,
      report,
      tools: document.tools,
      limits: mergeLimits(document.rules, options.limits),
      sessions: document.rules.filter((rule) => rule.type === 'session' && rule.enabled) as SessionRule[],
      env: options.env ?? (() => undefined),
      rulesFor: indexByTool(compiled),
    },
  };
}

function compileRule(
  rule: Exclude<Rule, SessionRule>,
  options: EngineOptions,
  sandboxOf: ReturnType<typeof sandboxCompiler>,
): CompiledRule {
  const { operators = {}, selectors = {} } = options;
  const secret = options.looksSecret ?? looksSecret;
  const extensions: Extensions = { operators, selectors };
  const globs = rule.tools.map(compileGlob);
  return {
    rule,
    fires: rule.type === 'sandbox' ? sandboxOf(rule) : compileCondition(rule.when, extensions),
    message: compileMessage(rule.message, { selectors, looksSecret: secret }),
    patterns: rule.type === 'post' ? outputPatterns(rule.when) : [],
    matchesTool: (tool) => globs.some((matches) => matches(tool)),
  };
}

const maxCachedTools = 1000;

const indexByTool = (compiled: readonly CompiledRule[]): ((tool: string) => ToolRules) =>
  remembered(maxCachedTools, (tool) => {
    const matching = compiled.filter((one) => one.matchesTool(tool));
    const enforced = matching.filter((one) => !one.rule.shadow);
    return {
      before: [
        ...enforced.filter(({ rule }) => rule.type === 'pre'),
        ...enforced.filter(({ rule }) => rule.type === 'sandbox'),
      ],
      post: enforced.filter(({ rule }) => rule.type === 'post'),
      shadow: matching.filter((one) => one.rule.shadow),
    };
  });

function problemOf(contract: string | null, expected: string): BundleProblem {
  const subject = contract === null ? '' : `contract '${contract}': `;
  return {
    contract,
    path: '',
    expected,
    line: 1,
    column: 1,
    message: `${subject}${expected} (line 1, column 1)`,
  };
}
