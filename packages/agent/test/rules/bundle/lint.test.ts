// Findings of the linter: contracts that can never match, and what other agents read otherwise.
import { describe, expect, it } from 'vitest';
import { wordDistance } from '../../../src/rules/bundle/distance.ts';
import { type LintOptions, lintBundle } from '../../../src/rules/bundle/lint.ts';

const bundle = (contracts: string, top = ''): string =>
  `apiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: test}\ndefaults: {mode: enforce}\n${top}contracts:\n${contracts}`;
const pre = (when: string, rest = 'id: a, tool: t', effect = 'deny'): string =>
  `  - {${rest}, type: pre, when: ${when}, then: {effect: ${effect}, message: m}}\n`;
const session = (limits: string): string =>
  `  - {id: s, type: session, limits: {${limits}}, then: {effect: deny, message: m}}\n`;
const found = (text: string, options: LintOptions = {}) =>
  lintBundle(text, options).map(({ severity, code, suggestion }) => [severity, code, suggestion]);

describe('parts that compile and can never match', () => {
  const sandbox = (keys: string) => bundle(`  - {id: b, type: sandbox, tool: t, message: m, ${keys}}\n`);
  /** Without what is said of the first sandbox, and of roots. */
  const dead = (text: string) =>
    lintBundle(text)
      .filter(({ code }) => code === 'never-matches')
      .map(({ severity, path, suggestion }) => [severity, path.replace('contracts[0].', ''), suggestion]);

  it.each([
    ['within: [/w], not_within: ["/w/*.env"]', 'not_within[0]', null],
    ['within: [/w], not_within: ["/w/secret/*"]', 'not_within[0]', '/w/secret'],
    ['within: ["/w/**"]', 'within[0]', '/w'],
    ['within: ["*"]', 'within[0]', null],
    ['within: [" /w"]', 'within[0]', '/w'],
    ['within: ["file:///w"]', 'within[0]', '/w'],
    ['within: ["https://x.com"]', 'within[0]', null],
    ['allows: {commands: [ls, git status]}', 'allows.commands[1]', 'git'],
    ['allows: {commands: ["npm*"]}', 'allows.commands[0]', null],
    ['allows: {domains: ["https://api.x.com/v1"]}', 'allows.domains[0]', 'api.x.com'],
    ['allows: {domains: ["x.com:443"]}', 'allows.domains[0]', 'x.com'],
    ['allows: {domains: ["x.com/path"]}', 'allows.domains[0]', 'x.com'],
    ['allows: {domains: ["*.x.com."]}', 'allows.domains[0]', '*.x.com'],
    [
      'allows: {domains: ["*"]}, not_allows: {domains: ["https://evil.com"]}',
      'not_allows.domains[0]',
      'evil.com',
    ],
    ['allows: {domains: ["*.b\u00fccher.de"]}', 'allows.domains[0]', '*.xn--bcher-kva.de'],
  ])('are found in a sandbox: %s', (keys, path, suggestion) => {
    expect(dead(sandbox(keys))).toEqual([['warning', path, suggestion]]);
  });

  it.each([
    ['{args.amount: {gt: 10, lt: 5}}', 'when.args.amount'],
    ['{args.amount: {gt: 5, lte: 5}}', 'when.args.amount'],
    ['{any: [{args.a: {exists: false, equals: x}}]}', 'when.any[0].args.a'],
    ['{"args.items[0].path": {exists: true}}', 'when.args.items[0].path'],
    ['{args..path: {exists: true}}', 'when.args..path'],
    ['{tool.name: {in: ["pay_*"]}}', 'when.tool.name.in'],
    ['{args.a: {equals: }}', 'when.args.a.equals', 'exists: false'],
    ['{args.a: {in: [null, ~]}}', 'when.args.a.in', 'exists: false'],
    ['{env.CI: {equals: "True"}}', 'when.env.CI.equals', 'true'],
    ['{env.N: {in: ["1", "false"]}}', 'when.env.N.in', '[1,false]'],
  ])('are found in a condition: %s', (when, path, suggestion: string | null = null) => {
    expect(dead(bundle(pre(when)))).toEqual([['warning', path, suggestion]]);
  });

  it('are found among tools, which have no name of that kind', () => {
    expect(dead(bundle(pre('{args.a: {exists: true}}', 'id: a, tools: [pay, fs/read]')))).toEqual([
      ['warning', 'tools[1]', null],
    ]);
    expect(dead(bundle(pre('{args.a: {exists: true}}', 'id: a, tool: "pay "')))).toEqual([
      ['warning', 'tool', 'pay'],
    ]);
  });

  it.each([
    ['{all: [{args.n: {gt: 10}}, {args.n: {lt: 5}}]}', 'when.all[1].args.n'],
    [
      '{all: [{args.n: {gt: 10}}, {all: [{args.m: {lt: 5}}, {args.n: {lte: 10}}]}]}',
      'when.all[1].all[1].args.n',
    ],
    ['{all: [{args.n: {equals: 3}}, {args.n: {gt: 5}}]}', 'when.all[1].args.n'],
    ['{all: [{args.n: {in: [1, 2]}}, {args.n: {gte: 3}}]}', 'when.all[1].args.n'],
    ['{all: [{args.s: {equals: a}}, {args.s: {in: [b, c]}}]}', 'when.all[1].args.s'],
    ['{all: [{args.s: {equals: a}}, {args.s: {not_equals: a}}]}', 'when.all[1].args.s'],
    ['{all: [{args.n: {in: [1, 2]}}, {args.n: {not_in: [2, 3, true]}}]}', 'when.all[1].args.n'],
    ['{all: [{args.s: {exists: false}}, {args.s: {contains: b}}]}', 'when.all[1].args.s'],
    ['{not: {all: [{args.n: {gt: 10}}, {args.n: {lt: 5}}]}}', 'when.not.all[1].args.n'],
  ])('are found among conditions that must all hold: %s', (when, path) => {
    expect(dead(bundle(pre(when)))).toEqual([['warning', path, null]]);
  });

  it('are not conditions that some value meets', () => {
    for (const when of [
      '{any: [{args.n: {gt: 10}}, {args.n: {lt: 5}}]}',
      '{all: [{args.n: {gt: 10}}, {args.m: {lt: 5}}]}',
      '{all: [{args.n: {gt: 10}}, {not: {args.n: {lt: 5}}}]}',
      '{all: [{args.n: {equals: 5}}, {args.n: {gte: 5}}]}',
      '{all: [{args.n: {equals: "5"}}, {args.n: {gt: 9}}]}',
      '{all: [{args.n: {in: [1, true]}}, {args.n: {equals: 1.0}}]}',
      '{all: [{args.n: {equals: [1]}}, {args.n: {in: [[1], 2]}}]}',
      '{all: [{args.n: {in: [1, 2]}}, {args.n: {not_equals: 1}}]}',
      '{all: [{args.n: {exists: true}}, {args.n: {gt: 9}}]}',
    ])
      expect(dead(bundle(pre(when)))).toEqual([]);
  });

  it('are not what only looks like them', () => {
    for (const keys of [
      'within: [/w, ., ~/x, "C:\\\\w", "/app/[id]"], not_within: [/w/secret]',
      'allows: {commands: [ls, "[", ./run.sh], domains: ["*.x.com", X.com, "?.y.com", "[ab].z.com", localhost, 10.0.0.1]}',
    ])
      expect(dead(sandbox(keys))).toEqual([]);
    for (const when of [
      '{args.amount: {gte: 5, lte: 5}}',
      '{args.a.0.b: {exists: false}}',
      '{tool.name: {equals: pay}}',
      '{args.text: {matches: "[0]"}}',
      '{args.a: {in: [null, 1]}}',
      '{args.a: {not_equals: null}}',
      '{args.a: {equals: "true"}}',
      '{env.CI: {equals: true}}',
      '{env.N: {in: ["1", one]}}',
      '{tool.name: {matches: "pay_.*"}}',
    ])
      expect(dead(bundle(pre(when)))).toEqual([]);
  });

  it('are fields of what has none', () => {
    expect(found(bundle(pre('{environment.name: {exists: true}}')))).toEqual([
      ['warning', 'unknown-field', 'environment'],
    ]);
    const post =
      '  - {id: a, type: post, tool: t, when: {result: {exists: true}}, then: {effect: warn, message: m}}\n';
    expect(found(bundle(post))).toEqual([['warning', 'bare-selector', null]]);
  });
});

describe('conditions that can never match', () => {
  it.each([
    ['arg.path', 'error', 'unknown-root', 'args'],
    ['argss.path', 'error', 'unknown-root', 'args'],
    ['prinicpla.role', 'error', 'unknown-root', 'principal'],
    ['metdata.x', 'error', 'unknown-root', 'metadata'],
    ['enviroment', 'error', 'unknown-root', 'environment'],
    ['principal.roles', 'error', 'unknown-principal-field', 'principal.role'],
    ['principal.team', 'error', 'unknown-principal-field', 'principal.claims.team'],
    [
      'principal.claims',
      'error',
      'unknown-principal-field',
      'the name of a claim, for example principal.claims.team',
    ],
    ['args', 'error', 'bare-selector', null],
    ['principal', 'error', 'bare-selector', null],
    ['tool', 'error', 'bare-selector', null],
    ['metadata', 'error', 'bare-selector', null],
    ['env', 'error', 'bare-selector', null],
    ['output', 'error', 'bare-selector', null],
    ['ticket.id', 'error', 'unknown-root', null],
    ['time.weekday', 'error', 'unknown-root', null],
    ['path', 'error', 'unknown-root', 'args.path'],
    ['tool.nmae', 'warning', 'unknown-field', 'tool.name'],
  ])('are found: %s', (selector, severity, code, suggestion) => {
    expect(found(bundle(pre(`{${selector}: {equals: x}}`)))[0]?.slice(0, 2)).toEqual([severity, code]);
    expect(found(bundle(pre(`{${selector}: {equals: x}}`)))[0]?.[2]).toBe(suggestion);
  });

  it.each([
    ...['environment', 'tool.name', 'args.a.b', 'principal.role', 'principal.claims.team.x', 'env.CI'],
    ...['metadata.x', 'result.size'],
  ])('do not include %s', (selector) => {
    const contract = `  - {id: a, type: post, tool: t, when: {${selector}: {equals: x}}, then: {effect: warn, message: m}}\n`;
    expect(found(bundle(contract))).toEqual([]);
  });

  it('are found inside all, any and not, with the place', () => {
    const text = bundle(`  - id: deep
    type: pre
    tool: t
    when:
      any:
        - not: { args.x: { equals: 1 } }
        - all:
            - arg.y: { equals: 2 }
    then: { effect: deny, message: m }
`);
    expect(lintBundle(text)).toMatchObject([
      {
        contract: 'deep',
        path: 'contracts[0].when.any[1].all[0].arg.y',
        line: 13,
        column: 15,
        message: 'arg does not exist, so this selector is always missing. Did you mean args?',
      },
    ]);
  });

  it('are not those of selectors and operators that the agents register', () => {
    const text = bundle(pre('{ticket.id: {is_open: true}}'));
    expect(found(text, { selectors: ['ticket'], operators: ['is_open'] })).toEqual([]);
    expect(found(bundle(pre('{arg.id: {equals: 1}}')), { selectors: ['arg'] })).toEqual([]);
  });

  it('compare with a text that is a whole placeholder', () => {
    expect(found(bundle(pre('{args.owner: {equals: "{principal.user_id}"}}')))).toEqual([
      ['error', 'placeholder-operand', null],
    ]);
    expect(found(bundle(pre('{args.owner: {in: [a, "{principal.user_id}"]}}')))).toHaveLength(1);
    expect(found(bundle(pre('{args.owner: {equals: "a {b} c"}}')))).toEqual([]);
  });
});

describe('numbers', () => {
  it.each([
    ['{equals: 9007199254740993}', 1],
    ['{in: [1, -9007199254740993]}', 1],
    ['{gt: 12345678901234567890}', 1],
    ['{gt: 9007199254740993.0}', 1],
    ['{equals: 0x20000000000001}', 1],
    [`{equals: 1.${'0'.repeat(1000)}e300}`, 1],
    ['{gt: 1e18}', 0],
    ['{gt: 1e300}', 0],
    ['{lt: -1.5E+20}', 0],
    ['{lte: 9007199254740992}', 0],
    ['{equals: +0x20000000000002}', 0],
    ['{equals: 0x20000000000002}', 0],
    ['{equals: 9007199254740991}', 0],
    ['{lt: 0.1}', 0],
    ['{equals: "9007199254740993"}', 0],
  ])('%s: whose digits agents do not keep', (operation, count) => {
    expect(found(bundle(pre(`{args.id: ${operation}}`)))).toEqual(
      Array(count).fill(['warning', 'unsafe-number', null]),
    );
  });
});

describe('several conditions in one mapping', () => {
  it.each([
    [
      '{args.a: {equals: 1}, args.b: {lt: 5}}',
      'when.args.b',
      'all: [{args.a: {equals: 1}}, {args.b: {lt: 5}}]',
    ],
    ['{args.a: {gt: 1, lt: 5}}', 'when.args.a.lt', 'all: [{args.a: {gt: 1}}, {args.a: {lt: 5}}]'],
    [
      '{any: [{args.a: {exists: true}}, {not: {environment: {equals: "a b"}, "args.a b": {exists: true}}}]}',
      'when.any[1].not.args.a b',
      'all: [{environment: {equals: "a b"}}, {"args.a b": {exists: true}}]',
    ],
  ])('are errors with the place and the safe form: %s', (when, path, safeForm) => {
    const text = bundle(pre(when));
    expect(lintBundle(text)).toMatchObject([
      { severity: 'error', code: 'several-conditions', path: `contracts[0].${path}`, suggestion: safeForm },
    ]);
    expect(lintBundle(text)[0]?.message).toContain(`Did you mean ${safeForm}?`);
  });

  it('are not one condition, and no list of them', () => {
    for (const when of ['{args.a: {gt: 1}}', '{all: [{args.a: {gt: 1}}, {not: {args.b: {lt: 5}}}]}'])
      expect(found(bundle(pre(when)))).toEqual([]);
  });

  it('are shortened where they are long', () => {
    const many = Array.from({ length: 40 }, (_, i) => `args.a${i}: {equals: "${'x'.repeat(90)}"}`).join(', ');
    const [finding] = lintBundle(bundle(pre(`{${many}}`)));
    expect(finding?.suggestion).toMatch(/^all: \[\{args\.a0: \{equals: …\}\}, .*, …\]$/);
    expect(finding?.suggestion?.length).toBeLessThan(300);
  });
});

describe('contracts in each other’s way', () => {
  const both = (refused: string, asked: string, [tool, other] = ['pay', 'pay']) =>
    found(
      bundle(pre(refused, `id: no, tool: "${tool}"`) + pre(asked, `id: ask, tool: "${other}"`, 'approve')),
    );
  const vain = ['warning', 'refused-and-asked', null];
  const when = '{all: [{args.n: {gt: 1}}, {args.m: {lt: 2}}]}';

  it('refuse what another one asks about', () => {
    expect(both(when, when)).toEqual([vain]);
    expect(both(when, '{all: [{args.m: {lt: 2}}, {args.n: {gt: 1}}]}')).toEqual([vain]);
    expect(both(when, when, ['p*', 'pay'])).toEqual([vain]);
  });

  it('are not those for other calls', () => {
    expect(both(when, '{args.n: {gt: 1}}')).toEqual([]);
    expect(both(when, when, ['pay', 'p*'])).toEqual([]);
    expect(
      found(
        bundle(pre(when, 'id: no, mode: observe, tool: pay') + pre(when, 'id: ask, tool: pay', 'approve')),
      ),
    ).toEqual([]);
  });
});

describe('placeholders of messages', () => {
  const message = (text: string, type = 'pre') =>
    found(
      bundle(
        type === 'pre'
          ? `  - {id: a, type: pre, tool: t, when: {args.path: {exists: true}}, then: {effect: deny, message: "${text}"}}\n`
          : `  - {id: a, type: sandbox, tool: t, within: [/w], message: "${text}"}\n`,
      ),
    ).filter(([severity]) => severity !== 'notice');

  it.each([
    ['{args.pth}', '{args.path}'],
    ['{arg.path}', '{args.path}'],
    ['{principal.rol}', '{principal.role}'],
    ['{principal.team}', '{principal.claims.team}'],
    ['{tool}', null],
    ['{tool.title}', '{tool.name}'],
    ['{time.weekday}', null],
    ['{enviroment}', '{environment}'],
  ])('that nothing fills are found: %s', (text, suggestion) => {
    expect(message(`no ${text} here`)).toEqual([['warning', 'message-placeholder', suggestion]]);
  });

  it('that are filled, and other words in braces, are not', () => {
    const good =
      '{args.path} {args.other.name} {tool.name} {environment} {principal.role} {principal.claims.a.b} {env.CI} {metadata.x} {json} {a b} {}';
    expect(message(good)).toEqual([]);
    expect(message('{args.file_path}', 'sandbox')).toEqual([]);
    expect(message('{principal.roles}', 'sandbox')).toHaveLength(1);
  });
});

describe('what chooses nobody and names nothing', () => {
  it('is a list of approvers in metadata', () => {
    const contract = `  - {id: a, type: pre, tool: t, when: {args.a: {exists: true}}, then: {effect: approve, message: m, metadata: {approvers: [ann]}}}\n`;
    expect(lintBundle(bundle(contract))).toMatchObject([
      { severity: 'warning', code: 'approver-metadata', path: 'contracts[0].then.metadata.approvers' },
    ]);
  });

  it('is a timeout of an approval that no hub waits', () => {
    const of = (contract: string) => {
      const findings = lintBundle(bundle(`  - {id: a, tool: t, ${contract}}\n`));
      return findings
        .filter(({ code }) => code === 'approval-timeout')
        .map(({ severity, path }) => [severity, path]);
    };
    const pre = (effect: string, timeout: number) =>
      `type: pre, when: {args.a: {exists: true}}, then: {effect: ${effect}, message: m, timeout: ${timeout}}`;
    expect(of(pre('approve', 86_401))).toEqual([['warning', 'contracts[0].then.timeout']]);
    expect(of(pre('approve', 86_400))).toEqual([]);
    expect(of(pre('deny', 86_401))).toEqual([]);
    const sandbox = (outside: string) =>
      `type: sandbox, within: [/w], message: m, outside: ${outside}, timeout: 100000`;
    expect(of(sandbox('approve'))).toEqual([['warning', 'contracts[0].timeout']]);
    expect(of(sandbox('deny'))).toEqual([]);
    const ruleset = `apiVersion: service/v1\nkind: Ruleset\nmetadata: {name: test}\nrules:\n  - {id: a, ${pre('ask', 90_000).replace('effect', 'action')}, tool: t}\n`;
    expect(lintBundle(ruleset)).toMatchObject([{ code: 'approval-timeout', path: 'rules[0].then.timeout' }]);
  });

  it('is a tool one letter beside a declared one', () => {
    const tools = 'tools: {read_file: {side_effect: read}, tool_1: {side_effect: read}}\n';
    const of = (tool: string) => found(bundle(pre('{args.x: {equals: 1}}', `id: a, tool: ${tool}`), tools));
    expect(of('red_file')).toEqual([['error', 'unknown-tool', 'read_file']]);
    expect(of('raed_file')).toEqual([['error', 'unknown-tool', 'read_file']]);
    for (const tool of ['read_file', 'write_file', 'tool_2', '"read_fil?"', 'exec'])
      expect(of(tool)).toEqual([]);
  });

  it('is no tool that a declared glob matches or resembles', () => {
    const tools = 'tools: {"run_*": {side_effect: read}, "send-?": {side_effect: write}}\n';
    const contracts = ['run_x', 'run_', 'send-a', 'send']
      .map((tool) => pre('{args.x: {equals: 1}}', `id: ${tool}, tool: ${tool}`))
      .join('');
    expect(found(bundle(contracts, tools))).toEqual([]);
    expect(found(bundle(contracts), { tools: ['run_*', 'send-?'] })).toEqual([]);
    expect(found(bundle(contracts), { tools: ['run_*', 'run_y', 'send-?'] })).toEqual([]);
  });
});

describe('limits per tool', () => {
  it('name a tool that is declared or used', () => {
    const tools = 'tools: {pay: {side_effect: write}}\n';
    expect(found(bundle(session('max_calls_per_tool: {pay: 3}'), tools))).toEqual([]);
    expect(
      found(
        bundle(
          pre('{args.x: {equals: 1}}', 'id: a, tool: send_mail') +
            session('max_calls_per_tool: {send_mail: 3}'),
        ),
      ),
    ).toEqual([]);
  });

  it('that are nearly a known name are errors, other unknown ones warnings', () => {
    const text = (key: string) =>
      bundle(
        pre('{args.x: {equals: 1}}', 'id: a, tool: send_mail') + session(`max_calls_per_tool: {${key}: 3}`),
      );
    expect(found(text('send_mial'))).toEqual([['error', 'unknown-tool', 'send_mail']]);
    expect(found(text('sendmails'))).toEqual([['error', 'unknown-tool', 'send_mail']]);
    expect(found(text('sned_mial'))).toEqual([['error', 'unknown-tool', 'send_mail']]);
    expect(found(text('transfer'))).toEqual([['warning', 'unknown-tool', null]]);
    // A word of two letters is two letters away from every other.
    const short = (tool: string, key: string) =>
      bundle(
        pre('{args.x: {equals: 1}}', `id: a, tool: ${tool}`) + session(`max_calls_per_tool: {${key}: 3}`),
      );
    expect(found(short('pay', 'apy'))).toEqual([['error', 'unknown-tool', 'pay']]);
    expect(found(short('pay', 'buy'))).toEqual([['error', 'unknown-tool', 'pay']]);
    expect(found(short('cp', 'ls'))).toEqual([['warning', 'unknown-tool', null]]);
    expect(found(text('"mcp_*"'))).toEqual([['warning', 'glob-key', null]]);
  });
});

describe('what released clients read otherwise', () => {
  it('is a limit above the built-in one, which they only lower', () => {
    const text = (limits: string) => bundle(session(limits));
    expect(found(text('max_tool_calls: 200, max_attempts: 500'))).toEqual([]);
    expect(found(text('max_tool_calls: 201'))).toEqual([['notice', 'built-in-limit', null]]);
    expect(found(text('max_attempts: 501'))).toEqual([['notice', 'built-in-limit', null]]);
  });

  const post = (effect: string, tool: string) =>
    `  - {id: p, type: post, tool: ${tool}, when: {output.text: {contains: x}}, then: {effect: ${effect}, message: m}}\n`;

  it('is redact and deny after a tool that nobody declared, or that is declared to write', () => {
    const tools = 'tools: {r: {side_effect: read}, w: {side_effect: write}}\n';
    expect(found(bundle(post('redact', 'x'), tools))).toEqual([['warning', 'undeclared-tool', null]]);
    expect(found(bundle(post('deny', '"*"'), tools))).toEqual([['warning', 'undeclared-tool', null]]);
    expect(found(bundle(post('deny', 'r'), tools))).toEqual([]);
    expect(found(bundle(post('warn', 'x'), tools))).toEqual([]);
    expect(found(bundle(post('redact', 'w'), tools))).toEqual([['warning', 'declared-writing-tool', null]]);
  });

  const sandboxed = ['notice', 'sandbox-arguments', null];
  it('is what sandboxes judge, said once', () => {
    const box = (id: string) => `  - {id: ${id}, type: sandbox, tool: x, within: [/w], message: m}\n`;
    expect(found(bundle(box('a') + box('b')))).toEqual([sandboxed]);
  });

  it('is a program that a sandbox lists without a profile, or that runs others', () => {
    const box = (commands: string) =>
      bundle(`  - {id: a, type: sandbox, tool: x, allows: {commands: [${commands}]}, message: m}\n`);
    expect(found(box('ls, git'))).toEqual([sandboxed]);
    expect(found(box('ls, ship'))).toEqual([sandboxed, ['notice', 'program_without_profile', null]]);
    expect(found(box('bash'))).toEqual([sandboxed, ['notice', 'unisolated_program', null]]);
    const commandProfiles = { ship: { operands: ['path'] } } as const;
    expect(lintBundle(box('ls, ship'), { commandProfiles }).map(({ code }) => code)).toEqual([
      'sandbox-arguments',
    ]);
  });

  it('is whatever may refuse after something that asks', () => {
    const ask = pre('{args.n: {gt: 1}}', 'id: ask, tool: pay', 'approve');
    const never = pre('{args.n: {gt: 9}}', 'id: never, tool: "p*"');
    const box = '  - {id: box, type: sandbox, tool: "*", within: [/w], message: m}\n';
    const other = pre('{args.n: {gt: 9}}', 'id: other, tool: read');
    const expected = [['warning', 'refusal-after-ask', null]];
    expect(found(bundle(ask + never))).toEqual(expected);
    expect(found(bundle(never + ask))).toEqual([]);
    // No other place in the document would bring these before what asks.
    const fixed = [['notice', 'refusal-after-ask', null]];
    expect(found(bundle(box + ask))).toEqual([sandboxed, ...fixed]);
    expect(found(bundle(ask + session('max_tool_calls: 5')))).toEqual(fixed);
    const asking = box.replace('message', 'outside: approve, message').replace('id: box', 'id: asks');
    expect(found(bundle(asking + box))).toContainEqual(['warning', 'refusal-after-ask', null]);
    expect(found(bundle(ask + other))).toEqual([]);
    expect(lintBundle(bundle(ask + never + box))[0]?.message).toMatch(/'never', 'box'.*Put 'never' first\.$/);
  });

  it('is found in rulesets by their own words', () => {
    const text = `apiVersion: service/v1\nkind: Ruleset\nmetadata: {name: test}\nrules:
  - {id: ask, type: pre, tool: t, when: {args.n: {gt: 1}}, then: {action: ask, message: m}}
  - {id: no, type: pre, tool: t, when: {args.n: {gt: 9}}, then: {action: block, message: m}}
`;
    expect(found(text)).toEqual([['warning', 'refusal-after-ask', null]]);
  });
});

describe('linting', () => {
  it('says nothing of a text that is not valid, and of contracts that are off', () => {
    expect(lintBundle('nonsense: [')).toEqual([]);
    expect(found(bundle(pre('{arg.x: {equals: 1}}', 'id: a, tool: t, enabled: false')))).toEqual([]);
  });

  it('is bounded', () => {
    const many = Array.from({ length: 100 }, (_, i) =>
      pre('{args.x: {equals: 1}, arg.x: {equals: 1}, arg.y: {equals: 1}}', `id: a${i}, tool: t`),
    );
    expect(lintBundle(bundle(many.join('')))).toHaveLength(100);
  });

  it('contains the errors of a document, however many warnings stand before them', () => {
    const warned = Array.from({ length: 60 }, (_, i) =>
      pre('{any: [{result: {equals: 1}}, {result: {equals: 2}}]}', `id: a${i}, tool: t`),
    ).join('');
    const found = lintBundle(bundle(`${warned}${pre('{arg.x: {equals: 1}}', 'id: last, tool: t')}`));
    expect(found).toHaveLength(100);
    expect(found.map(({ contract, severity }) => [contract, severity]).slice(-2)).toEqual([
      ['a49', 'warning'],
      ['last', 'error'],
    ]);
  });

  it('measures words by letters inserted, removed, replaced and swapped', () => {
    expect(wordDistance('args', 'arg', 2)).toBe(1);
    expect(wordDistance('mial', 'mail', 2)).toBe(1);
    expect(wordDistance('read', 'send', 2)).toBe(2);
    expect(wordDistance('read', 'transfer', 2)).toBe(3);
  });
});
