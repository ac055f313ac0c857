import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBundle } from '../../../src/domain/bundle/document.ts';
import { compileBundle } from '../../../src/domain/evaluate/compile.ts';
import { composeDocuments } from '../../../src/domain/evaluate/layers.ts';
import { attemptDecision, evaluateCall } from '../../../src/domain/evaluate/live.ts';
import { dryRun, evaluateYaml } from '../../../src/domain/evaluate/playground.ts';
import { evaluatePost } from '../../../src/domain/evaluate/post.ts';
import { bundleOf, compiled, preOf } from './rules.ts';

const always = 'when: {tool.name: {exists: true}}';
const pre = (id: string, rest = '', effect = 'deny') =>
  `  - {id: ${id}, type: pre, tool: "*", ${rest} ${always}, then: {effect: ${effect}, message: "${id} says {args.x}", tags: [t-${id}]}}\n`;
const call = { tool: 't', args: { x: 'hello' } };
const counters = (attempts: number, executions = 0, toolExecutions = 0) => ({
  attempts,
  executions,
  toolExecutions,
});

describe('evaluateCall', () => {
  it('stops at the first enforced contract that fires, and records what came before', () => {
    const bundle = compiled(bundleOf(pre('a', 'mode: observe,') + pre('b') + pre('c')));
    expect(evaluateCall(bundle, call)).toEqual({
      verdict: 'deny',
      source: 'yaml_precondition',
      name: 'b',
      reason: 'b says hello',
      approval: null,
      mode: 'enforce',
      sideEffect: 'irreversible',
      records: [
        {
          name: 'a',
          type: 'precondition',
          passed: false,
          message: 'a says hello',
          observed: true,
          metadata: { tags: ['t-a'] },
        },
        {
          name: 'b',
          type: 'precondition',
          passed: false,
          message: 'b says hello',
          metadata: { tags: ['t-b'] },
        },
      ],
      shadows: [],
      policyError: false,
    });
  });

  it('asks for approval with the contract’s own terms', () => {
    expect(evaluateCall(compiled(bundleOf(pre('a', '', 'approve'))), call)).toMatchObject({
      verdict: 'approve',
      name: 'a',
      approval: { timeout: 300, timeoutEffect: 'deny' },
    });
  });

  it('evaluates pre contracts before sandboxes, whatever their order', () => {
    const box = '  - {id: box, type: sandbox, tool: t, within: [/w], message: m}\n';
    const bundle = compiled(bundleOf(box + pre('a')));
    expect(evaluateCall(bundle, { tool: 't', args: { path: '/etc' } }).name).toBe('a');
  });

  it('counts attempts before anything else', () => {
    const bundle = compiled(
      bundleOf(
        `${pre('a')}  - {id: s, type: session, limits: {max_attempts: 3}, then: {effect: deny, message: m}}`,
      ),
    );
    expect(evaluateCall(bundle, call, { counters: counters(2) }).name).toBe('a');
    expect(evaluateCall(bundle, call, { counters: counters(3) })).toMatchObject({
      source: 'attempt_limit',
      name: 'max_attempts',
    });
    expect(attemptDecision(bundle, call, counters(2))).toBeNull();
    expect(evaluateCall(bundle, call, { counters: counters(3), attemptsChecked: true }).name).toBe('a');
  });

  it('has limits of its own when no session contract is written', () => {
    const bundle = compiled(preOf('{args.none: {exists: true}}'));
    expect(evaluateCall(bundle, call, { counters: counters(499, 199) }).verdict).toBe('allow');
    expect(evaluateCall(bundle, call, { counters: counters(500, 0) }).source).toBe('attempt_limit');
    expect(evaluateCall(bundle, call, { counters: counters(1, 200) })).toMatchObject({
      source: 'operation_limit',
      name: 'max_tool_calls',
    });
    expect(evaluateCall(bundle, call).verdict).toBe('allow');
  });

  it('merges session limits to the lowest, and denies also with an observing one', () => {
    const session = (id: string, limits: string, rest = '') =>
      `  - {id: ${id}, type: session, ${rest} limits: {${limits}}, then: {effect: deny, message: "${id} {tool.name}"}}\n`;
    const bundle = compiled(
      bundleOf(
        session('a', 'max_tool_calls: 50') +
          session('b', 'max_tool_calls: 5, max_calls_per_tool: {t: 2}', 'mode: observe,') +
          session('off', 'max_tool_calls: 1', 'enabled: false,'),
      ),
    );
    expect(bundle.limits).toEqual({
      maxAttempts: 500,
      maxToolCalls: 5,
      maxCallsPerTool: new Map([['t', 2]]),
    });
    expect(evaluateCall(bundle, call, { counters: counters(9, 5) })).toMatchObject({
      verdict: 'deny',
      source: 'yaml_session',
      name: 'a',
      reason: 'a {tool.name}',
    });
    expect(evaluateCall(bundle, call, { counters: counters(9, 4, 2) })).toMatchObject({
      source: 'operation_limit',
      name: 'max_calls_per_tool:t',
      reason: 'Per-tool limit: t called 2 times (limit: 2).',
    });
    expect(evaluateCall(bundle, { ...call, tool: 'u' }, { counters: counters(9, 4, 9) }).verdict).toBe(
      'allow',
    );
  });

  it.each(['', 'a/b', 'a\\b', 'a\nb', 'a\u2028b', 7 as never])('refuses the tool name %j', (tool) => {
    expect(evaluateCall(compiled(bundleOf(pre('a', 'mode: observe,'))), { tool, args: {} })).toMatchObject({
      verdict: 'deny',
      source: 'invalid_call',
      policyError: true,
    });
  });

  it('fires when the budget is spent, rather than letting a call through', () => {
    const bundle = compiled(preOf('{args.x: {contains_any: [a, b, c]}}'));
    const decision = evaluateCall(
      bundle,
      { tool: 't', args: { x: 'z'.repeat(100_000) } },
      { budget: { left: 100 } },
    );
    expect([decision.verdict, decision.policyError]).toEqual(['deny', true]);
  });

  it('never throws and never lets an unreadable call through', () => {
    const bundle = compiled(
      bundleOf(
        `${pre('a', 'mode: observe,')}  - {id: b, type: pre, tool: "*", when: {args.x.y: {contains: z}}, then: {effect: deny, message: "{args.x}"}}\n  - {id: c, type: sandbox, tool: "*", within: [/w], allows: {commands: [ls], domains: [a.com]}, message: m}\n  - {id: d, type: post, tool: "*", when: {output.text: {matches: x}, result.a.b: {gt: 1}}, then: {effect: redact, message: m}}`,
        'tools: {t: {side_effect: read}}',
      ),
    );
    const bomb = {
      get tool(): string {
        throw new Error('no');
      },
      args: {},
    };
    expect(evaluateCall(bundle, bomb).verdict).toBe('deny');
    const throwing = {
      get x(): string {
        throw new Error('no');
      },
    };
    expect(evaluateCall(bundle, { tool: 't', args: throwing })).toMatchObject({
      verdict: 'deny',
      policyError: true,
    });
    const deep: Record<string, unknown> = {};
    let at = deep;
    for (let i = 0; i < 50_000; i++) {
      const next = {};
      at.x = next;
      at = next;
    }
    expect(['allow', 'deny']).toContain(evaluateCall(bundle, { tool: 't', args: deep }).verdict);
    const anyCall = fc.record(
      {
        tool: fc.anything(),
        args: fc.anything(),
        environment: fc.anything(),
        principal: fc.anything(),
        metadata: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(anyCall, fc.anything()), fc.anything(), (one, output) => {
        expect(['allow', 'deny', 'approve']).toContain(
          evaluateCall(bundle, one as never, { counters: counters(1) }).verdict,
        );
        expect(evaluatePost(bundle, one as never, output).warnings).toBeInstanceOf(Array);
      }),
      { numRuns: 3_000 },
    );
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom('t')),
        fc.dictionary(fc.string(), fc.anything()),
        fc.anything(),
        (tool, args, output) => {
          expect(['allow', 'deny', 'warn']).toContain(dryRun(bundle, { tool, args }, { output }).verdict);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

describe('compileBundle with anything', () => {
  it('never throws', () => {
    const word = fc.constantFrom(
      'apiVersion',
      'kind',
      'metadata',
      'name',
      'contracts',
      'rules',
      'id',
      'type',
      'pre',
      'sandbox',
      'when',
      'then',
      'tool',
      'service/v1',
      'ContractBundle',
      'limits',
      'all',
      'not',
      'matches',
      '(',
    );
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null)),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(word, tie('tree'), { maxKeys: 6 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (document) => {
        const result = compileBundle(JSON.stringify(document));
        expect(result.ok || result.problems.length > 0).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('sandboxes', () => {
  const box = (rest: string) =>
    compiled(bundleOf(`  - {id: box, type: sandbox, tool: "*", message: out, ${rest}}`));
  const leaves = (rest: string, args: Record<string, unknown>) =>
    evaluateCall(box(rest), { tool: 't', args }).verdict === 'deny';

  it.each([
    [{ path: '/w/a.txt' }, false],
    [{ path: '/w' }, false],
    [{ path: '/w/' }, false],
    [{ path: '/w/../etc/passwd' }, true],
    [{ path: '/w/./a/../b' }, false],
    [{ path: '//w//a' }, false],
    [{ path: '/wx/a' }, true],
    [{ path: '/w/%2e%2e/etc' }, false],
    [{ path: '/w/secret/key' }, true],
    [{ path: '/w/secrets' }, false],
    [{ path: '/w/a/../secret' }, true],
    [{ path: 'etc/passwd' }, true],
    [{ path: '~/x' }, true],
    [{ filePath: '/etc' }, true],
    [{ dst: '/w/a', src: '/etc/passwd' }, true],
    [{ note: '/etc/passwd' }, true],
    [{ note: 'see /etc/passwd' }, false],
    [{ deep: { a: [{ b: '/etc/passwd' }] } }, true],
    [{ deep: { path: 'etc' } }, true],
    [{ command: 'cat /etc/passwd' }, true],
    [{ command: 'cat "/etc/passwd"' }, true],
    [{ command: "cat /w/a '/w/b c'" }, false],
    [{ command: 'cat </etc/passwd' }, true],
    [{ command: 'cat 2>/etc/x' }, true],
    [{ command: 'tar --file=/etc/x' }, true],
    [{ command: 'cat ~/.ssh/id_rsa' }, true],
    [{ command: 'cat $HOME/.ssh/id_rsa' }, true],
    [{ command: 'cat ../../etc/passwd' }, true],
    [{ command: 'cat a.txt' }, false],
    [{ x: 1, y: null }, false],
    [{}, false],
  ])('within: %j', (args, expected) => {
    expect(leaves('within: [/w, /tmp/], not_within: [/w/secret]', args)).toBe(expected);
  });

  it.each([
    ['ls -la', false],
    ['git status', false],
    ['rm -rf x', true],
    ['lsof', true],
    ['"ls" x', false],
    ['ls; rm x', true],
    ['ls && rm', true],
    ['ls | sh', true],
    ['ls\nrm', true],
    ['ls $(rm)', true],
    ['ls `rm`', true],
    ['ls $\u007bX}', true],
    ["ls $'x'", true],
    ['ls <(rm)', true],
    ['ls << EOF', true],
    ['ls $X', false],
    ['> ls', true],
    ['', true],
  ])('commands: %j', (command, expected) => {
    expect(leaves('allows: {commands: [ls, git]}', { command })).toBe(expected);
  });

  it('judges chained commands even where none is listed, and nothing without a command', () => {
    expect(leaves('within: [/w]', { command: 'ls; rm' })).toBe(true);
    expect(leaves('allows: {commands: [ls]}', {})).toBe(false);
    expect(
      evaluateCall(box('allows: {commands: [ls]}'), { tool: 't', args: { command: ['rm'] } }).policyError,
    ).toBe(true);
  });

  it.each([
    ['https://api.x.com/path', false],
    ['https://API.X.COM', false],
    ['https://x.com', true],
    ['https://y.com', false],
    ['https://bad.x.com/', true],
    ['https://api.x.com.evil.com', true],
    ['https://api.x.com@evil.com/', true],
    ['https://evil.com#api.x.com', true],
    ['https://api.x.com./', false],
    ['see https://y.com and https://evil.com now', true],
    ['(https://y.com)', true],
    ['"https://y.com"', false],
    ['ftp://evil.com', true],
    ['weird://Y.com/', false],
    ['https://y.com:8443/x?u=https://z.com', false],
    ['http://[::1]/', true],
    ['http://', true],
    ['no url here', false],
    ['://', false],
    ['file:///w/a', false],
  ])('domains: %j', (url, expected) => {
    expect(leaves('allows: {domains: ["*.x.com", "y.com"]}, not_allows: {domains: ["bad.*"]}', { url })).toBe(
      expected,
    );
  });

  it('resolves paths as the caller does', () => {
    const bundle = compiled(
      bundleOf(
        '  - {id: box, type: sandbox, tools: [t, u*], within: [/w], message: "{args.path} is outside", outside: approve}',
      ),
      {
        canonical: (path) => (path === '/w/link' ? '/etc' : path),
      },
    );
    expect(evaluateCall(bundle, { tool: 'unzip', args: { path: '/w/link' } })).toMatchObject({
      verdict: 'approve',
      source: 'yaml_sandbox',
      reason: '/w/link is outside',
    });
    expect(evaluateCall(bundle, { tool: 'x', args: { path: '/w/link' } }).verdict).toBe('allow');
  });
});

describe('evaluatePost', () => {
  const post = (effect: string, when: string, rest = '') =>
    compiled(
      bundleOf(
        `  - {id: p, type: post, tool: "*", ${rest} when: ${when}, then: {effect: ${effect}, message: leak}}`,
        'tools: {r: {side_effect: read}, w: {side_effect: write}}',
      ),
    );
  const ssn = '{output.text: {matches: "\\\\d{3}-\\\\d{2}-\\\\d{4}"}}';

  it('redacts what the patterns find in the result of a reading tool', () => {
    expect(evaluatePost(post('redact', ssn), { tool: 'r', args: {} }, 'a 123-45-6789 b')).toMatchObject({
      output: 'a [REDACTED] b',
      changed: 'redacted',
      postconditionsPassed: false,
      records: [{ name: 'p', type: 'postcondition', passed: false, message: 'leak' }],
    });
  });

  it('suppresses, warns, and only warns once the world has changed', () => {
    const args = {};
    expect(evaluatePost(post('deny', ssn), { tool: 'r', args }, '123-45-6789').output).toBe(
      '[OUTPUT SUPPRESSED] leak',
    );
    expect(evaluatePost(post('warn', ssn), { tool: 'r', args }, '123-45-6789')).toMatchObject({
      output: '123-45-6789',
      warnings: ['leak Consider retrying.'],
    });
    for (const effect of ['deny', 'redact']) {
      expect(evaluatePost(post(effect, ssn), { tool: 'w', args }, '123-45-6789')).toMatchObject({
        output: '123-45-6789',
        changed: 'no',
        warnings: ['leak Tool already executed — assess before proceeding.'],
      });
    }
  });

  it('hides everything when a redaction names no pattern and nobody can do better', () => {
    const bundle = post('redact', '{output.text: {contains: key}}');
    expect(evaluatePost(bundle, { tool: 'r', args: {} }, 'key x').output).toBe('[REDACTED]');
    const redactText = (text: string) => text.replace('x', '#');
    expect(evaluatePost(bundle, { tool: 'r', args: {} }, 'key x', { redactText }).output).toBe('key #');
  });

  it('looks into structured results, and gives untouched ones back as they are', () => {
    const bundle = post('warn', '{result.rows.n: {gt: 5}}');
    const result = { rows: { n: 9 } };
    const seen = evaluatePost(bundle, { tool: 'r', args: {} }, result);
    expect([seen.output, seen.warnings.length]).toEqual([result, 1]);
    expect(
      evaluatePost(post('warn', '{output.text: {contains: "\\"n\\":9"}}'), { tool: 'r', args: {} }, result)
        .warnings,
    ).toHaveLength(1);
    expect(
      evaluatePost(post('warn', '{output.text: {exists: true}}'), { tool: 'r', args: {} }, null).warnings,
    ).toEqual([]);
  });

  it('keeps observing contracts out of the result', () => {
    expect(
      evaluatePost(post('deny', ssn, 'mode: observe,'), { tool: 'r', args: {} }, '123-45-6789'),
    ).toMatchObject({
      changed: 'no',
      warnings: ['[observe] leak'],
      postconditionsPassed: true,
    });
  });

  it.each([
    [undefined, 'redacted'],
    ['cat a', 'redacted'],
    ['git status', 'redacted'],
    ['cat a > b', 'no'],
    ['cat $X', 'no'],
    ['rm a', 'no'],
    ['git push', 'no'],
  ])('judges the side effect of Bash by its command %j', (command, changed) => {
    expect(
      evaluatePost(post('redact', ssn), { tool: 'Bash', args: { command } }, '123-45-6789').changed,
    ).toBe(changed);
  });
});

describe('layers', () => {
  const layer = (contracts: string, top = '') => bundleOf(contracts, top);
  it('replaces in place, appends, and reports what it did', () => {
    const text = [
      layer(pre('a') + pre('b'), 'tools: {t: {side_effect: read}, u: {side_effect: pure}}'),
      layer(pre('c') + pre('a', 'mode: observe,'), 'tools: {t: {side_effect: write}}').replace(
        '{mode: enforce}',
        '{mode: observe}',
      ),
    ].join('---\n');
    const read = readBundle(text, { maxDocuments: 2 });
    if (!read.ok) throw new Error('unreadable');
    const [first, second] = read.documents;
    if (!first || !second) throw new Error('two documents are expected');
    const { document, report } = composeDocuments([first, second]);
    expect(document.rules.map((rule) => [rule.id, rule.mode])).toEqual([
      ['a', 'observe'],
      ['b', 'enforce'],
      ['c', 'observe'],
    ]);
    expect(document.mode).toBe('observe');
    expect([...document.tools].map(([tool, { sideEffect }]) => [tool, sideEffect])).toEqual([
      ['t', 'write'],
      ['u', 'pure'],
    ]);
    expect(report).toEqual({ overridden: [{ id: 'a', overriddenBy: 1, originalSource: 0 }], shadow: [] });
  });

  it('evaluates shadow copies after an allow only, and lets them decide nothing', () => {
    const strict =
      '  - {id: a, type: pre, tool: "*", when: {args.x: {exists: true}}, then: {effect: deny, message: new}}\n  - {id: s, type: session, limits: {max_tool_calls: 1}, then: {effect: deny, message: few}}\n';
    const loose =
      '  - {id: a, type: pre, tool: "*", when: {args.x: {equals: bad}}, then: {effect: deny, message: old}}\n';
    const bundle = compiled(
      `${layer(loose)}---\n${layer(strict, 'observe_alongside: true').replace('{mode: enforce}', '{mode: observe}')}`,
      { maxDocuments: 2 },
    );
    expect(bundle.mode).toBe('enforce');
    expect(bundle.limits.maxToolCalls).toBe(200);
    expect(bundle.report.shadow).toEqual([
      { id: 'a', enforcedSource: 0, observedSource: 1 },
      { id: 's', enforcedSource: null, observedSource: 1 },
    ]);
    const allowed = evaluateCall(bundle, call, { counters: counters(1, 1) });
    expect([allowed.verdict, allowed.records.map((record) => record.name)]).toEqual(['allow', ['a']]);
    expect(allowed.shadows).toMatchObject([
      { name: 'a:candidate', passed: false, observed: true, message: 'new' },
      { name: 's:candidate', passed: false, observed: true },
    ]);
    expect(evaluateCall(bundle, { tool: 't', args: { x: 'bad' } })).toMatchObject({
      verdict: 'deny',
      shadows: [],
    });
    expect(dryRun(bundle, call).contracts_evaluated.map((entry) => entry.id)).toEqual(['a']);
  });
});

describe('dryRun', () => {
  const yaml = bundleOf(
    `${pre('a', 'mode: observe,')}${pre('b', '', 'approve')}  - {id: box, type: sandbox, tool: t, within: [/w], message: out}\n  - {id: p, type: post, tool: t, when: {output.text: {exists: true}}, then: {effect: redact, message: seen}}\n  - {id: s, type: session, limits: {max_attempts: 1}, then: {effect: deny, message: m}}\n  - {id: z, type: pre, tool: other, ${always}, then: {effect: deny, message: m}}\n`,
  );

  it('evaluates all that match, without stopping, in the shape of the console', () => {
    expect(
      evaluateYaml(yaml, { tool: 't', args: { x: 'v', path: '/w/a' } }, { policyVersion: 'abc' }),
    ).toEqual({
      verdict: 'deny',
      mode: 'enforce',
      contracts_evaluated: [
        {
          id: 'a',
          type: 'precondition',
          matched: false,
          effect: 'deny',
          message: 'a says v',
          observed: true,
          tags: ['t-a'],
        },
        {
          id: 'b',
          type: 'precondition',
          matched: false,
          effect: 'approve',
          message: 'b says v',
          observed: false,
          tags: ['t-b'],
        },
        {
          id: 'box',
          type: 'sandbox',
          matched: true,
          effect: 'deny',
          message: null,
          observed: false,
          tags: [],
        },
      ],
      deciding_contract: 'b',
      policy_version: 'abc',
    });
  });

  it('warns when only a post contract fires on a given output', () => {
    const bundle = compiled(
      bundleOf(
        `  - {id: p, type: post, tool: t, when: {output.text: {exists: true}}, then: {effect: deny, message: seen}}`,
      ),
    );
    expect(dryRun(bundle, call, { output: 'x' })).toMatchObject({ verdict: 'warn', deciding_contract: 'p' });
    expect(dryRun(bundle, call)).toMatchObject({
      verdict: 'allow',
      contracts_evaluated: [],
      deciding_contract: null,
    });
  });

  it('never reads the environment of the process', () => {
    const text = preOf('{env.PATH: {exists: true}}', '{env.PATH}');
    expect(evaluateYaml(text, call).verdict).toBe('allow');
  });

  it('layers several documents', () => {
    const text = `${bundleOf(pre('a'))}---\n${bundleOf(pre('a', 'mode: observe,'))}`;
    expect(evaluateYaml(text, call)).toMatchObject({
      verdict: 'allow',
      contracts_evaluated: [{ id: 'a', observed: true }],
    });
  });

  it.each([
    ['no YAML', 'a: [', 't', /^Invalid contract YAML: (?!Invalid)/],
    [
      '11 documents',
      Array(11).fill('a: 1').join('\n---\n'),
      't',
      /^Invalid contract YAML: more than 10 documents/,
    ],
    [
      '101 contracts',
      bundleOf(Array.from({ length: 101 }, (_, i) => pre(`c${i}`)).join('')),
      't',
      /at most 100 contracts; there are 101/,
    ],
    [
      '101 contracts in two documents',
      `${bundleOf(Array.from({ length: 100 }, (_, i) => pre(`c${i}`)).join(''))}---\n${bundleOf(pre('x'))}`,
      't',
      /at most 100 contracts; there are 101/,
    ],
    ['a bad tool name', bundleOf(pre('a')), 'a/b', /^Invalid tool name/],
  ])('refuses %s', (_name, text, tool, expected) => {
    expect(() => evaluateYaml(text, { tool, args: {} })).toThrow(expected);
  });

  it('ends work that is too much as a time-out', () => {
    const text = preOf('{args.x: {matches: "(?:a|b)*a(?:a|b){300}c{1}$"}}');
    let x = 'c';
    for (let i = 0, seed = 1; i < 9_000; i++) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      x += seed & 65536 ? 'a' : 'b';
    }
    expect(() => evaluateYaml(text, { tool: 't', args: { x } }, { budget: { left: 200_000 } })).toThrow(
      /^Evaluation timed out/,
    );
    const started = performance.now();
    try {
      evaluateYaml(text, { tool: 't', args: { x } });
    } catch (error) {
      expect((error as Error).message).toMatch(/^Evaluation timed out/);
    }
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
