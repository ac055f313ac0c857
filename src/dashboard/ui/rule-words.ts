// Words of the rule language for completion and tooltips in the editor. docs/rule-language.md is the reference.

export interface RuleWord {
  readonly word: string;
  readonly kind: 'keyword' | 'function' | 'variable' | 'constant';
  readonly explanation: string;
}

const list = (kind: RuleWord['kind'], entries: { readonly [word: string]: string }): RuleWord[] =>
  Object.entries(entries).map(([word, explanation]) => ({ word, kind, explanation }));

/** Positions where a word is valid. */
export const groups = {
  document: list('keyword', {
    apiVersion: 'The version of the language: service/v1.',
    kind: 'The kind of the document: ContractBundle or Ruleset.',
    metadata: 'The name and description of the document.',
    defaults: 'The mode of contracts without a mode.',
    contracts: 'The contracts of a bundle, in order of evaluation.',
    rules: 'The rules of a ruleset, in order of evaluation.',
  }),
  contract: list('keyword', {
    id: 'The ID of the contract, unique in a bundle.',
    type: 'pre checks a call, post its result, session the counters, sandbox the resources in its arguments.',
    enabled: 'false turns the contract off.',
    mode: 'enforce applies the contract; observe only records the result.',
    tool: 'The tool to check: a name, a pattern such as read_*, or * for all tools.',
    tools: 'A list of tools, instead of tool.',
    when: 'The condition that makes the contract fire.',
    then: 'The result when the contract fires: effect, message, tags.',
    limits: 'Limits for a session: max_tool_calls, max_attempts, max_calls_per_tool.',
    within: 'Folders that must contain all paths.',
    not_within: 'Folders inside within that paths must not enter.',
    allows: 'Allowed commands and domains.',
    not_allows: 'Exceptions to the allowed domains.',
    outside: 'The effect of a violation: deny or approve.',
    message: 'The text for the agent and the audit log. {args.path} inserts a value.',
  }),
  then: list('keyword', {
    effect: 'deny denies the call, approve requires approval, warn and redact are for post contracts.',
    action: 'In rulesets: block denies the call, ask requires approval, warn and redact check results.',
    message: 'The text for the agent and the audit log. {args.path} inserts a value.',
    tags: 'Words for searching.',
    metadata: 'More fields for the audit log.',
    timeout: 'Seconds until the approval expires; default: 300.',
    timeout_effect: 'deny or allow, if nobody decides in time.',
  }),
  limits: list('keyword', {
    max_tool_calls: 'Maximum number of executed calls in a session.',
    max_attempts: 'Maximum number of attempts in a session, denied calls included.',
    max_calls_per_tool: 'Maximum number of executed calls by tool.',
  }),
  reach: list('keyword', {
    commands: 'Program names.',
    domains: 'Host names; *.example.com includes subdomains.',
  }),
  joins: list('keyword', {
    all: 'True if every condition in the list is true.',
    any: 'True if at least one condition in the list is true.',
    not: 'True if the condition is false.',
  }),
  selectors: list('variable', {
    'args.': 'An argument of the call, such as args.path.',
    'principal.role': 'The role of the principal.',
    'principal.user_id': 'The user ID of the principal.',
    'principal.claims.': 'A claim about the principal.',
    environment: 'The environment of the agent: production, staging, development.',
    'tool.name': 'The name of the tool.',
    'output.text': 'The result of the tool as text, in post contracts.',
    'result.': 'A field of the result of the tool, in post contracts.',
    'metadata.': 'Metadata that the caller sends with the call.',
    'env.': 'An environment variable of the agent.',
  }),
  operators: list('function', {
    exists: 'true: the value exists; false: it does not.',
    equals: 'Equal to this value.',
    not_equals: 'Different from this value.',
    in: 'In this list.',
    not_in: 'Not in this list.',
    contains: 'The text contains this text.',
    contains_any: 'The text contains one of these texts.',
    starts_with: 'The text starts with this text.',
    ends_with: 'The text ends with this text.',
    matches: 'The text matches this pattern.',
    matches_any: 'The text matches one of these patterns.',
    gt: 'Greater than this number.',
    gte: 'Greater than or equal to this number.',
    lt: 'Less than this number.',
    lte: 'Less than or equal to this number.',
  }),
  head: list('keyword', {
    name: 'The name of the document.',
    description: 'The purpose of the document.',
  }),
} as const;

const deny = { deny: 'The call is denied.' };
const effects = list('constant', {
  ...deny,
  approve: 'The call requires approval.',
  warn: 'The agent gets a warning (post contracts).',
  redact: 'Matching text is removed from the result (post contracts).',
});
const types = list('constant', {
  pre: 'Checks a call before it runs.',
  post: 'Checks the result of a call.',
  session: 'Checks the counters of a session.',
  sandbox: 'Limits the resources that arguments can reach.',
});
const modes = list('constant', { enforce: 'The contract applies.', observe: 'The contract only records.' });
const flags = list('constant', { true: 'Yes.', false: 'No.' });

/** Valid values of a key. */
export const values: { readonly [key: string]: readonly RuleWord[] } = {
  effect: effects,
  outside: effects.filter(({ word }) => word === 'deny' || word === 'approve'),
  action: list('constant', {
    block: 'The call is denied.',
    ask: 'The call requires approval.',
    warn: 'The agent gets a warning about the result.',
    redact: 'Matching text is removed from the result.',
  }),
  timeout_effect: list('constant', { ...deny, allow: 'The call is allowed.' }),
  mode: modes,
  type: types,
  enabled: flags,
  exists: flags,
  apiVersion: list('constant', { 'service/v1': 'Language version.' }),
  kind: list('constant', { ContractBundle: 'Contract bundle.', Ruleset: 'Ruleset.' }),
};

const all: readonly RuleWord[] = [...Object.values(groups), ...Object.values(values)].flat();

/** Explanation of a word from a text: `args.path` has the one of `args.`. */
export const explained = (text: string): RuleWord | undefined =>
  all.find(({ word }) => word === text) ??
  all.find(({ word }) => word.endsWith('.') && text.startsWith(word) && text.length > word.length);

/** Keys that contain the position after `before`, from the outermost, found by their indentation. */
function keysAround(before: string): string[] {
  const lines = before.split('\n');
  const last = lines.pop() ?? '';
  const open = /(?<![\w.])([\w.]+)\s*:\s*\{[^{}]*$/.exec(last);
  const own = open ? last.slice(0, open.index) : last;
  const keys = open ? [open[1] ?? ''] : [];
  // A dash belongs to the key of its list.
  let column = own.search(/[^\s-]|$/);
  for (let at = lines.length - 1; at >= 0 && column > 0; at -= 1) {
    const keyMatch = /^([\s-]*)([\w.]+)\s*:\s*(?:#.*)?$/.exec(lines[at] ?? '');
    if (!keyMatch || (keyMatch[1] ?? '').length >= column) continue;
    column = (keyMatch[1] ?? '').length;
    keys.unshift(keyMatch[2] ?? '');
  }
  return keys;
}

const lastLine = (text: string): string => text.slice(text.lastIndexOf('\n') + 1);

/** Key whose value is at the end of the line; undefined if there is none. */
const keyBefore = (line: string): string | undefined =>
  /(?:^|[\s{,-])([\w.]+)\s*:\s+(?:\[[^\]]*)?["']?[\w.*/-]*$/.exec(line)?.[1];

const isComment = (line: string): boolean => /^\s*#|\s#/.test(line);
const isToolKey = (key: string | undefined): boolean => key === 'tool' || key === 'tools';

/** True if `before` ends in an incomplete tool name. */
export function namesTool(before: string): boolean {
  const line = lastLine(before);
  return !isComment(line) && /[\w.*/-]$/.test(line) && isToolKey(keyBefore(line));
}

/** Words that are valid at the end of `before`; empty inside free text. */
export function offeredAt(before: string, tools: readonly string[] = []): readonly RuleWord[] {
  const line = lastLine(before);
  if (isComment(line)) return [];
  const key = keyBefore(line);
  if (isToolKey(key))
    return tools.map((word) => ({ word, kind: 'constant', explanation: 'A tool that agents call.' }));
  if (key !== undefined) return values[key] ?? [];
  const keys = keysAround(before);
  const parent = keys.at(-1);
  const inWhen = keys.lastIndexOf('when');
  if (inWhen >= 0) {
    const isJoin = parent === 'when' || groups.joins.some(({ word }) => word === parent);
    return isJoin ? [...groups.selectors, ...groups.joins] : groups.operators;
  }
  switch (parent) {
    case 'then':
      return groups.then;
    case 'limits':
      return groups.limits;
    case 'allows':
    case 'not_allows':
      return groups.reach;
    case 'defaults':
      return groups.contract.filter(({ word }) => word === 'mode');
    case 'metadata':
      return groups.head;
    case 'contracts':
    case 'rules':
      return groups.contract;
    case undefined:
      return [...groups.contract, ...groups.document];
    default:
      return [];
  }
}
