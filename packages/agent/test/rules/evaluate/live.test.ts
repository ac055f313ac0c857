import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runsOf } from '../../../../../test/runs.ts';
import { readBundle } from '../../../src/rules/bundle/document.ts';
import { compileBundle } from '../../../src/rules/evaluate/compile.ts';
import { composeDocuments } from '../../../src/rules/evaluate/layers.ts';
import { attemptDecision, evaluateCall } from '../../../src/rules/evaluate/live.ts';
import { dryRun } from '../../../src/rules/evaluate/playground.ts';
import { evaluatePost } from '../../../src/rules/evaluate/post.ts';
import { bundleOf, call, compiled, counters, pre, preOf } from './rules.ts';

describe('evaluateCall', () => {
  it('stops at the first enforced contract that fires, and records what came before', () => {
    const bundle = compiled(bundleOf(pre('a', 'mode: observe,') + pre('b') + pre('c')));
    expect(evaluateCall(bundle, call)).toEqual({
      verdict: 'deny',
      source: 'yaml_precondition',
      name: 'b',
      reason: 'b says hello',
      approval: null,
      asks: [],
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
      name: 's',
      reason: 'm',
    });
    expect(attemptDecision(bundle, call, counters(2))).toBeNull();
    expect(evaluateCall(bundle, call, { counters: counters(3), attemptsChecked: true }).name).toBe('a');
  });

  it('has no limit when no session contract is written', () => {
    const bundle = compiled(preOf('{args.none: {exists: true}}'));
    expect(evaluateCall(bundle, call, { counters: counters(1e9, 1e9, 1e9) }).verdict).toBe('allow');
    expect(evaluateCall(bundle, call).verdict).toBe('allow');
  });

  it("has the caller's own limits, beside those of session contracts", () => {
    const limits = { maxAttempts: 9, maxToolCalls: 3, maxCallsPerTool: { 't*': 2 } };
    const own = compiled(preOf('{args.none: {exists: true}}'), { limits });
    expect(evaluateCall(own, call, { counters: counters(9, 0) })).toMatchObject({
      source: 'attempt_limit',
      name: 'max_attempts',
      reason: expect.stringContaining('Attempt limit reached (9)'),
    });
    expect(evaluateCall(own, call, { counters: counters(4, 3) })).toMatchObject({
      source: 'operation_limit',
      name: 'max_tool_calls',
      reason: 'Tool call limit reached (3 calls in this session).',
    });
    expect(evaluateCall(own, call, { counters: counters(3, 2, 2) })).toMatchObject({
      name: 'max_calls_per_tool:t',
      reason: 'Per-tool limit: t called 2 times (limit: 2).',
    });
    const contract =
      '  - {id: s, type: session, limits: {max_tool_calls: 5}, then: {effect: deny, message: m}}\n';
    const both = compiled(bundleOf(contract), { limits });
    expect(evaluateCall(both, call, { counters: counters(4, 3) }).name).toBe('max_tool_calls');
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
    expect(bundle.limits).toMatchObject({
      attempts: { max: Number.POSITIVE_INFINITY, rule: null },
      toolCalls: { max: 5, rule: { id: 'b' } },
    });
    expect(['t', 'u'].map(bundle.limits.perTool)).toEqual([2, undefined]);
    expect(evaluateCall(bundle, call, { counters: counters(9, 5) })).toMatchObject({
      verdict: 'deny',
      source: 'yaml_session',
      name: 'b',
      reason: 'b {tool.name}',
    });
    expect(evaluateCall(bundle, call, { counters: counters(9, 4, 2) })).toMatchObject({
      source: 'operation_limit',
      name: 'b',
      reason: 'b {tool.name}',
      records: [
        { name: 'a', passed: true },
        { name: 'b', passed: false },
      ],
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
      { numRuns: runsOf(3_000) },
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
      { numRuns: runsOf(3_000) },
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
      { numRuns: runsOf(2_000) },
    );
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

  it('makes shadow copies observe, whatever their own layer says', () => {
    const bundle = compiled(
      `${layer('  - {id: z, type: pre, tool: other, when: {args.x: {exists: true}}, then: {effect: deny, message: m}}\n')}---\n${layer(pre('a', 'mode: enforce,'), 'observe_alongside: true')}`,
      { maxDocuments: 2 },
    );
    const decision = evaluateCall(bundle, call);
    expect(decision).toMatchObject({ verdict: 'allow', records: [] });
    expect(decision.shadows).toMatchObject([{ name: 'a:candidate', passed: false, observed: true }]);
    expect(bundle.document.rules.map((rule) => [rule.id, rule.mode, rule.shadow])).toEqual([
      ['z', 'enforce', false],
      ['a:candidate', 'observe', true],
    ]);
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
    expect(bundle.limits.toolCalls.max).toBe(Number.POSITIVE_INFINITY);
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
