// The words of `kind` and `apiVersion` are configured: which are accepted, which is written, and in whose vocabulary.
import { describe, expect, it } from 'vitest';
import { Guard } from '../../../src/index.ts';
import { assembleBundle } from '../../../src/rules/bundle/assembly.ts';
import { decomposeBundle } from '../../../src/rules/bundle/decomposition.ts';
import { validateBundle } from '../../../src/rules/bundle/validation.ts';
import { vocabularyOf } from '../../../src/rules/bundle/vocabulary.ts';
import { compileBundle } from '../../../src/rules/evaluate/compile.ts';
import { evaluateCall } from '../../../src/rules/evaluate/live.ts';
import { parseYaml } from '../../../src/rules/yaml.ts';

const acme = { apiVersions: ['acme/v1'], bundleKinds: ['AcmeBundle'], rulesetKinds: ['AcmeRules'] };
const when = 'when: {args.p: {exists: true}}';
const bundle = (kind: string, apiVersion = 'acme/v1') =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\ndefaults: {mode: enforce}\ncontracts: [{id: a, type: pre, tool: t, ${when}, then: {effect: approve, message: m, timeout_effect: allow}}]\n`;
const ruleset = (kind: string, apiVersion = 'acme/v1') =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\nrules: [{id: a, type: pre, tool: t, ${when}, then: {action: ask, message: m, timeout_action: allow}}]\n`;

describe('kinds', () => {
  it.each([
    ['a bundle by its default kind', bundle('ContractBundle', 'service/v1'), {}, []],
    ['a ruleset by its default kind', ruleset('Ruleset', 'service/v1'), {}, []],
    ['a bundle by another kind', bundle('AcmeBundle'), acme, []],
    ['a ruleset by another kind', ruleset('AcmeRules'), acme, []],
    ['rulesets alone', ruleset('AcmeRules'), { rulesetKinds: ['AcmeRules'], bundleKinds: [] }, []],
    [
      'no default kind once others are configured',
      bundle('ContractBundle'),
      acme,
      ['kind: expected AcmeBundle or AcmeRules (line 2, column 1)'],
    ],
    [
      'no other apiVersion',
      bundle('AcmeBundle', 'service/v1'),
      acme,
      ['apiVersion: expected acme/v1 (line 1, column 1)'],
    ],
    [
      'no custom kind by default',
      bundle('AcmeBundle', 'service/v1'),
      {},
      ['kind: expected ContractBundle or Ruleset (line 2, column 1)'],
    ],
  ])('accepts %s', (_name, text, options, problems) => {
    expect(validateBundle(text, options)).toEqual(problems);
  });

  it('checks the contracts of a document whose kind is unknown, too', () => {
    expect(validateBundle(ruleset('Other').replace('action: ask', 'action: nope'), acme)).toEqual([
      expect.stringMatching(/^kind: expected/),
      expect.stringMatching(/^rule 'a': rules\[0\]\.then\.action: expected block or ask/),
    ]);
  });

  it('takes a kind of both lists for a ruleset, whose words its clients write', () => {
    const both = { bundleKinds: ['Ruleset'] };
    expect(vocabularyOf('Ruleset', both)).toMatchObject({ list: 'rules' });
    expect(vocabularyOf('ContractBundle', both)).toBeUndefined();
    expect(vocabularyOf(7, both)).toBeUndefined();
    const { yaml } = assembleBundle({
      ...both,
      name: 'a',
      defaultsMode: 'enforce',
      kind: 'Ruleset',
      items: [
        {
          contractId: 'c',
          version: 1,
          position: 1,
          modeOverride: null,
          enabled: true,
          type: 'pre',
          definition: decomposeBundle(bundle('ContractBundle')).contracts[0]?.definition ?? {},
        },
      ],
    });
    expect(parseYaml(yaml)[0]?.value).toMatchObject({ kind: 'Ruleset', rules: [{ id: 'c' }] });
    expect(validateBundle(yaml, both)).toEqual([]);
  });

  it('writes the configured kind, in the words of its vocabulary, and reads it back', () => {
    const [contract] = decomposeBundle(ruleset('AcmeRules'), acme).contracts;
    expect(contract?.definition).toMatchObject(
      // Built from entries: an object with that key would look like a promise.
      Object.fromEntries([['then', { effect: 'approve', message: 'm', timeout_effect: 'allow' }]]),
    );
    for (const kind of ['AcmeBundle', 'AcmeRules']) {
      const { yaml } = assembleBundle({
        ...acme,
        name: 'a',
        defaultsMode: 'enforce',
        apiVersion: 'acme/v1',
        kind,
        items: [
          {
            contractId: 'c',
            version: 1,
            position: 1,
            modeOverride: null,
            enabled: true,
            type: 'pre',
            definition: contract?.definition ?? {},
          },
        ],
      });
      expect(yaml).toMatch(new RegExp(`^apiVersion: acme/v1\nkind: ${kind}\n`));
      expect(yaml).toContain(kind === 'AcmeRules' ? 'action: ask' : 'effect: approve');
      expect(validateBundle(yaml, acme)).toEqual([]);
    }
  });

  it('decides the same call the same way in both vocabularies', () => {
    const decide = (text: string) => {
      const compiled = compileBundle(text, acme);
      if (!compiled.ok) throw new Error(compiled.problems[0]?.message);
      return evaluateCall(compiled.bundle, { tool: 't', args: { p: 1 } });
    };
    expect(decide(bundle('AcmeBundle'))).toMatchObject({
      verdict: 'approve',
      approval: { timeout: 300, timeoutEffect: 'allow' },
    });
    expect(decide(ruleset('AcmeRules'))).toEqual(decide(bundle('AcmeBundle')));
  });

  it('are an option of the agent library, for its first bundle and for every later one', async () => {
    const guard = Guard.fromYaml(bundle('AcmeBundle'), acme);
    guard.reload(ruleset('AcmeRules'));
    expect(guard.evaluate('t', { p: 1 }).verdict).toBe('approve');
    expect(() => guard.reload(bundle('ContractBundle'))).toThrow(/kind: expected AcmeBundle or AcmeRules/);
    expect(() => Guard.fromYaml(bundle('AcmeBundle'))).toThrow(/kind: expected ContractBundle or Ruleset/);
    expect(guard.evaluate('t', { p: 1 }).verdict).toBe('approve');
    await guard.close();
  });
});
