import { describe, expect, it } from 'vitest';
import { dryRun, evaluateYaml } from '../../../src/rules/evaluate/playground.ts';
import { createTracer, traceCondition } from '../../../src/rules/evaluate/trace.ts';
import { createRedaction } from '../../../src/rules/redact.ts';
import { always, bundleOf, call, compiled, pre, preOf } from './rules.ts';

describe('dryRun', () => {
  const yaml = bundleOf(
    `${pre('a', 'mode: observe,')}${pre('b', '', 'approve')}  - {id: box, type: sandbox, tool: t, within: [/w], message: out}\n  - {id: p, type: post, tool: t, when: {output.text: {exists: true}}, then: {effect: redact, message: seen}}\n  - {id: s, type: session, limits: {max_attempts: 1}, then: {effect: deny, message: m}}\n  - {id: z, type: pre, tool: other, ${always}, then: {effect: deny, message: m}}\n`,
  );

  it('evaluates all that match, without stopping, in the shape of the console', () => {
    expect(
      evaluateYaml(yaml, { tool: 't', args: { x: 'v', path: '/w/a' } }, { policyVersion: 'abc' }),
    ).toEqual({
      verdict: 'approve',
      mode: 'enforce',
      contracts_evaluated: [
        {
          id: 'a',
          type: 'precondition',
          matched: false,
          fired: true,
          effect: 'deny',
          message: 'a says v',
          observed: true,
          tags: ['t-a'],
        },
        {
          id: 'b',
          type: 'precondition',
          matched: false,
          fired: true,
          effect: 'approve',
          message: 'b says v',
          observed: false,
          tags: ['t-b'],
        },
        {
          id: 'box',
          type: 'sandbox',
          matched: true,
          fired: false,
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

  it('evaluates session contracts and limits when it is told what was counted', () => {
    const bundle = compiled(
      bundleOf(
        `  - {id: s, type: session, limits: {max_tool_calls: 3, max_calls_per_tool: {t: 2}}, then: {effect: deny, message: spent}}`,
      ),
    );
    const counted = (calls: number, ofTool = 0) =>
      dryRun(bundle, call, { session: { attempts: calls + 1, executions: calls, toolExecutions: ofTool } });
    expect(dryRun(bundle, call)).toMatchObject({ verdict: 'allow', contracts_evaluated: [] });
    expect(counted(1)).toMatchObject({ verdict: 'allow', contracts_evaluated: [{ id: 's', fired: false }] });
    expect(counted(3)).toMatchObject({
      verdict: 'deny',
      deciding_contract: 's',
      contracts_evaluated: [{ id: 's', type: 'session_contract', fired: true, message: 'spent' }],
    });
    expect(counted(2, 2)).toMatchObject({
      verdict: 'deny',
      deciding_contract: 's',
      contracts_evaluated: [{ id: 's', matched: false, fired: true, message: 'spent' }],
    });
  });

  it('lists a spent session contract as fired, whichever rule decides', () => {
    const session = (id: string, limits: string) =>
      `  - {id: ${id}, type: session, limits: {${limits}}, then: {effect: deny, message: ${id} is spent}}\n`;
    const limits = `${session('few', 'max_attempts: 3')}${session('fewer', 'max_attempts: 2')}${session('many', 'max_attempts: 9')}`;
    const counters = { attempts: 3, executions: 0, toolExecutions: 0 };
    const expected = [
      { id: 'few', fired: true, message: 'few is spent' },
      { id: 'fewer', fired: true, message: 'fewer is spent' },
      { id: 'many', fired: false, message: null },
    ];
    // As for live calls, the smallest limit decides.
    expect(dryRun(compiled(bundleOf(limits)), call, { session: counters })).toMatchObject({
      verdict: 'deny',
      deciding_contract: 'fewer',
      contracts_evaluated: expected,
    });
    expect(dryRun(compiled(bundleOf(pre('a') + limits)), call, { session: counters })).toMatchObject({
      verdict: 'deny',
      deciding_contract: 'a',
      contracts_evaluated: [{ id: 'a', fired: true }, ...expected],
    });
  });

  it('redacts a value once for all conditions of a call that show it, and anew for the next call', () => {
    const contracts = Array.from(
      { length: 20 },
      (_, i) =>
        `  - {id: c${i}, type: pre, tool: t, when: {args.x: {exists: true}}, then: {effect: deny, message: m}}\n`,
    ).join('');
    const bundle = compiled(bundleOf(contracts));
    const redaction = createRedaction();
    let copies = 0;
    const trace = createTracer({
      redaction: {
        ...redaction,
        redactArgs: (value) => {
          copies++;
          return redaction.redactArgs(value);
        },
      },
    });
    const valuesOf = (x: string) =>
      dryRun(bundle, { tool: 't', args: { x } }, { trace }).contracts_evaluated.map((one) => one.trace);
    expect(valuesOf('v')).toEqual(Array(20).fill(expect.objectContaining({ value: 'v' })));
    expect(copies).toBe(1);
    expect(valuesOf('AKIAABCDEFGHIJKLMNOP')).toEqual(
      Array(20).fill(expect.objectContaining({ value: '[REDACTED]' })),
    );
    expect(copies).toBe(2);
  });

  it('traces each condition with the value it saw, without secrets', () => {
    const when =
      '{any: [{all: [{args.x: {equals: hello}}, {args.api_key: {exists: true}}, {args.n: {gt: 1}}]}, {args.never: {equals: 1}}]}';
    const bundle = compiled(
      bundleOf(`  - {id: a, type: pre, tool: t, when: ${when}, then: {effect: deny, message: m}}`),
    );
    const args = { x: 'hello', api_key: 'secret', n: 'text' };
    expect(
      dryRun(bundle, { tool: 't', args }, { trace: traceCondition }).contracts_evaluated[0]?.trace,
    ).toEqual({
      kind: 'any',
      outcome: 'fault',
      conditions: [
        {
          kind: 'all',
          outcome: 'fault',
          conditions: [
            {
              kind: 'leaf',
              selector: 'args.x',
              operator: 'equals',
              operand: 'hello',
              value: 'hello',
              outcome: 'yes',
            },
            {
              kind: 'leaf',
              selector: 'args.api_key',
              operator: 'exists',
              operand: true,
              value: '[REDACTED]',
              outcome: 'yes',
            },
            { kind: 'leaf', selector: 'args.n', operator: 'gt', operand: 1, value: 'text', outcome: 'fault' },
          ],
        },
        { kind: 'leaf', selector: 'args.never', operator: 'equals', operand: 1, outcome: 'skipped' },
      ],
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

  it('fires as a fault where the text takes too many steps, as a live call does', () => {
    const text = preOf('{args.x: {matches: "(?:a|b)*a(?:a|b){300}c{1}$"}}');
    let x = 'c';
    for (let i = 0, seed = 1; i < 9_000; i++) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      x += seed & 65536 ? 'a' : 'b';
    }
    const run = evaluateYaml(text, { tool: 't', args: { x } }, { steps: 200_000, trace: traceCondition });
    expect([run.verdict, run.contracts_evaluated[0]?.trace?.outcome]).toEqual(['deny', 'fault']);
    expect(evaluateYaml(text, { tool: 't', args: { x } }).verdict).toBe('allow');
  });
});
