import { describe, expect, it } from 'vitest';
import { readBundle } from '../../../src/domain/bundle/document.ts';
import { validateBundle } from '../../../src/domain/bundle/validation.ts';

describe('validateBundle', () => {
  const head =
    'apiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: a}\ndefaults: {mode: enforce}\n';
  const then = 'then: {effect: deny, message: m}';
  const pre = (rest: string) => `${head}contracts:\n  - {id: a, type: pre, ${rest}}\n`;
  const when = 'when: {args.p: {exists: true}}';
  const box = (rest: string) =>
    `${head}contracts:\n  - {id: a, type: sandbox, tool: t, message: m, ${rest}}\n`;

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

  const hostile: [string, string, RegExp][] = [
    ['no text', '', /expected a mapping at the top level/],
    ['a list', '[]', /expected a mapping at the top level/],
    ['broken YAML', 'a: [', /Invalid YAML: .* \(line 1, column \d+\)/],
    ['two documents', `${pre(`tool: t, ${when}, ${then}`)}---\na: 1\n`, /more than 1 document/],
    [
      'no apiVersion',
      pre(`tool: t, ${when}, ${then}`).replace('apiVersion: service/v1\n', ''),
      /^apiVersion: expected/,
    ],
    [
      'another apiVersion',
      pre(`tool: t, ${when}, ${then}`).replace('service/v1', 'service/v2'),
      /^apiVersion: expected/,
    ],
    [
      'another kind',
      pre(`tool: t, ${when}, ${then}`).replace('ContractBundle', 'Pod'),
      /^kind: expected ContractBundle or Ruleset/,
    ],
    [
      'the wrong list for the kind',
      pre(`tool: t, ${when}, ${then}`).replace('ContractBundle', 'Ruleset'),
      /contracts: unexpected key/,
    ],
    [
      'no defaults',
      pre(`tool: t, ${when}, ${then}`).replace('defaults: {mode: enforce}\n', ''),
      /^defaults: expected a mapping/,
    ],
    [
      'an unknown mode',
      pre(`tool: t, ${when}, ${then}`).replace('{mode: enforce}', '{mode: off}'),
      /^defaults.mode: expected enforce or observe \(line 4, column 12\)/,
    ],
    ['an unknown key at the top', `${pre(`tool: t, ${when}, ${then}`)}extra: 1\n`, /^extra: unexpected key/],
    ['extends', `${pre(`tool: t, ${when}, ${then}`)}extends: b\n`, /extends is not supported/],
    [
      'a bad name',
      pre(`tool: t, ${when}, ${then}`).replace('name: a', 'name: A'),
      /^metadata.name: expected to match/,
    ],
    ['no contracts', `${head}contracts: []`, /^contracts: expected a list of at least one contract/],
    ['contracts as text', `${head}contracts: all`, /^contracts: expected a list/],
    ['a contract as text', `${head}contracts: [x]`, /^contracts\[0\]: expected a mapping/],
    [
      'no type',
      `${head}contracts: [{id: a, tool: t, ${when}, ${then}}]`,
      /contract 'a': contracts\[0\].type: expected pre or post/,
    ],
    ['no id', `${head}contracts: [{type: pre, tool: t, ${when}, ${then}}]`, /contracts\[0\].id/],
    [
      'an id with a dot',
      `${head}contracts: [{id: a.b, type: pre, tool: t, ${when}, ${then}}]`,
      /contracts\[0\].id/,
    ],
    [
      'an id twice',
      `${head}contracts:\n  - {id: a, type: pre, tool: t, ${when}, ${then}}\n  - {id: a, type: pre, tool: t, ${when}, ${then}}`,
      /contract 'a': contracts\[1\].id: expected a unique id.*line 7/,
    ],
    ['no tool', pre(`${when}, ${then}`), /expected tool/],
    ['tool and tools', pre(`tool: a, tools: [b], ${when}, ${then}`), /tool or tools, not both/],
    ['an empty tool', pre(`tool: "", ${when}, ${then}`), /\.tool: expected a string/],
    ['no tools', pre(`tools: [], ${when}, ${then}`), /\.tools: expected a list of 1/],
    ['no when', pre(`tool: t, ${then}`), /\.when: expected a mapping/],
    ['an empty when', pre(`tool: t, when: {}, ${then}`), /expected at least one condition/],
    [
      'an empty all',
      pre(`tool: t, when: {all: []}, ${then}`),
      /\.when\.all: expected a list of at least one/,
    ],
    [
      'not with a list',
      pre(`tool: t, when: {not: [{args.a: {exists: true}}]}, ${then}`),
      /\.when\.not: expected a mapping/,
    ],
    [
      'any beside a selector',
      pre(`tool: t, when: {any: [{args.a: {exists: true}}], args.b: {exists: true}}, ${then}`),
      /any to be the only key/,
    ],
    [
      'an unknown operator',
      pre(`tool: t, when: {args.a: {like: x}}, ${then}`),
      /when\.args\.a\.like: unknown operator/,
    ],
    [
      'a selector without an operator',
      pre(`tool: t, when: {args.a: x}, ${then}`),
      /expected a mapping of at least one operator/,
    ],
    [
      'output in a pre contract',
      pre(`tool: t, when: {output.text: {contains: x}}, ${then}`),
      /output.text is only known after the call/,
    ],
    [
      'a result in a pre contract',
      pre(`tool: t, when: {any: [{result.x: {contains: x}}]}, ${then}`),
      /result.x is only known/,
    ],
    [
      'a backreference',
      pre(`tool: t, when: {args.a: {matches: "(a)\\\\1"}}, ${then}`),
      /matches: Invalid pattern: backreferences/,
    ],
    [
      'a broken pattern in a list',
      pre(`tool: t, when: {args.a: {matches_any: [ok, "("]}}, ${then}`),
      /matches_any\[1\]: Invalid pattern: missing \)/,
    ],
    ['an empty pattern', pre(`tool: t, when: {args.a: {matches: ""}}, ${then}`), /expected a string of 1/],
    [
      'a pattern that explodes',
      pre(`tool: t, when: {args.a: {matches: "(a{900}){900}"}}, ${then}`),
      /more than 2000 steps/,
    ],
    [
      'exists with text',
      pre(`tool: t, when: {args.a: {exists: "yes"}}, ${then}`),
      /exists: expected true or false/,
    ],
    ['in without a list', pre(`tool: t, when: {args.a: {in: x}}, ${then}`), /in: expected a list/],
    ['in with an empty list', pre(`tool: t, when: {args.a: {in: []}}, ${then}`), /in: expected a list/],
    [
      'contains with a number',
      pre(`tool: t, when: {args.a: {contains: 5}}, ${then}`),
      /contains: expected a string/,
    ],
    ['gt with a numeric string', pre(`tool: t, when: {args.a: {gt: "5"}}, ${then}`), /gt: expected a number/],
    [
      'conditions nested too deep',
      pre(`tool: t, when: ${'{not: '.repeat(51)}{args.a: {exists: true}}${'}'.repeat(51)}, ${then}`),
      /nested at most 50 deep/,
    ],
    [
      'too many conditions',
      pre(`tool: t, when: {all: [${'{a: {exists: true}},'.repeat(101)}]}, ${then}`),
      /at most 100 conditions; there are 101/,
    ],
    [
      'an effect of another type',
      pre(`tool: t, ${when}, then: {effect: warn, message: m}`),
      /then\.effect: expected deny or approve/,
    ],
    [
      'the word of the other vocabulary',
      pre(`tool: t, ${when}, then: {effect: block, message: m}`),
      /then\.effect: expected deny or approve/,
    ],
    [
      'the key of the other vocabulary',
      pre(`tool: t, ${when}, then: {action: deny, message: m}`),
      /then\.action: unexpected key/,
    ],
    [
      'no message',
      pre(`tool: t, ${when}, then: {effect: deny}`),
      /then\.message: expected a string of 1 to 500/,
    ],
    [
      'a long message',
      pre(`tool: t, ${when}, then: {effect: deny, message: ${'m'.repeat(501)}}`),
      /1 to 500 characters/,
    ],
    [
      'a timeout of zero',
      pre(`tool: t, ${when}, then: {effect: approve, message: m, timeout: 0}`),
      /timeout: expected a whole number/,
    ],
    [
      'an unknown timeout effect',
      pre(`tool: t, ${when}, then: {effect: approve, message: m, timeout_effect: maybe}`),
      /timeout_effect: expected deny or allow/,
    ],
    ['an empty tag', pre(`tool: t, ${when}, then: {effect: deny, message: m, tags: [""]}`), /tags\[0\]/],
    ['enabled as text', pre(`tool: t, enabled: "no", ${when}, ${then}`), /enabled: expected true or false/],
    ['an unknown key in a contract', pre(`tool: t, wen: 1, ${when}, ${then}`), /wen: unexpected key/],
    [
      'timeout on a post contract',
      `${head}contracts: [{id: a, type: post, tool: t, ${when}, then: {effect: warn, message: m, timeout: 5}}]`,
      /timeout: unexpected key/,
    ],
    [
      'a session with a tool',
      `${head}contracts: [{id: a, type: session, tool: t, limits: {max_attempts: 1}, ${then}}]`,
      /tool: unexpected key/,
    ],
    [
      'a session without limits',
      `${head}contracts: [{id: a, type: session, limits: {}, ${then}}]`,
      /expected at least one of max_tool_calls/,
    ],
    [
      'a limit of zero',
      `${head}contracts: [{id: a, type: session, limits: {max_calls_per_tool: {t: 0}}, ${then}}]`,
      /max_calls_per_tool\.t: expected a whole number/,
    ],
    ['a sandbox without bounds', box('timeout: 5'), /expected at least one of within, allows/],
    ['not_within alone', box('allows: {commands: [ls]}, not_within: [/x]'), /not_within needs within/],
    ['not_allows alone', box('within: [/x], not_allows: {domains: [a]}'), /not_allows needs allows/],
    [
      'not_allows.domains without allows.domains',
      box('allows: {commands: [ls]}, not_allows: {domains: [a]}'),
      /needs allows.domains/,
    ],
    ['an empty allows', box('allows: {}'), /expected commands or domains/],
    ['then in a sandbox', box(`within: [/x], ${then}`), /then: unexpected key/],
    [
      'an unknown side effect',
      `${pre(`tool: t, ${when}, ${then}`)}tools: {t: {side_effect: none}}\n`,
      /tools\.t\.side_effect: expected pure or/,
    ],
    [
      'an unknown protocol',
      `${pre(`tool: t, ${when}, ${then}`)}observability: {otel: {protocol: udp}}\n`,
      /protocol: expected grpc or http/,
    ],
    [
      'a prototype key',
      pre(`tool: t, when: {__proto__: {exists: true}}, ${then}`),
      /__proto__ is not allowed/,
    ],
  ];
  it.each(hostile)('refuses %s', (_name, text, expected) => {
    const problems = validateBundle(text);
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

  it('bounds what all patterns cost together', () => {
    const rules = Array.from({ length: 90 }, (_, i) => {
      const list = Array(3).fill('"(a{40}){45}"').join(', ');
      return `  - {id: c${i}, type: pre, tool: t, when: {args.a: {matches_any: [${list}]}}, ${then}}\n`;
    });
    expect(validateBundle(`${head}contracts:\n${rules.join('')}`).join('\n')).toMatch(
      /at most 200000 steps together/,
    );
  });

  it('accepts the versions, kinds and operators it is told to', () => {
    const text = pre(`tool: t, when: {args.a: {luhn: true}}, ${then}`);
    expect(validateBundle(text, { operators: ['luhn'] })).toEqual([]);
    expect(validateBundle(text, { operators: ['luhn'], apiVersions: ['acme/v1'] })).toHaveLength(1);
    expect(validateBundle(text, { operators: ['luhn'], bundleKinds: [] })).not.toEqual([]);
  });
});
