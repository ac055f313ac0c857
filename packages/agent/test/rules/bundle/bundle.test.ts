import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assembleBundle, type CompositionItem } from '../../../src/rules/bundle/assembly.ts';
import { decomposeBundle } from '../../../src/rules/bundle/decomposition.ts';
import { readBundle } from '../../../src/rules/bundle/document.ts';
import { readBundleHeader } from '../../../src/rules/bundle/header.ts';
import { validateBundle } from '../../../src/rules/bundle/validation.ts';
import { compileBundle } from '../../../src/rules/evaluate/compile.ts';
import { evaluateCall } from '../../../src/rules/evaluate/live.ts';
import { type JsonObject, parseYaml } from '../../../src/rules/yaml.ts';

const mapping = (yaml: string) => parseYaml(yaml)[0]?.value as JsonObject;
const guard = mapping(`
tools: [read_file]
when: {args.path: {matches: '\\.env$'}}
then: {effect: deny, message: No secrets}
`);
const item = (over: Partial<CompositionItem> = {}): CompositionItem => ({
  contractId: 'no-env',
  version: 1,
  position: 10,
  modeOverride: null,
  enabled: true,
  type: 'pre',
  definition: guard,
  ...over,
});

describe('readBundleHeader', () => {
  it('gives the name and the number of contracts or rules', () => {
    expect(readBundleHeader('metadata: {name: a.b-c_1}\ncontracts: [1, 2]')).toEqual({
      name: 'a.b-c_1',
      kind: null,
      contractCount: 2,
      mode: 'enforce',
      description: null,
    });
    expect(readBundleHeader('kind: Ruleset\nmetadata: {name: a}\nrules: [1]')).toMatchObject({
      name: 'a',
      kind: 'Ruleset',
      contractCount: 1,
    });
    expect(readBundleHeader('metadata: {name: a}')).toMatchObject({ kind: null, contractCount: 0 });
    for (const list of ['{}', 'null', 'none', '[]'])
      expect(readBundleHeader(`metadata: {name: a}\ncontracts: ${list}`).contractCount, list).toBe(0);
  });

  it.each([
    ['', 'enforce'],
    ['defaults: null', 'enforce'],
    ['defaults: {}', 'enforce'],
    ['defaults: {mode: enforce}', 'enforce'],
    ['defaults: {mode: observe}', 'observe'],
    ['defaults: {mode: dry}', null],
    ['defaults: observe', null],
    ['defaults: [observe]', null],
  ])('takes the mode of rules from %j', (line, mode) => {
    expect(readBundleHeader(`metadata: {name: a}\n${line}\n`).mode).toBe(mode);
  });

  it('gives the beginning of the description, and never half a character', () => {
    const described = (text: unknown) =>
      readBundleHeader(JSON.stringify({ metadata: { name: 'a', description: text } })).description;
    expect(described('What mail agents may do')).toBe('What mail agents may do');
    expect(described('')).toBeNull();
    expect(described(7)).toBeNull();
    expect(described(`a${'🦄'.repeat(3000)}`)).toBe(`a${'🦄'.repeat(1999)}`);
  });

  it.each([
    ['a: [', /^Invalid YAML: .*line 1, column/],
    ['', /^Invalid YAML: expected a mapping at the top level$/],
    ['- a', /^Invalid YAML: expected a mapping at the top level$/],
    ['just text', /^Invalid YAML: expected a mapping at the top level$/],
    ['a: 1', /^Missing required field: metadata.name$/],
    ['metadata: text', /^Missing required field: metadata.name$/],
    ['metadata: [name]', /^Missing required field: metadata.name$/],
    ['metadata: {name: ""}', /^Missing required field: metadata.name$/],
    ['metadata: {name: 5}', /^Invalid metadata.name: expected a string/],
    ['metadata: {name: Big}', /^Invalid metadata.name: expected to match/],
    ['metadata: {name: evaluate}', /reserved/],
    ['metadata: {name: current}', /reserved/],
    [`metadata: {name: ${'a'.repeat(129)}}`, /at most 128/],
    ['metadata: {name: a}\n---\nmetadata: {name: b}', /more than 1 document/],
    [`metadata: {name: a}\ncontracts: [${'1,'.repeat(501)}]`, /at most 500 contracts/],
  ])('refuses %s', (text, expected) => {
    expect(() => readBundleHeader(text)).toThrow(expected);
  });
});

describe('assembleBundle', () => {
  it('writes keys in the fixed order, with id and type first and the mode last', () => {
    const { yaml, assembled } = assembleBundle({
      name: 'base',
      description: 'All agents',
      defaultsMode: 'enforce',
      items: [item()],
      toolsConfig: { read_file: { side_effect: 'read' } },
      observability: { stdout: true },
    });
    expect(yaml).toBe(`apiVersion: service/v1
kind: ContractBundle
metadata:
  name: base
  description: All agents
defaults:
  mode: enforce
contracts:
  - id: no-env
    type: pre
    tool: read_file
    when:
      args.path:
        matches: \\.env$
    then:
      effect: deny
      message: No secrets
    mode: enforce
tools:
  read_file:
    side_effect: read
observability:
  stdout: true
`);
    expect(assembled).toEqual([{ contract_id: 'no-env', version: 1, mode: 'enforce', observe: false }]);
    expect(validateBundle(yaml)).toEqual([]);
  });

  describe('conditions', () => {
    const whenOf = (when: JsonObject): unknown => {
      const definition = { ...guard, when };
      const { yaml } = assembleBundle({ name: 'a', defaultsMode: 'enforce', items: [item({ definition })] });
      return (mapping(yaml).contracts as JsonObject[])[0]?.when;
    };

    it('are written one to a mapping, at any depth', () => {
      const [a, b] = [{ 'args.a': { gt: 1 } }, { 'args.b': { lt: 5 } }];
      expect(whenOf({ ...a, ...b })).toEqual({ all: [a, b] });
      expect(whenOf({ 'args.a': { gt: 1, lt: 5 } })).toEqual({ all: [a, { 'args.a': { lt: 5 } }] });
      expect(whenOf({ any: [{ not: { ...a, ...b } }, a] })).toEqual({ any: [{ not: { all: [a, b] } }, a] });
      expect(whenOf({ all: [{ ...b, ...a }, { any: [{ ...a, ...b }] }] })).toEqual({
        all: [b, a, { any: [{ all: [a, b] }] }],
      });
      // As deep as a condition may be, several still stand in the list above them.
      let deep: JsonObject = { all: [{ ...a, ...b }] };
      for (let i = 0; i < 48; i++) deep = { not: deep };
      expect(JSON.stringify(whenOf(deep))).toContain(JSON.stringify({ all: [a, b] }));
    });

    it('that are one already stay as they are, byte for byte', () => {
      const when = { all: [{ all: [{ 'args.a': { gt: 1 } }] }, { not: { any: [{ 'args.b': { lt: 5 } }] } }] };
      expect(whenOf(when)).toEqual(when);
    });

    it('have the form that released clients read, and mean what they meant', () => {
      const leaf = fc.tuple(
        fc.constantFrom('args.a', 'args.b', 'environment', 'principal.role'),
        fc.dictionary(fc.constantFrom('gt', 'lt', 'equals', 'not_equals'), fc.integer({ min: 0, max: 3 }), {
          minKeys: 1,
          maxKeys: 3,
        }),
      );
      const leaves = fc
        .uniqueArray(leaf, { selector: ([selector]) => selector, minLength: 1, maxLength: 3 })
        .map((entries) => Object.fromEntries(entries));
      const { node } = fc.letrec<{ node: JsonObject }>((tie) => ({
        node: fc.oneof(
          { depthSize: 'small' },
          leaves,
          fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((all) => ({ all })),
          fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
          tie('node').map((not) => ({ not })),
        ),
      }));
      /** A node is all, any, not, or one selector with one operator. */
      const isSafe = (value: unknown): boolean => {
        const entries = Object.entries(value as JsonObject);
        const [[key, inner] = ['', null]] = entries;
        if (entries.length !== 1) return false;
        if (key === 'all' || key === 'any')
          return (inner as unknown[]).length > 0 && (inner as unknown[]).every(isSafe);
        return key === 'not' ? isSafe(inner) : Object.keys(inner as JsonObject).length === 1;
      };
      const call = fc.record({
        tool: fc.constant('read_file'),
        args: fc.dictionary(
          fc.constantFrom('a', 'b'),
          fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant('x')),
        ),
      });
      fc.assert(
        fc.property(node, fc.array(call, { minLength: 3, maxLength: 3 }), (when, calls) => {
          const written = whenOf(when) as JsonObject;
          expect([written, isSafe(written)]).toEqual([written, true]);
          const judge = (condition: JsonObject) => {
            const definition = { ...guard, when: condition };
            const bundle = { apiVersion: 'service/v1', kind: 'ContractBundle', metadata: { name: 'a' } };
            const compiled = compileBundle(
              JSON.stringify({
                ...bundle,
                defaults: { mode: 'enforce' },
                contracts: [{ id: 'a', type: 'pre', ...definition }],
              }),
            );
            if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
            return calls.map((one) => {
              const { verdict, policyError } = evaluateCall(compiled.bundle, one);
              return [verdict, policyError];
            });
          };
          expect(judge(written)).toEqual(judge(when));
        }),
        { numRuns: 300, seed: 11 },
      );
    });
  });

  it('writes a contract of several tools once for each, under ids that nothing else has', () => {
    const many = { ...guard, tools: ['a', 'b', 'a', 'c'] };
    const { yaml, assembled } = assembleBundle({
      name: 'base',
      defaultsMode: 'enforce',
      items: [
        item({ contractId: 'x', position: 0, definition: many }),
        item({ contractId: 'x', position: 1, modeOverride: 'observe', definition: many }),
        item({ contractId: 'x-2', position: 2 }),
        item({
          contractId: 'box',
          type: 'sandbox',
          position: 3,
          definition: { tools: ['a', 'b'], within: ['/w'], message: 'm' },
        }),
      ],
    });
    expect(validateBundle(yaml)).toEqual([]);
    const read = readBundle(yaml);
    if (!read.ok) throw new Error('refused');
    expect(
      read.documents[0]?.rules.map((rule) =>
        rule.type === 'session' ? rule.id : `${rule.id} ${rule.tools.join()} ${rule.mode}`,
      ),
    ).toEqual([
      'x a enforce',
      'x-3 b enforce',
      'x-4 c enforce',
      'x-obs a observe',
      'x-obs-2 b observe',
      'x-obs-3 c observe',
      'x-2 read_file enforce',
      'box a,b enforce',
    ]);
    expect(assembled.map(({ contract_id, observe, entries }) => [contract_id, observe, entries])).toEqual([
      ['x', false, ['x', 'x-3', 'x-4']],
      ['x', true, ['x-obs', 'x-obs-2', 'x-obs-3']],
      ['x-2', false, undefined],
      ['box', false, undefined],
    ]);
    expect(assembleBundle({ name: 'base', defaultsMode: 'enforce', items: [] }).yaml).toBe('');
  });

  it('takes enabled items by position, then contract id', () => {
    const { assembled } = assembleBundle({
      name: 'base',
      defaultsMode: 'observe',
      items: [
        item({ contractId: 'c', position: 20 }),
        item({ contractId: 'b', position: 10 }),
        item({ contractId: 'a', position: 10 }),
        item({ contractId: 'x', position: 1, enabled: false }),
      ],
    });
    expect(assembled.map((one) => one.contract_id)).toEqual(['a', 'b', 'c']);
  });

  it('prefers the override, then the definition, then the composition for the mode', () => {
    const { assembled } = assembleBundle({
      name: 'base',
      defaultsMode: 'enforce',
      items: [
        item({ contractId: 'a', modeOverride: 'enforce', definition: { ...guard, mode: 'observe' } }),
        item({ contractId: 'b', definition: { ...guard, mode: 'observe' } }),
        item({ contractId: 'c' }),
      ],
    });
    expect(assembled.map((one) => one.mode)).toEqual(['enforce', 'observe', 'enforce']);
  });

  it('gives the entries and the copy of a contract with the longest id ids that fit', () => {
    const contractId = 'x'.repeat(128);
    const definition = { ...guard, tool: undefined, tools: ['a', 'b'] } as unknown as typeof guard;
    const { yaml } = assembleBundle({
      name: 'base',
      defaultsMode: 'enforce',
      items: [item({ contractId, definition }), item({ contractId, definition, position: 11 })],
    });
    expect(validateBundle(yaml)).toEqual([]);
    const ids = (mapping(yaml).contracts as { id: string }[]).map(({ id }) => id);
    const [head, body] = ['x'.repeat(126), 'x'.repeat(124)];
    expect(ids).toEqual([contractId, `${head}-2`, `${body}-obs`, expect.stringMatching(/^x{124,126}.*-\d$/)]);
    expect(new Set(ids).size).toBe(4);
  });

  it('gives a repeated contract its own id and marks it as observing', () => {
    const { yaml, assembled } = assembleBundle({
      name: 'base',
      defaultsMode: 'enforce',
      items: [
        item(),
        item({ version: 2, position: 11, modeOverride: 'observe' }),
        item({ contractId: 'no-env-obs', position: 12 }),
      ],
    });
    const list = mapping(yaml).contracts as { id: string }[];
    expect(list.map((entry) => entry.id)).toEqual(['no-env', 'no-env-obs-2', 'no-env-obs']);
    expect(assembled.map(({ observe, entries }) => [observe, entries])).toEqual([
      [false, undefined],
      [true, ['no-env-obs-2']],
      [false, undefined],
    ]);
    expect(validateBundle(yaml)).toEqual([]);
  });

  it('writes rulesets in their own words, whatever the definition uses', () => {
    const { yaml } = assembleBundle({
      name: 'base',
      defaultsMode: 'enforce',
      kind: 'Ruleset',
      apiVersion: 'acme/v1',
      items: [
        item({
          definition: mapping(
            '{tool: x, when: {args.a: {exists: true}}, then: {effect: approve, message: m, timeout_effect: deny}}',
          ),
        }),
        item({
          contractId: 'box',
          type: 'sandbox',
          position: 11,
          definition: { tool: 'x', within: ['/w'], outside: 'approve', message: 'm' },
        }),
      ],
    });
    const document = mapping(yaml);
    expect(document.apiVersion).toBe('acme/v1');
    expect(document.rules).toMatchObject(
      mapping('[{then: {action: ask, timeout_action: block}}, {outside: ask}]') as never,
    );
    expect(validateBundle(yaml)).toEqual([]);
  });

  it('gives nothing when nothing is enabled', () => {
    expect(assembleBundle({ name: 'a', defaultsMode: 'enforce', items: [item({ enabled: false })] })).toEqual(
      {
        yaml: '',
        assembled: [],
      },
    );
  });

  it('comes back from an import as it went in', () => {
    const { yaml } = assembleBundle({
      name: 'base',
      defaultsMode: 'observe',
      items: [item()],
      toolsConfig: { t: { side_effect: 'pure' } },
    });
    const back = decomposeBundle(yaml);
    expect(back).toEqual({
      name: 'base',
      documentKind: 'bundle',
      description: null,
      defaultsMode: 'observe',
      toolsConfig: { t: { side_effect: 'pure' } },
      observability: null,
      contracts: [
        {
          contractId: 'no-env',
          type: 'pre',
          name: 'No Env',
          // Released clients know one tool, which an import then has.
          definition: { type: 'pre', tool: 'read_file', when: guard.when, then: guard.then, mode: 'observe' },
        },
      ],
    });
  });
});

describe('decomposeBundle', () => {
  const head = 'apiVersion: acme/v1\nkind: ContractBundle\nmetadata: {name: a}\n';

  it('takes rulesets too, in the words of contracts', () => {
    const { documentKind, contracts } = decomposeBundle(
      'apiVersion: service/v1\nkind: Ruleset\nmetadata: {name: a}\nrules:\n  - id: x_y\n    then: {action: block, message: m}\n',
    );
    expect(documentKind).toBe('ruleset');
    expect(contracts).toEqual([
      {
        contractId: 'x_y',
        type: 'pre',
        name: 'X Y',
        definition: mapping('{then: {effect: deny, message: m}}'),
      },
    ]);
  });

  it.each([
    ['kind: ContractBundle\nmetadata: {name: a}\ncontracts: [{id: a}]', /apiVersion/],
    ['apiVersion: v1\nkind: ContractBundle\nmetadata: {name: a}\ncontracts: [{id: a}]', /apiVersion/],
    ['apiVersion: a/v1\nkind: Other\nmetadata: {name: a}\ncontracts: [{id: a}]', /kind/],
    ['apiVersion: a/v1\nkind: ContractBundle\ncontracts: [{id: a}]', /metadata.name/],
    [`${head}contracts: []`, /Missing required field: contracts/],
    [`${head}rules: [{id: a}]`, /Missing required field: contracts/],
    [`${head}contracts: [a]`, /contracts\[0\]: expected a mapping \(line 4, column 13\)/],
    [`${head}contracts: [{type: pre}]`, /contracts\[0\].id/],
    [`${head}contracts: [{id: Big}]`, /contracts\[0\].id/],
    [`${head}contracts: [{id: 7}]`, /contracts\[0\].id/],
    [`${head}contracts: [{id: ${'a'.repeat(129)}}]`, /at most 128/],
    [`${head}contracts: [{id: a}, {id: a}]`, /used twice/],
    [`${head}contracts: [{id: a, type: other}]`, /contracts\[0\].type/],
    [`${head}contracts: [{id: a, type: 1}]`, /contracts\[0\].type/],
    [`${head}defaults: {mode: off}\ncontracts: [{id: a}]`, /defaults.mode/],
    [
      `${head}contracts:\n${Array.from({ length: 101 }, (_, i) => `  - id: c${i}\n`).join('')}`,
      /At most 100/,
    ],
  ])('refuses %s', (text, expected) => {
    expect(() => decomposeBundle(text)).toThrow(expected);
  });
});
