// The words of the rule language that the editor offers and explains. docs/rule-language.md is the reference.

export interface RuleWord {
  readonly word: string;
  readonly kind: 'keyword' | 'function' | 'variable' | 'constant';
  readonly says: string;
}

const list = (kind: RuleWord['kind'], entries: { readonly [word: string]: string }): RuleWord[] =>
  Object.entries(entries).map(([word, says]) => ({ word, kind, says }));

export const words: readonly RuleWord[] = [
  ...list('keyword', {
    apiVersion: 'The version of the language: service/v1.',
    kind: 'What the document is: ContractBundle.',
    metadata: 'The name and description of the bundle.',
    defaults: 'The mode of contracts that name none.',
    contracts: 'The contracts, in the order in which they are looked at.',
    id: 'The name of the contract, once in a bundle.',
    type: 'pre looks before a call, post at its result, session at counters, sandbox at what arguments may reach.',
    tool: 'The tool it looks at; * for all, patterns such as read_*.',
    when: 'The condition under which it fires.',
    then: 'What happens when it fires: effect, message, tags.',
    effect: 'deny refuses the call, approve asks a person, warn and redact belong to post contracts.',
    message: 'What the agent and the audit log are told. {args.path} puts in a value.',
    tags: 'Words to find it by.',
    mode: 'enforce acts; observe only records what would have happened.',
    timeout: 'Seconds that a person has to decide.',
    timeout_effect: 'deny or allow, when nobody decides in time.',
    limits: 'Counters of a session: max_tool_calls, max_attempts, max_calls_per_tool.',
    within: 'Folders that paths must be inside of.',
    allows: 'Commands and domains that are allowed.',
    all: 'True when every condition in the list is.',
    any: 'True when one condition in the list is.',
    not: 'True when the condition is not.',
  }),
  ...list('function', {
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
  ...list('variable', {
    'args.': 'An argument of the call, such as args.path.',
    'principal.role': 'The role of who the call is made for.',
    'principal.user_id': 'Who the call is made for.',
    environment: 'Where the agent runs: production, staging, development.',
    'output.text': 'The result of the tool, in post contracts.',
    'metadata.': 'What the caller said beside the arguments.',
  }),
  ...list('constant', {
    enforce: 'It acts.',
    observe: 'It only records.',
    deny: 'The call is refused.',
    approve: 'A person is asked.',
  }),
];
