import { describe, expect, it } from 'vitest';
import { operatorNames } from '../../../src/rules/bundle/condition.ts';
import { compileBundle } from '../../../src/rules/evaluate/compile.ts';
import { globMatch } from '../../../src/rules/evaluate/glob.ts';
import { evaluateCall } from '../../../src/rules/evaluate/live.ts';
import { dryRun } from '../../../src/rules/evaluate/playground.ts';
import { traceCondition } from '../../../src/rules/evaluate/trace.ts';
import { cpuMs } from '../../cpu.ts';
import { bundleOf, compiled, preOf } from './rules.ts';

/** Letters without a pattern in them, the same every time. */
function abText(length: number): string {
  let text = '';
  for (let i = 0, seed = 1; i < length; i++) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    text += seed & 65536 ? 'a' : 'b';
  }
  return text;
}

type Fires = 'fires' | 'passes' | 'fault';

function run(when: string, args: Record<string, unknown>, more: object = {}): Fires {
  const decision = evaluateCall(compiled(preOf(when)), { tool: 't', args, ...more });
  return decision.policyError ? 'fault' : decision.verdict === 'deny' ? 'fires' : 'passes';
}

describe('operators', () => {
  // Field values, one column each; F fires, . passes, E is a fault that fires.
  const fields: unknown[] = [
    undefined,
    null,
    '',
    'abc',
    'é😀',
    0,
    1,
    2.5,
    true,
    false,
    [],
    ['abc'],
    {},
    { x: 1 },
  ];
  const table: [string, string][] = [
    //                                        undefined null '' abc é😀 0 1 2.5 true false [] [abc] {} {x:1}
    ['{exists: true}', '..FFFFFFFFFFFF'],
    ['{exists: false}', 'FF............'],
    ['{equals: abc}', '...F..........'],
    ['{equals: 1}', '......F.F.....'],
    ['{equals: 1.0}', '......F.F.....'],
    ['{equals: true}', '......F.F.....'],
    ['{equals: false}', '.....F...F....'],
    ['{equals: [abc]}', '...........F..'],
    ['{equals: {x: 1.0}}', '.............F'],
    ['{equals: {x: true}}', '.............F'],
    ['{equals: ""}', '..F...........'],
    ['{equals: null}', '..............'],
    ['{not_equals: abc}', '..F.FFFFFFFFFF'],
    ['{not_equals: 1}', '..FFFF.F.FFFFF'],
    ['{in: [abc, 1]}', '...F..F.F.....'],
    ['{in: [[], {}]}', '..........F.F.'],
    ['{not_in: [abc, 1]}', '..F.FF.F.FFFFF'],
    ['{contains: b}', '...F.EEEEEEEEE'],
    ['{contains: ""}', '..FFFEEEEEEEEE'],
    ['{contains_any: [z, 😀]}', '....FEEEEEEEEE'],
    ['{starts_with: ab}', '...F.EEEEEEEEE'],
    ['{ends_with: bc}', '...F.EEEEEEEEE'],
    ['{matches: "^[a-c]+$"}', '...F.EEEEEEEEE'],
    ['{matches: "^.{2}$"}', '....FEEEEEEEEE'],
    ['{matches_any: [q, "^$"]}', '..F..EEEEEEEEE'],
    ['{gt: 0}', '..EEE.FFF.EEEE'],
    ['{gte: 1}', '..EEE.FFF.EEEE'],
    ['{lt: 1}', '..EEEF...FEEEE'],
    ['{lte: 1}', '..EEEFF.FFEEEE'],
  ];
  it.each(table)('%s', (operation, expected) => {
    const got = fields.map(
      (field) => ({ fires: 'F', passes: '.', fault: 'E' })[run(`{args.f: ${operation}}`, { f: field })],
    );
    expect(got.join('')).toBe(expected);
  });

  it('are all in the table', () => {
    const named = new Set(table.map(([operation]) => /^\{(\w+):/.exec(operation)?.[1]));
    expect([...named].sort()).toEqual([...operatorNames].sort());
  });

  it('compare big integers as numbers', () => {
    expect(run('{args.f: {equals: 1}}', { f: 1n })).toBe('fires');
    expect(run('{args.f: {in: [true]}}', { f: 1n })).toBe('fires');
    expect(run('{args.f: {gt: 1}}', { f: 2n })).toBe('fires');
  });

  it('round no big integer', () => {
    const operand = 2 ** 53;
    for (const operation of [`{in: [${operand}]}`, `{equals: ${operand}}`]) {
      expect(run(`{args.f: ${operation}}`, { f: BigInt(operand) })).toBe('fires');
      expect(run(`{args.f: ${operation}}`, { f: BigInt(operand) + 1n })).toBe('passes');
      expect(run(`{args.f: ${operation}}`, { f: Number.NaN })).toBe('passes');
    }
    expect(run(`{args.f: {not_in: [${operand}]}}`, { f: BigInt(operand) + 1n })).toBe('fires');
    expect(run(`{args.f: {gt: ${operand}}}`, { f: BigInt(operand) + 1n })).toBe('fires');
  });

  it('takes no numeric text for a number', () => {
    expect(run('{args.f: {gt: 5}}', { f: '10' })).toBe('fault');
  });

  it('reads the whole text with a pattern, however long', () => {
    for (const blanks of [9_999, 10_000, 10_001, 3_000_000]) {
      const f = `${' '.repeat(blanks)}rm -rf /`;
      for (const when of [
        '{matches: "rm -rf"}',
        '{matches: "rm\\\\s+-rf"}',
        '{matches_any: [x, "\\\\brm\\\\b"]}',
      ])
        expect(run(`{args.f: ${when}}`, { f })).toBe('fires');
      expect(run('{args.f: {matches: "^\\\\s*$"}}', { f })).toBe('passes');
    }
  });

  it('faults, and so fires, where a text takes more steps than a condition may', { timeout: 60_000 }, () => {
    const text = abText(200_000);
    const costly = '{args.f: {matches: "[ab]*a[ab]{900}c"}}';
    expect(run(costly, { f: text.slice(0, 2_000) })).toBe('passes');
    expect(run(`{not: ${costly}}`, { f: text })).toBe('fault');
  });

  it('comes to the same result live, dry, traced and after other calls, one step more or less', () => {
    const pre = (id: string, when: string) =>
      `  - {id: ${id}, type: pre, tool: "*", when: ${when}, then: {effect: deny, message: m}}\n`;
    const contracts =
      pre('a', '{args.f: {matches: "[ab]*a[ab]{40}c"}}') +
      pre('b', '{any: [{args.g: {exists: true}}, {args.f: {matches_any: ["\\\\wc", "é+[à-ü]\\\\b"]}}]}') +
      pre('c', '{args.f: {ends_with: never}}');
    const call = { tool: 't', args: { f: `${abText(1_000)}éà漢字` } };
    const warm = compiled(bundleOf(contracts));
    for (let i = 0; i < 40; i++) evaluateCall(warm, { tool: 't', args: { f: `漢é${abText(i * 30)}` } });
    const judge = (bundle: typeof warm, left: number) => {
      const live = evaluateCall(bundle, call, { budget: { left } });
      const dry = dryRun(bundle, call, { steps: left, trace: traceCondition });
      const first = dry.contracts_evaluated.findIndex(({ fired }) => fired);
      expect(live.records.findIndex(({ passed }) => !passed)).toBe(first);
      const faults = dry.contracts_evaluated.map(({ trace }) => trace?.outcome);
      expect(faults.indexOf('fault')).toBe(first);
      return JSON.stringify([live.verdict, live.name, dry.verdict, faults]);
    };
    const results = new Set<string>();
    for (let left = 1_000; left < 1_500_000; left = Math.ceil(left * 1.2)) {
      const result = judge(compiled(bundleOf(contracts)), left);
      expect([left, judge(warm, left)]).toEqual([left, result]);
      results.add(result);
    }
    expect(results.size).toBeGreaterThan(1);
  });

  it('uses custom operators, and fails closed when one throws', () => {
    const options = {
      operators: { even: (field: unknown) => Number(field) % 2 === 0, bad: () => JSON.parse('{') },
    };
    const decide = (operator: string, n: number) =>
      evaluateCall(compiled(preOf(`{args.n: {${operator}: 1}}`), options), { tool: 't', args: { n } });
    expect(decide('even', 2).verdict).toBe('deny');
    expect(decide('even', 3).verdict).toBe('allow');
    const failed = decide('bad', 1);
    expect([failed.verdict, failed.policyError, failed.reason]).toEqual(['deny', true, 'stop']);
    expect(failed.records[0]?.metadata).toMatchObject({
      policy_error: true,
      error_detail: expect.any(String),
    });
  });
});

describe('selectors', () => {
  const call = {
    environment: 'staging',
    principal: {
      user_id: 'u',
      service_id: 's',
      org_id: 'o',
      role: 'r',
      ticket_ref: 'k',
      claims: { a: { b: 1 } },
      email: 'e',
    },
    metadata: { a: { b: 2 } },
  };
  it.each([
    ['environment', '{equals: staging}'],
    ['tool.name', '{equals: t}'],
    ['args.a.b.c', '{equals: 3}'],
    ['args.', '{equals: blank}'],
    ['principal.user_id', '{equals: u}'],
    ['principal.service_id', '{equals: s}'],
    ['principal.org_id', '{equals: o}'],
    ['principal.role', '{equals: r}'],
    ['principal.ticket_ref', '{equals: k}'],
    ['principal.claims.a.b', '{equals: 1}'],
    ['metadata.a.b', '{equals: 2}'],
  ])('%s is found', (selector, operation) => {
    expect(run(`{${selector}: ${operation}}`, { a: { b: { c: 3 } }, '': 'blank' }, call)).toBe('fires');
  });

  it.each([
    'args',
    'args.list.0',
    'args.a.b.c.d',
    'args.toString',
    'args.a.hasOwnProperty',
    'principal.email',
    'principal.claims',
    'principal.name',
    'env.PATH',
    'env.HOME',
    'metadata',
    'tool',
    'other',
    'other.x',
  ])('%s is missing', (selector) => {
    expect(run(`{${selector}: {exists: true}}`, { list: [1], a: { b: { c: 3 } } }, call)).toBe('passes');
  });

  it('takes production for an absent environment', () => {
    expect(run('{environment: {equals: production}}', {})).toBe('fires');
    expect(run('{environment: {equals: production}}', {}, { environment: null })).toBe('fires');
  });

  it.each([
    ['true', '{equals: true}'],
    ['FALSE', '{equals: false}'],
    ['42', '{equals: 42}'],
    ['-1.5e1', '{equals: -15}'],
    ['text', '{equals: text}'],
    ['', '{equals: ""}'],
    ['NaN', '{equals: NaN}'],
    ['1_000', '{equals: "1_000"}'],
  ])('coerces the variable %s', (text, operation) => {
    const bundle = compiled(preOf(`{env.X: ${operation}}`), {
      env: (name) => (name === 'X' ? text : undefined),
    });
    expect(evaluateCall(bundle, { tool: 't', args: {} }).verdict).toBe('deny');
  });

  it('asks custom selectors, which cannot take a built-in prefix', () => {
    const bundle = compiled(preOf('{repo.owner.name: {equals: acme}}'), {
      selectors: { repo: (call) => ({ owner: { name: call.args.owner } }) },
    });
    expect(evaluateCall(bundle, { tool: 't', args: { owner: 'acme' } }).verdict).toBe('deny');
    expect(evaluateCall(bundle, { tool: 't', args: {} }).verdict).toBe('allow');
    expect(() => compileBundle(preOf('{a: {exists: true}}'), { selectors: { args: () => ({}) } })).toThrow(
      /built in/,
    );
  });
});

describe('expressions', () => {
  it.each([
    ['{all: [{args.a: {equals: 1}}, {args.b: {equals: 2}}]}', 'fires'],
    ['{all: [{args.a: {equals: 1}}, {args.b: {equals: 3}}]}', 'passes'],
    ['{any: [{args.a: {equals: 9}}, {args.b: {equals: 2}}]}', 'fires'],
    ['{any: [{args.a: {equals: 9}}, {args.b: {equals: 9}}]}', 'passes'],
    ['{not: {args.a: {equals: 9}}}', 'fires'],
    ['{not: {args.missing: {equals: 9}}}', 'fires'],
    ['{not: {not: {args.a: {equals: 1}}}}', 'fires'],
    ['{args.a: {gt: 0, lt: 2}}', 'fires'],
    ['{args.a: {gt: 0, lt: 1}}', 'passes'],
    ['{args.a: {equals: 1}, args.b: {equals: 2}}', 'fires'],
    ['{args.a: {equals: 1}, args.b: {equals: 3}}', 'passes'],
    // A fault is met first, or never reached.
    ['{any: [{args.a: {contains: x}}, {args.b: {equals: 2}}]}', 'fault'],
    ['{any: [{args.b: {equals: 2}}, {args.a: {contains: x}}]}', 'fires'],
    ['{all: [{args.b: {equals: 9}}, {args.a: {contains: x}}]}', 'passes'],
    ['{not: {args.a: {contains: x}}}', 'fault'],
  ] as const)('%s', (when, expected) => {
    expect(run(when, { a: 1, b: 2 })).toBe(expected);
  });
});

describe('globs', () => {
  it.each([
    ['*', ['', 'a', 'any/thing'], []],
    ['read_file', ['read_file'], ['Read_file', 'read_file2', 'xread_file', '']],
    ['read_*', ['read_', 'read_file'], ['read', 'xread_']],
    ['*_file', ['_file', 'read_file'], ['read_files']],
    ['mcp__*__read*', ['mcp__github__read', 'mcp____reads'], ['mcp__read']],
    ['a*b*b', ['abb', 'axbxb'], ['ab', 'abx', 'bab']],
    ['ab*ab', ['abab', 'abxab'], ['ab', 'aba']],
    ['*a*b*', ['ab', 'xaxbx'], ['ba', 'a', '']],
    ['**', ['', 'a'], []],
    ['[[[]', ['['], ['[[[', ']']],
    ['a?c', ['abc', 'a?c', 'a😀c'], ['ac', 'abbc']],
    ['[abc]x', ['ax', 'cx'], ['dx', 'x', 'Ax']],
    ['[!abc]x', ['dx', '!x'], ['ax']],
    ['[a-c]x', ['bx'], ['dx', '-x']],
    ['[a-]x', ['-x', 'ax'], ['bx']],
    ['[]]x', [']x'], ['x', '[x']],
    ['[!]]x', ['ax'], [']x']],
    ['[^a]x', ['^x', 'ax'], ['bx']],
    ['[z-a]x', [], ['ax', 'zx']],
    ['[abc', ['[abc'], ['a']],
    ['a[', ['a['], ['a']],
    ['', [''], ['a']],
    ['a.b', ['a.b'], ['axb']],
    ['a+(b)$^|', ['a+(b)$^|'], ['aab']],
    ['аdmin*', ['аdmin1'], ['admin1']],
    ['\\*', ['\\', '\\x'], ['*']],
  ] as [string, string[], string[]][])('%s', (glob, yes, no) => {
    for (const text of yes) expect([text, globMatch(glob, text)]).toEqual([text, true]);
    for (const text of no) expect([text, globMatch(glob, text)]).toEqual([text, false]);
  });

  it('takes little more time for the worst pattern than for a simple one', () => {
    const text = 'a'.repeat(200_000);
    const took = (glob: string) =>
      cpuMs(() => {
        for (let i = 0; i < 5; i++) expect(globMatch(glob, text)).toBe(false);
      });
    took('?*b');
    // Trying every place for every star takes 60 times as long.
    expect(took(`${'*a'.repeat(60)}*b`)).toBeLessThan(20 * (took('?*b') + 5));
  });
});

describe('messages', () => {
  const say = (message: string, args: Record<string, unknown>, options = {}) =>
    evaluateCall(compiled(preOf('{tool.name: {exists: true}}', message), options), { tool: 't', args })
      .reason;

  it.each([
    ['no {args.path} here', { path: '/etc/passwd' }, 'no /etc/passwd here'],
    ['{tool.name} in {environment}', {}, 't in production'],
    ['{args.missing} {nothing} {}', {}, '{args.missing} {nothing} {}'],
    ['{args.n} {args.b} {args.m}', { n: 1.5, b: true, m: { x: [1] } }, '1.5 true {"x":[1]}'],
    ['{args.none}', { none: null }, '{args.none}'],
    ['{env.HOME}', {}, '{env.HOME}'],
    ['{args.k}', { k: 'sk-abcdefghijklmnopqrstuvwx' }, '[REDACTED]'],
    ['{args.k}', { k: 'AKIAABCDEFGHIJKLMNOP' }, '[REDACTED]'],
    ['{args.k}', { k: { token: 'AKIAABCDEFGHIJKLMNOP' } }, '{"token":"[REDACTED]"}'],
    ['{args.{x}}', {}, '{args.{x}}'],
  ])('%s', (message, args, expected) => {
    expect(say(message, args)).toBe(expected);
  });

  it.each([
    ['environment', 'staging'],
    ['tool.name', 't'],
    ['args.a.b', '1'],
    ['principal.user_id', 'u'],
    ['principal.service_id', 's'],
    ['principal.org_id', 'o'],
    ['principal.role', 'r'],
    ['principal.ticket_ref', 'k'],
    ['principal.claims.x', 'c'],
    ['metadata.m', 'true'],
    ['env.HOME', '/root'],
    ['principal.email', '{principal.email}'],
    ['principal.claims', '{principal.claims}'],
    ['output.text', '{output.text}'],
    ['result.x', '{result.x}'],
    ['args', '{args}'],
  ])('shows {%s}', (selector, shown) => {
    const bundle = compiled(preOf('{tool.name: {exists: true}}', `<{${selector}}>`), {
      env: (name) => (name === 'HOME' ? '/root' : undefined),
    });
    const principal = {
      user_id: 'u',
      service_id: 's',
      org_id: 'o',
      role: 'r',
      ticket_ref: 'k',
      claims: { x: 'c' },
    };
    const one = {
      tool: 't',
      args: { a: { b: 1 } },
      environment: 'staging',
      principal,
      metadata: { m: true },
    };
    expect(evaluateCall(bundle, one).reason).toBe(`<${shown}>`);
  });

  it.each([
    ...['sk-abcdefghijklmnopqrst', 'sk-proj-abcdefghijklmnop_qrst', 'AKIAABCDEFGHIJKLMNOP'],
    ...['eyJhbGciOiJIUzI1NiIsInR5cCI6.x', `ghp_${'a'.repeat(36)}`],
    ...['xoxb-1234567890', 'xoxp-1234567890', 'xoxa-1234567890', 'xoxs-1234567890'],
  ])('never shows %s', (secret) => {
    expect(say('{args.k}', { k: secret })).toBe('[REDACTED]');
    expect(
      dryRun(compiled(preOf('{args.k: {exists: true}}', '{args.k}')), { tool: 't', args: { k: secret } })
        .contracts_evaluated[0]?.message,
    ).toBe('[REDACTED]');
  });

  it('cuts values at 200 and messages at 500 characters', () => {
    expect(say('{args.x}', { x: 'a'.repeat(300) })).toBe(`${'a'.repeat(197)}...`);
    expect(say('{args.x}{args.x}{args.x}', { x: 'a'.repeat(300) })).toHaveLength(500);
    expect(say('{args.x}', { x: `${'a'.repeat(196)}😀${'b'.repeat(20)}` })).toBe(`${'a'.repeat(196)}...`);
  });

  it('asks the caller what is secret', () => {
    expect(say('{args.x}', { x: 'hunter2' }, { looksSecret: (text: string) => text === 'hunter2' })).toBe(
      '[REDACTED]',
    );
  });

  it('survives values that cannot be written', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(say('{args.cycle} {args.big}', { cycle, big: 10n })).toBe('{args.cycle} 10');
  });
});

describe('compileBundle', () => {
  it('gives all problems with their places, and nothing half compiled', () => {
    const result = compileBundle(bundleOf('  - {id: a, type: pre}\n  - {id: b, type: pre, tool: t}'));
    expect(result.ok ? [] : result.problems.map((problem) => [problem.contract, problem.line > 5])).toEqual([
      ['a', true],
      ['a', true],
      ['a', true],
      ['b', true],
      ['b', true],
    ]);
  });

  it('keeps what it worked out for a bounded number of tools', () => {
    const bundle = compiled(preOf('{args.a: {exists: true}}'));
    const first = bundle.rulesFor('t');
    expect(bundle.rulesFor('t')).toBe(first);
    for (let i = 0; i < 1_001; i++) bundle.rulesFor(`t${i}`);
    expect(bundle.rulesFor('t')).not.toBe(first);
    expect(bundle.rulesFor('t')).toEqual(first);
  });

  it('leaves out disabled contracts', () => {
    const bundle = compiled(
      preOf('{tool.name: {exists: true}}').replace('type: pre', 'enabled: false, type: pre'),
    );
    expect(evaluateCall(bundle, { tool: 't', args: {} })).toMatchObject({ verdict: 'allow', records: [] });
  });

  it('reads rulesets into the same engine', () => {
    const bundle = compiled(
      'apiVersion: acme/v1\nkind: Ruleset\nmetadata: {name: r}\nrules:\n  - {id: a, type: pre, tools: [x, t], when: {args.p: {contains: .env}}, then: {action: ask, message: m, timeout: 9, timeout_action: allow}}',
    );
    expect(evaluateCall(bundle, { tool: 't', args: { p: 'a.env' } })).toMatchObject({
      verdict: 'approve',
      approval: { timeout: 9, timeoutEffect: 'allow' },
    });
  });
});
