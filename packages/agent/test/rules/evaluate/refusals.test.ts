// A contract that refuses wins over one that asks, whatever the order; and the limits of a session can be set.
import { describe, expect, it } from 'vitest';
import { evaluateCall } from '../../../src/rules/evaluate/live.ts';
import { dryRun } from '../../../src/rules/evaluate/playground.ts';
import { bundleOf, compiled } from './rules.ts';

const pay = (amount: number) => ({ tool: 'pay', args: { amount } });
const over = (id: string, amount: number, effect: string, rest = '') =>
  `  - {id: ${id}, type: pre, tool: pay, when: {args.amount: {gt: ${amount}}}, then: {effect: ${effect}, message: "${id} {args.amount}"${rest}}}\n`;
const box = (rest = '') =>
  `  - {id: box, type: sandbox, tool: "*", within: [/work], ${rest} message: "outside the box"}\n`;
const session = (limits: string) =>
  `  - {id: s, type: session, limits: {${limits}}, then: {effect: deny, message: spent}}\n`;
const counters = (attempts: number, executions: number, toolExecutions = 0) => ({
  attempts,
  executions,
  toolExecutions,
});

describe('a refusal wins over an approval', () => {
  it('of a pre contract that stands after the one that asks', () => {
    const bundle = compiled(bundleOf(over('ask', 1_000, 'approve') + over('never', 10_000, 'deny')));
    expect(evaluateCall(bundle, pay(20_000))).toMatchObject({
      verdict: 'deny',
      name: 'never',
      approval: null,
      asks: [],
    });
    expect(evaluateCall(bundle, pay(5_000))).toMatchObject({ verdict: 'approve', name: 'ask' });
    expect(dryRun(bundle, pay(20_000))).toMatchObject({ verdict: 'deny', deciding_contract: 'never' });
    expect(dryRun(bundle, pay(5_000))).toMatchObject({ verdict: 'approve', deciding_contract: 'ask' });
  });

  it.each(['deny', 'allow'])('of a sandbox, also when an unanswered question means %s', (effect) => {
    const ask = over('ask', 0, 'approve', `, timeout_effect: ${effect}`);
    const bundle = compiled(bundleOf(ask + box()));
    const call = { tool: 'pay', args: { amount: 1, path: '/etc/passwd' } };
    expect(evaluateCall(bundle, call)).toMatchObject({
      verdict: 'deny',
      name: 'box',
      source: 'yaml_sandbox',
    });
    expect(dryRun(bundle, call).verdict).toBe('deny');
  });

  it('of a session contract and of a limit per tool', () => {
    const ask = over('ask', 0, 'approve');
    const spent = compiled(bundleOf(ask + session('max_tool_calls: 3')));
    expect(evaluateCall(spent, pay(1), { counters: counters(4, 3) })).toMatchObject({
      verdict: 'deny',
      source: 'yaml_session',
    });
    const perTool = compiled(bundleOf(ask + session('max_calls_per_tool: {pay: 3}')));
    expect(evaluateCall(perTool, pay(1), { counters: counters(4, 3, 3) })).toMatchObject({
      verdict: 'deny',
      name: 's',
    });
  });

  it('also after the approval: what refuses refuses, and nobody is asked again', () => {
    const bundle = compiled(bundleOf(over('ask', 0, 'approve') + over('never', 10, 'deny')));
    expect(evaluateCall(bundle, pay(5), { approved: true }).verdict).toBe('allow');
    expect(evaluateCall(bundle, pay(50), { approved: true }).verdict).toBe('deny');
  });
});

describe('several that ask', () => {
  const terms = (timeout: number, effect: string) => `, timeout: ${timeout}, timeout_effect: ${effect}`;

  it('are one question: the first names it, the shortest timeout holds, all must let an unanswered one pass', () => {
    const bundle = compiled(
      bundleOf(
        over('a', 0, 'approve', terms(60, 'allow')) +
          over('b', 0, 'approve', terms(30, 'deny')) +
          box(`outside: approve, timeout: 90, timeout_effect: allow,`),
      ),
    );
    expect(evaluateCall(bundle, { tool: 'pay', args: { amount: 1, path: '/etc' } })).toMatchObject({
      verdict: 'approve',
      name: 'a',
      source: 'yaml_precondition',
      reason: 'a 1\nb 1\noutside the box',
      approval: { timeout: 30, timeoutEffect: 'deny' },
      asks: [
        { name: 'a', message: 'a 1' },
        { name: 'b', message: 'b 1' },
        { name: 'box', message: 'outside the box' },
      ],
    });
    const willing = compiled(
      bundleOf(over('a', 0, 'approve', terms(60, 'allow')) + over('b', 0, 'approve', terms(90, 'allow'))),
    );
    expect(evaluateCall(willing, pay(1)).approval).toEqual({ timeout: 60, timeoutEffect: 'allow' });
  });

  it('show a message of at most 4,000 characters', () => {
    const long = 'x'.repeat(490);
    const many = Array.from({ length: 12 }, (_, i) =>
      over(`a${i}`, 0, 'approve').replace(`"a${i} {args.amount}"`, `"${long}"`),
    );
    expect(evaluateCall(compiled(bundleOf(many.join(''))), pay(1)).reason).toHaveLength(4_000);
  });
});

describe('the limits of a session', () => {
  it('are those that a session contract declares, up or down', () => {
    const many = compiled(bundleOf(session('max_tool_calls: 10000000')));
    expect(evaluateCall(many, pay(1), { counters: counters(201, 200) }).verdict).toBe('allow');
    expect(many.limits.attempts).toEqual({ max: Number.POSITIVE_INFINITY, rule: null });
    const both = compiled(bundleOf(session('max_tool_calls: 900, max_attempts: 50')));
    expect(both.limits.attempts).toMatchObject({ max: 50, rule: { type: 'session' } });
  });

  it('that nobody declared are none', () => {
    const bundle = compiled(bundleOf(session('max_calls_per_tool: {other: 3}')));
    expect(evaluateCall(bundle, pay(1), { counters: counters(100_000, 100_000) }).verdict).toBe('allow');
    const own = compiled(bundleOf(session('max_tool_calls: 200')));
    expect(evaluateCall(own, pay(1), { counters: counters(201, 200) })).toMatchObject({
      source: 'yaml_session',
      reason: 'spent',
    });
  });

  it('per tool may be globs: each tool counts by itself, and the smallest limit holds', () => {
    const { perTool } = compiled(
      bundleOf(session('max_calls_per_tool: {"mcp_*": 5, mcp_pay: 2, "[x]": 9}')),
    ).limits;
    expect(['mcp_read', 'mcp_pay', 'other', '[x]', 'x'].map(perTool)).toEqual([5, 2, undefined, 9, 9]);
  });
});
