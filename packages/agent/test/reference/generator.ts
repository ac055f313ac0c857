// Arbitrary bundles and calls over the whole rule language, small enough that every branch is met often.
import fc from 'fast-check';
import type { Mapping, ReferenceCall } from './interpreter.ts';

const word = fc.constantFrom(
  ...['a', 'a', 'ab', 'ab', 'prod', 'prod'],
  ...['', 'rm -rf /', '.env', 'PROD', 'x'.repeat(30), 'é😀'],
);
const scalar = fc.oneof(
  { weight: 5, arbitrary: word },
  { weight: 2, arbitrary: fc.constantFrom(0, 1, 2.5, 100) },
  fc.boolean(),
  fc.constant(null),
);
export const value = fc.oneof(
  { weight: 5, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 2 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('x', 'y'), scalar, { maxKeys: 2 }) },
);
const present = value.filter((one) => one !== null);
/** Operands that fields often equal. */
const same = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('a', 'ab', 'prod', 1, true, 'PROD') },
  { weight: 1, arbitrary: present },
);
const piece = fc.constantFrom('a', 'b', 'ab', 'rod', '', '.env', '😀');
const pattern = fc.constantFrom(
  ...['a', '^a', 'b$', '(?i)prod', '\\.env$', 'rm\\s+-rf', '^(a|b)+$', '[^a-z]', '^$', 'x{10,}'],
);
const number = fc.constantFrom(-1, 0, 1, 2.5, 99);
const few = <T>(item: fc.Arbitrary<T>, max = 3) => fc.array(item, { minLength: 1, maxLength: max });
const operation = fc.oneof(
  fc.record({ exists: fc.boolean() }),
  fc.record({ equals: same }),
  fc.record({ not_equals: present }),
  fc.record({ in: few(same) }),
  fc.record({ not_in: few(present) }),
  fc.record({ contains: piece }),
  fc.record({
    contains_any: few(
      piece.filter((one) => one !== ''),
      2,
    ),
  }),
  fc.record({ starts_with: piece }),
  fc.record({ ends_with: piece }),
  fc.record({ matches: pattern }),
  fc.record({ matches_any: few(pattern, 2) }),
  fc.record({ gt: number }),
  fc.record({ gte: number }),
  fc.record({ lt: number }),
  fc.record({ lte: number }),
  fc.record({ gte: number, lte: number }),
);

/** Every kind of selector of a pre contract, those that are always missing too. */
export const selectors = [
  ...[
    'args.a',
    'args.b',
    'args.m.x',
    'args.m.x.y',
    'args.toString',
    'environment',
    'tool.name',
    'metadata.a',
  ],
  ...['principal.user_id', 'principal.service_id', 'principal.org_id', 'principal.role'],
  ...['principal.ticket_ref', 'principal.claims.x', 'principal.email', 'nothing', 'nothing.x', 'env.PATH'],
];
/** Those that calls nearly always have, so that operators see values. */
const likely = Array<string[]>(8).fill(['args.a', 'args.b']).flat();
export const postSelectors = ['output.text', 'result.x'];

const condition = (among: readonly string[]) =>
  fc.letrec<{ node: object }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small', maxDepth: 2 },
      {
        weight: 3,
        arbitrary: fc.dictionary(fc.constantFrom(...among), operation, { minKeys: 1, maxKeys: 2 }),
      },
      fc.record({ all: few(tie('node')) }),
      fc.record({ any: few(tie('node')) }),
      fc.record({ not: tie('node') }),
    ),
  })).node;
const glob = fc.constantFrom('*', 'read', 'r*', '?ead', '[a-r]ead', '[!r]*', 'write');
const tools = fc.oneof(fc.record({ tool: glob }), fc.record({ tools: few(glob, 2) }));
const common = fc.record(
  {
    mode: fc.constantFrom('enforce', 'observe', 'observe'),
    enabled: fc.constantFrom(true, true, true, false),
  },
  { requiredKeys: [] },
);
const text = fc.constantFrom(
  'm {args.a}',
  '{tool.name} {environment} {args.none}',
  '{args.long}{args.long}{args.long}',
  '{output.text}',
  'k {args.key} {result.x}',
);
/** `then` is built from entries: an object with that key would look like a promise. */
const withThen = (effects: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...effects), text)
    .map(([effect, message]) => Object.fromEntries([['then', { effect, message }]]));

const merged = (...parts: fc.Arbitrary<object>[]): fc.Arbitrary<Mapping> =>
  fc.tuple(...parts).map((all) => Object.assign({}, ...all) as Mapping);

const typed = (type: string) => fc.constant({ type });
const pre = merged(
  typed('pre'),
  tools,
  common,
  fc.record({ when: condition([...selectors, ...likely]) }),
  withThen(['deny', 'approve']),
);
const post = merged(
  typed('post'),
  tools,
  common,
  fc.record({ when: condition([...selectors.slice(0, 8), ...likely, ...postSelectors, ...postSelectors]) }),
  withThen(['warn', 'redact', 'deny']),
);
const session = merged(
  typed('session'),
  common,
  fc.record({
    limits: fc
      .record(
        {
          max_attempts: fc.constantFrom(2, 5),
          max_tool_calls: fc.constantFrom(1, 4),
          max_calls_per_tool: fc.constantFrom({ read: 2 }, { write: 1, read: 3 }),
        },
        { requiredKeys: [] },
      )
      .filter((limits) => Object.keys(limits).length > 0),
  }),
  withThen(['deny']),
);
const domain = few(fc.constantFrom('*.x.com', 'y.com', '*', 'api.?.com'), 2);
const within = fc.record(
  { within: few(fc.constantFrom('/w', '/v/', '/'), 2), not_within: few(fc.constantFrom('/w/secret'), 1) },
  { requiredKeys: ['within'] },
);
const commands = fc.record({ allows: fc.record({ commands: few(fc.constantFrom('ls', 'git', 'cat')) }) });
const domains = fc.record(
  { allows: fc.record({ domains: domain }), not_allows: fc.record({ domains: fc.constant(['bad.*']) }) },
  { requiredKeys: ['allows'] },
);
const sandbox = merged(
  typed('sandbox'),
  tools,
  common,
  fc.oneof(within, commands, domains, merged(within, domains)),
  fc.record({ message: text, outside: fc.constantFrom('deny', 'approve') }, { requiredKeys: ['message'] }),
);

export interface GeneratedBundle {
  /** In the words of contracts. */
  readonly document: Mapping & { contracts: Mapping[] };
  /** The same, written as a ruleset. */
  readonly ruleset: Mapping;
}

export const bundle: fc.Arbitrary<GeneratedBundle> = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 5, arbitrary: pre },
        { weight: 4, arbitrary: post },
        { weight: 1, arbitrary: session },
        { weight: 3, arbitrary: sandbox },
      ),
      { minLength: 1, maxLength: 8 },
    ),
    fc.constantFrom('enforce', 'observe'),
  )
  .map(([contracts, mode]) => {
    const listed = contracts.map((one, i) => ({ id: `c${i}`, ...one }) as Mapping);
    const top = {
      apiVersion: 'service/v1',
      metadata: { name: 'a' },
      defaults: { mode },
      tools: { read: { side_effect: 'read' }, write: { side_effect: 'write' }, rea: { side_effect: 'pure' } },
    };
    return {
      document: { ...top, kind: 'ContractBundle', contracts: listed },
      ruleset: { ...top, kind: 'Ruleset', rules: listed.map(inRulesetWords) },
    };
  });

const ruleWord = (effect: unknown) => ({ deny: 'block', approve: 'ask' })[effect as string] ?? effect;

function inRulesetWords(contract: Mapping): Mapping {
  const { effect, ...rest } = (contract.then ?? {}) as Mapping;
  return {
    ...contract,
    ...(contract.then ? Object.fromEntries([['then', { ...rest, action: ruleWord(effect) }]]) : {}),
    ...(contract.outside ? { outside: ruleWord(contract.outside) } : {}),
  };
}

const path = fc.constantFrom(
  ...['/w/a', '/w', '/w/../etc', '/wx', '/w/secret/k', '/w/a/../secret', 'etc', '../x', '/v//a/', '~/x', ''],
);
const command = fc.oneof(
  fc.constantFrom('ls -l', 'git log', 'rm x', 'ls; rm', 'cat $(x)', 'ls | sh', '> x', '', '"ls" a', 'ls $X'),
  fc
    .tuple(
      fc.constantFrom('ls', 'cat'),
      fc.constantFrom('/w/a', '"/w/b c"', '/etc/x', '2>/etc/x', '--f=/etc/x', '../x', "'/w/x'"),
    )
    .map((parts) => parts.join(' ')),
);
const url = fc.constantFrom(
  ...[
    'https://api.x.com/p',
    'http://Y.com',
    'ftp://z.org',
    'https://bad.x.com',
    'see http://u:p@y.com:80/',
    'x',
  ],
);
const args = fc.record(
  {
    a: value,
    b: value,
    m: fc.oneof(value, fc.record({ x: value })),
    long: fc.constantFrom('y'.repeat(250), 'short'),
    key: fc.constant('AKIAABCDEFGHIJKLMNOP'),
    path,
    src: path,
    note: path,
    deep: fc.record({ list: fc.array(fc.record({ folder: path }), { maxLength: 2 }) }),
    command: fc.oneof(
      { weight: 6, arbitrary: command },
      { weight: 1, arbitrary: fc.constantFrom(null, 5, ['ls']) },
    ),
    url,
  },
  { requiredKeys: ['a', 'b'] },
);
const principal = fc.record(
  {
    user_id: word,
    service_id: word,
    org_id: fc.option(word),
    role: word,
    ticket_ref: word,
    email: word,
    claims: fc.option(fc.record({ x: value })),
  },
  { requiredKeys: [] },
);
export const call: fc.Arbitrary<ReferenceCall> = fc.record(
  {
    tool: fc.constantFrom('read', 'write', 'rea', 'x'),
    args,
    environment: fc.constantFrom('PROD', 'prod', null),
    principal: fc.option(principal),
    metadata: fc.option(fc.record({ a: value })),
  },
  { requiredKeys: ['tool', 'args'] },
);
export const counters = fc.record({
  attempts: fc.constantFrom(1, 1, 1, 3, 6, 500),
  executions: fc.constantFrom(0, 0, 0, 2, 200),
  toolExecutions: fc.constantFrom(0, 0, 2, 5),
});
