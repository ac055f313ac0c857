// One entry of a bundle's list to a rule, for the four types.
import { contractIdPattern } from '../names.ts';
import type { Json, JsonObject, YamlPath } from '../yaml.ts';
import { readCondition } from './condition.ts';
import { maxContractIdLength } from './decomposition.ts';
import { isMapping, type Reader } from './reader.ts';
import {
  type ApprovalTerms,
  type CommonRule,
  type Effect,
  type Mode,
  type Rule,
  type RuleType,
  ruleTypes,
} from './rule.ts';
import { spellEffect, type Vocabulary } from './vocabulary.ts';

/** Longest message, in characters. */
export const maxMessageLength = 500;
const defaultTimeout = 300;

const commonKeys = ['id', 'type', 'enabled', 'mode'];
const callKeys = [...commonKeys, 'tool', 'tools', 'when', 'then'];
const timeoutKeys = ['timeout', 'timeout_effect', 'timeout_action'];
const keysOf: Readonly<Record<RuleType, readonly string[]>> = {
  pre: callKeys,
  post: callKeys,
  session: [...commonKeys, 'limits', 'then'],
  sandbox: [
    ...commonKeys,
    ...['tool', 'tools', 'within', 'not_within', 'allows', 'not_allows', 'outside', 'message'],
    ...timeoutKeys,
  ],
};
const effectsOf = {
  pre: ['deny', 'approve'],
  post: ['warn', 'redact', 'deny'],
  session: ['deny'],
} as const satisfies Partial<Record<RuleType, readonly Effect[]>>;

export interface RuleScope {
  readonly words: Vocabulary;
  readonly mode: Mode;
  /** Names of operators beyond the built-in ones. */
  readonly operators: ReadonlySet<string>;
  readonly patterns: { left: number };
}

/** Reads one entry. Undefined when it has problems, which are in the reader. */
export function readRule(reader: Reader, value: Json, path: YamlPath, scope: RuleScope): Rule | undefined {
  const before = reader.problems.length;
  reader.contract =
    isMapping(value) && typeof value.id === 'string' ? value.id.slice(0, maxContractIdLength) : null;
  const rule = readEntry(reader, value, path, scope);
  reader.contract = null;
  return reader.problems.length === before ? rule : undefined;
}

function readEntry(reader: Reader, value: Json, path: YamlPath, scope: RuleScope): Rule | undefined {
  if (!isMapping(value)) return reader.problem(path, 'expected a mapping');
  const type = reader.word(value.type, [...path, 'type'], ruleTypes);
  if (!type) return;
  reader.mapping(value, path, keysOf[type]);
  const id = value.id;
  if (typeof id !== 'string' || id.length > maxContractIdLength || !contractIdPattern.test(id)) {
    return reader.problem(
      [...path, 'id'],
      `expected a string of at most ${maxContractIdLength} characters that matches ${contractIdPattern.source}`,
    );
  }
  const base = {
    id,
    enabled: reader.flag(value.enabled, [...path, 'enabled'], true),
    mode:
      value.mode === undefined
        ? scope.mode
        : (reader.word(value.mode, [...path, 'mode'], ['enforce', 'observe']) ?? scope.mode),
    shadow: false,
  };
  if (type === 'sandbox') return readSandbox(reader, value, path, scope, base);
  const then = readThen(reader, value.then, [...path, 'then'], scope.words, type);
  if (type === 'session') {
    const limits = readLimits(reader, value.limits, [...path, 'limits']);
    return then && limits && { ...base, ...then.common, type, limits, effect: 'deny' };
  }
  const tools = readTools(reader, value, path);
  const when = readCondition(reader, value.when, [...path, 'when'], { type, ...scope });
  if (!then || !tools || !when) return;
  if (type === 'pre') {
    return {
      ...base,
      ...then.common,
      ...then.terms,
      type,
      tools,
      when,
      effect: then.effect === 'approve' ? 'approve' : 'deny',
    };
  }
  const effect = then.effect === 'warn' || then.effect === 'redact' ? then.effect : 'deny';
  return { ...base, ...then.common, type, tools, when, effect };
}

interface Then {
  readonly effect: Effect;
  readonly common: Pick<CommonRule, 'message' | 'tags' | 'metadata'>;
  readonly terms: ApprovalTerms;
}

function readThen(
  reader: Reader,
  value: Json | undefined,
  path: YamlPath,
  words: Vocabulary,
  type: keyof typeof effectsOf,
): Then | undefined {
  const keys = [words.effect, 'message', 'tags', 'metadata', ...(type === 'pre' ? timeoutKeys : [])];
  const then = reader.mapping(value, path, keys);
  if (!then) return;
  const allowed: readonly Effect[] = effectsOf[type];
  const spelled = reader.word(
    then[words.effect],
    [...path, words.effect],
    allowed.map((effect) => spellEffect(effect, words)),
  );
  const message = reader.text(then.message, [...path, 'message'], maxMessageLength);
  const tags = then.tags === undefined ? [] : reader.texts(then.tags, [...path, 'tags'], 0, 100);
  const metadata = then.metadata === undefined ? {} : reader.mapping(then.metadata, [...path, 'metadata']);
  const terms = readTerms(reader, then, path, words);
  const effect = allowed.find((candidate) => spellEffect(candidate, words) === spelled);
  if (!effect || message === undefined || !tags || !metadata) return;
  return { effect, common: { message, tags, metadata }, terms };
}

/** Both names of the timeout effect and both words for deny are accepted: published schemas disagree on them. */
function readTerms(reader: Reader, value: JsonObject, path: YamlPath, words: Vocabulary): ApprovalTerms {
  if (value.timeout_effect !== undefined && value.timeout_action !== undefined) {
    reader.problem([...path, 'timeout_action'], 'expected timeout_effect or timeout_action, not both');
  }
  const key = value.timeout_action !== undefined ? 'timeout_action' : 'timeout_effect';
  const timeout =
    value.timeout === undefined ? defaultTimeout : reader.count(value.timeout, [...path, 'timeout']);
  const effect = value[key];
  if (effect !== undefined && effect !== 'deny' && effect !== 'block' && effect !== 'allow') {
    reader.problem([...path, key], `expected ${words.deny} or allow`);
  }
  return { timeout: timeout ?? defaultTimeout, timeoutEffect: effect === 'allow' ? 'allow' : 'deny' };
}

function readTools(reader: Reader, value: JsonObject, path: YamlPath): string[] | undefined {
  if (value.tool !== undefined && value.tools !== undefined) {
    return reader.problem([...path, 'tools'], 'expected tool or tools, not both');
  }
  if (value.tools !== undefined) return reader.texts(value.tools, [...path, 'tools'], 1, 100);
  if (value.tool === undefined)
    return reader.problem(path, 'expected tool (a name or glob) or tools (a list of them)');
  const tool = reader.text(value.tool, [...path, 'tool']);
  return tool === undefined ? undefined : [tool];
}

function readLimits(reader: Reader, value: Json | undefined, path: YamlPath) {
  const limits = reader.mapping(value, path, ['max_tool_calls', 'max_attempts', 'max_calls_per_tool']);
  if (!limits) return;
  if (Object.keys(limits).length === 0) {
    return reader.problem(path, 'expected at least one of max_tool_calls, max_attempts, max_calls_per_tool');
  }
  const read: { maxToolCalls?: number; maxAttempts?: number; maxCallsPerTool?: Record<string, number> } = {};
  const calls =
    limits.max_tool_calls === undefined
      ? undefined
      : reader.count(limits.max_tool_calls, [...path, 'max_tool_calls']);
  if (calls !== undefined) read.maxToolCalls = calls;
  const attempts =
    limits.max_attempts === undefined
      ? undefined
      : reader.count(limits.max_attempts, [...path, 'max_attempts']);
  if (attempts !== undefined) read.maxAttempts = attempts;
  if (limits.max_calls_per_tool !== undefined) {
    const at = [...path, 'max_calls_per_tool'];
    const perTool = reader.mapping(limits.max_calls_per_tool, at);
    if (perTool && Object.keys(perTool).length === 0) reader.problem(at, 'expected at least one tool');
    const entries = Object.entries(perTool ?? {}).map(([tool, n]): [string, number] => [
      tool,
      reader.count(n, [...at, tool]) ?? 1,
    ]);
    read.maxCallsPerTool = Object.fromEntries(entries);
  }
  return read;
}

function readSandbox(
  reader: Reader,
  value: JsonObject,
  path: YamlPath,
  scope: RuleScope,
  base: Omit<CommonRule, 'message' | 'tags' | 'metadata'>,
): Rule | undefined {
  const { words } = scope;
  const list = (map: JsonObject | undefined, key: string, at: YamlPath, min: number) =>
    map?.[key] === undefined ? undefined : reader.texts(map[key], [...at, key], min);
  const tools = readTools(reader, value, path);
  const message = reader.text(value.message, [...path, 'message'], maxMessageLength);
  const within = list(value, 'within', path, 1);
  const notWithin = list(value, 'not_within', path, 0);
  const allows =
    value.allows === undefined
      ? undefined
      : reader.mapping(value.allows, [...path, 'allows'], ['commands', 'domains']);
  const notAllows =
    value.not_allows === undefined
      ? undefined
      : reader.mapping(value.not_allows, [...path, 'not_allows'], ['domains']);
  const commands = list(allows, 'commands', [...path, 'allows'], 1);
  const domains = list(allows, 'domains', [...path, 'allows'], 1);
  const notDomains = list(notAllows, 'domains', [...path, 'not_allows'], 0);
  if (value.within === undefined && value.allows === undefined)
    reader.problem(path, 'expected at least one of within, allows');
  if (allows && Object.keys(allows).length === 0)
    reader.problem([...path, 'allows'], 'expected commands or domains');
  if (value.not_within !== undefined && value.within === undefined)
    reader.problem([...path, 'not_within'], 'not_within needs within');
  if (value.not_allows !== undefined && value.allows === undefined)
    reader.problem([...path, 'not_allows'], 'not_allows needs allows');
  if (notAllows?.domains !== undefined && allows && allows.domains === undefined) {
    reader.problem([...path, 'not_allows', 'domains'], 'not_allows.domains needs allows.domains');
  }
  const outside =
    value.outside === undefined
      ? words.deny
      : reader.word<string>(value.outside, [...path, 'outside'], [words.deny, words.approve]);
  const terms = readTerms(reader, value, path, words);
  if (!tools || message === undefined) return;
  return {
    ...base,
    ...terms,
    type: 'sandbox',
    tools,
    message,
    tags: [],
    metadata: {},
    within: within ?? null,
    notWithin: notWithin ?? [],
    commands: commands ?? null,
    domains: domains ?? null,
    notDomains: notDomains ?? [],
    effect: outside === words.approve ? 'approve' : 'deny',
  };
}
