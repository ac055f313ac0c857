import { describe, expect, it } from 'vitest';
import { readBundle } from '../../../src/rules/bundle/document.ts';
import { validateBundle } from '../../../src/rules/bundle/validation.ts';
import { costOfRefusal, maxCost } from '../large-document.ts';
import { box, head, hostileBundles, pre, then, when } from './hostile.ts';

describe('validateBundle', () => {
  it.each([
    ['the smallest contract', pre(`tool: t, ${when}, ${then}`)],
    ['a list of tools', pre(`tools: [t, "mcp_*"], ${when}, ${then}`)],
    [
      'several selectors and operators',
      pre(`tool: t, when: {args.a: {gt: 1, lt: 5}, environment: {in: [a]}}, ${then}`),
    ],
    [
      'nesting',
      pre(
        `tool: t, when: {all: [{any: [{args.a: {exists: true}}]}, {not: {args.b: {equals: {x: [1]}}}}]}, ${then}`,
      ),
    ],
    [
      'an approval',
      pre(
        `tool: t, ${when}, then: {effect: approve, message: m, timeout: 5, timeout_effect: allow, tags: [x], metadata: {a: {b: 1}}}`,
      ),
    ],
    [
      'the other name of the timeout effect',
      pre(`tool: t, ${when}, then: {effect: approve, message: m, timeout_action: block}`),
    ],
    [
      'a post contract',
      `${head}contracts: [{id: a, type: post, tool: "*", when: {output.text: {matches: x}, result.a: {exists: true}}, then: {effect: redact, message: m}}]`,
    ],
    [
      'a session contract',
      `${head}contracts: [{id: a, type: session, limits: {max_tool_calls: 5, max_attempts: 9, max_calls_per_tool: {t: 1}}, ${then}}]`,
    ],
    [
      'a sandbox',
      box(
        'within: [/w], not_within: [/w/x], allows: {commands: [ls], domains: ["*.x.com"]}, not_allows: {domains: [y.com]}, outside: approve, timeout: 9',
      ),
    ],
    [
      'a ruleset without defaults',
      'apiVersion: service/v1\nkind: Ruleset\nmetadata: {name: a}\nrules: [{id: a, type: pre, tool: t, when: {args.p: {contains: x}}, then: {action: ask, message: m}}]',
    ],
    [
      'everything else at the top',
      `${head}observe_alongside: true\ntools: {t: {side_effect: read, idempotent: true}}\nobservability: {stdout: true, file: null, otel: {enabled: true, endpoint: e, protocol: grpc, service_name: s, insecure: false, resource_attributes: {a: b}}}\ncontracts: [{id: a, type: pre, tool: t, enabled: false, mode: observe, ${when}, ${then}}]`,
    ],
  ])('accepts %s', (_name, text) => {
    expect(validateBundle(text)).toEqual([]);
  });

  it('knows more than 40 hostile bundles, each by a name of its own', () => {
    expect(new Set(hostileBundles.map(([name]) => name)).size).toBe(hostileBundles.length);
    expect(hostileBundles.length).toBeGreaterThan(80);
  });

  it.each(hostileBundles)('refuses %s', (_name, text, expected) => {
    let problems: readonly string[] = [];
    const cost = costOfRefusal(() => {
      problems = validateBundle(text);
    });
    expect(cost).toBeLessThan(maxCost);
    expect(problems.join('\n')).toMatch(new RegExp(expected.source, 'm'));
    for (const problem of problems) expect(problem).toMatch(/\(line \d+, column \d+\)$/);
  });

  it('reports all problems at once, in order', () => {
    const read = readBundle(`${head}contracts:
  - id: a
    type: pre
    tool: t
    when: {args.x: {matches: "("}}
    then: {effect: nope, message: m}
  - id: b
    type: post
    tool: t
    then: {effect: warn}
`);
    expect(read.ok ? [] : read.problems.map((p) => [p.contract, p.path, p.line, p.column])).toEqual([
      ['a', 'contracts[0].then.effect', 10, 12],
      ['a', 'contracts[0].when.args.x.matches', 9, 21],
      ['b', 'contracts[1].then.message', 14, 5],
      ['b', 'contracts[1].when', 11, 5],
    ]);
  });

  it('stops at 50 problems', () => {
    expect(validateBundle(`${head}contracts: [${'1,'.repeat(90)}]`)).toHaveLength(50);
  });

  it('accepts the versions, kinds and operators it is told to', () => {
    const text = pre(`tool: t, when: {args.a: {luhn: true}}, ${then}`);
    expect(validateBundle(text, { operators: ['luhn'] })).toEqual([]);
    expect(validateBundle(text, { operators: ['luhn'], apiVersions: ['acme/v1'] })).toHaveLength(1);
    expect(validateBundle(text, { operators: ['luhn'], bundleKinds: [] })).not.toEqual([]);
  });
});
