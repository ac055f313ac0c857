// The words of the rule language that the editor offers and explains. docs/rule-language.md is the reference.

export interface RuleWord {
  readonly word: string;
  readonly kind: 'keyword' | 'function' | 'variable' | 'constant';
  readonly says: string;
}

const list = (kind: RuleWord['kind'], entries: { readonly [word: string]: string }): RuleWord[] =>
  Object.entries(entries).map(([word, says]) => ({ word, kind, says }));

/** Where a word may stand. */
export const groups = {
  document: list('keyword', {
    apiVersion: 'The version of the language: service/v1.',
    kind: 'What the document is: ContractBundle or Ruleset.',
    metadata: 'The name and description of the document.',
    defaults: 'The mode of contracts that name none.',
    contracts: 'The contracts of a bundle, in the order in which they are looked at.',
    rules: 'The rules of a ruleset, in the order in which they are looked at.',
  }),
  contract: list('keyword', {
    id: 'The name of the contract, once in a bundle.',
    type: 'pre looks before a call, post at its result, session at counters, sandbox at what arguments may reach.',
    enabled: 'false leaves it out.',
    mode: 'enforce acts; observe only records what would have happened.',
    tool: 'The tool it looks at; * for all, patterns such as read_*.',
    tools: 'A list of tools, in place of tool.',
    when: 'The condition under which it fires.',
    then: 'What happens when it fires: effect, message, tags.',
    limits: 'Counters of a session: max_tool_calls, max_attempts, max_calls_per_tool.',
    within: 'Folders that paths must be inside of.',
    not_within: 'Folders inside those of within that paths must stay out of.',
    allows: 'Commands and domains that are allowed.',
    not_allows: 'Domains that are not allowed although others are.',
    outside: 'What a sandbox does with a breach: deny or approve.',
    message: 'What the agent and the audit log are told. {args.path} puts in a value.',
  }),
  then: list('keyword', {
    effect: 'deny refuses the call, approve asks a person, warn and redact belong to post contracts.',
    action: 'In rulesets: block refuses the call, ask asks a person, warn and redact look at results.',
    message: 'What the agent and the audit log are told. {args.path} puts in a value.',
    tags: 'Words to find it by.',
    metadata: 'What else the audit log keeps of it.',
    timeout: 'Seconds that a person has to decide; 300 by default.',
    timeout_effect: 'deny or allow, when nobody decides in time.',
  }),
  limits: list('keyword', {
    max_tool_calls: 'Calls that a session may make.',
    max_attempts: 'Calls that a session may try, with those that were refused.',
    max_calls_per_tool: 'Calls of each tool that a session may make.',
  }),
  reach: list('keyword', {
    commands: 'Names of programs.',
    domains: 'Names of hosts; *.example.com for those below one.',
  }),
  joins: list('keyword', {
    all: 'True when every condition in the list is.',
    any: 'True when one condition in the list is.',
    not: 'True when the condition is not.',
  }),
  selectors: list('variable', {
    'args.': 'An argument of the call, such as args.path.',
    'principal.role': 'The role of who the call is made for.',
    'principal.user_id': 'Who the call is made for.',
    'principal.claims.': 'What else is known of who the call is made for.',
    environment: 'Where the agent runs: production, staging, development.',
    'tool.name': 'The name of the tool.',
    'output.text': 'The result of the tool as text, in post contracts.',
    'result.': 'A field of the result of the tool, in post contracts.',
    'metadata.': 'What the caller said beside the arguments.',
    'env.': 'An environment variable of the agent.',
  }),
  operators: list('function', {
    exists: 'true: there is a value; false: there is none.',
    equals: 'The same value.',
    not_equals: 'Another value.',
    in: 'One of the list.',
    not_in: 'None of the list.',
    contains: 'The text holds this text.',
    contains_any: 'The text holds one of these texts.',
    starts_with: 'The text begins so.',
    ends_with: 'The text ends so.',
    matches: 'The text matches this pattern.',
    matches_any: 'The text matches one of these patterns.',
    gt: 'Greater than this number.',
    gte: 'This number or greater.',
    lt: 'Less than this number.',
    lte: 'This number or less.',
  }),
  head: list('keyword', {
    name: 'The name under which it is deployed.',
    description: 'What it is for.',
  }),
} as const;

const deny = { deny: 'The call is refused.' };
const effects = list('constant', {
  ...deny,
  approve: 'A person is asked.',
  warn: 'The agent is told, in post contracts.',
  redact: 'What matched is taken out of the result, in post contracts.',
});
const types = list('constant', {
  pre: 'Looks before a call.',
  post: 'Looks at the result of a call.',
  session: 'Looks at the counters of a session.',
  sandbox: 'Looks at what arguments may reach.',
});
const modes = list('constant', { enforce: 'It acts.', observe: 'It only records.' });
const flags = list('constant', { true: 'Yes.', false: 'No.' });

/** What may stand behind a key. */
export const values: { readonly [key: string]: readonly RuleWord[] } = {
  effect: effects,
  outside: effects.filter(({ word }) => word === 'deny' || word === 'approve'),
  action: list('constant', {
    block: 'The call is refused.',
    ask: 'A person is asked.',
    warn: 'The agent is told, of results.',
    redact: 'What matched is taken out of the result.',
  }),
  timeout_effect: list('constant', { ...deny, allow: 'The call is made.' }),
  mode: modes,
  type: types,
  enabled: flags,
  exists: flags,
  apiVersion: list('constant', { 'service/v1': 'The version of the language.' }),
  kind: list('constant', { ContractBundle: 'A bundle of contracts.', Ruleset: 'A ruleset.' }),
};

const all: readonly RuleWord[] = [...Object.values(groups), ...Object.values(values)].flat();

/** What a word says, as it stands in a text: `args.path` is explained by `args.`. */
export const explained = (text: string): RuleWord | undefined =>
  all.find(({ word }) => word === text) ??
  all.find(({ word }) => word.endsWith('.') && text.startsWith(word) && text.length > word.length);

/** The keys around the place behind `before`, from the outermost; by the columns in which they stand. */
function keysAround(before: string): string[] {
  const lines = before.split('\n');
  const last = lines.pop() ?? '';
  const open = /([\w.]+)\s*:\s*\{[^{}]*$/.exec(last);
  const own = open ? last.slice(0, open.index) : last;
  const keys = open ? [open[1] ?? ''] : [];
  // A dash belongs to what the list is of.
  let column = own.search(/[^\s-]|$/);
  for (let at = lines.length - 1; at >= 0 && column > 0; at -= 1) {
    const found = /^([\s-]*)([\w.]+)\s*:\s*(?:#.*)?$/.exec(lines[at] ?? '');
    if (!found || (found[1] ?? '').length >= column) continue;
    column = (found[1] ?? '').length;
    keys.unshift(found[2] ?? '');
  }
  return keys;
}

const lastLine = (text: string): string => text.slice(text.lastIndexOf('\n') + 1);

/** The key whose value ends the line; undefined where none does. */
const keyBefore = (line: string): string | undefined =>
  /(?:^|[\s{,-])([\w.]+)\s*:\s+(?:\[[^\]]*)?["']?[\w.*/-]*$/.exec(line)?.[1];

const isComment = (line: string): boolean => /^\s*#|\s#/.test(line);
const isToolKey = (key: string | undefined): boolean => key === 'tool' || key === 'tools';

/** True where the name of a tool has been begun at the end of `before`. */
export function namesTool(before: string): boolean {
  const line = lastLine(before);
  return !isComment(line) && /[\w.*/-]$/.test(line) && isToolKey(keyBefore(line));
}

/** The words that may stand at the end of `before`; empty where the text is the writer's own. */
export function offeredAt(before: string, tools: readonly string[] = []): readonly RuleWord[] {
  const line = lastLine(before);
  if (isComment(line)) return [];
  const key = keyBefore(line);
  if (isToolKey(key))
    return tools.map((word) => ({ word, kind: 'constant', says: 'A tool that agents called.' }));
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
