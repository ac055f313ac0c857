// A dry run in an evaluator's thread: what it remembers changes no answer, and no key of a hub is shown.
import { expect, it } from 'vitest';
import { type EvaluateTask, evaluate } from '../../../../adapters/node/evaluator/evaluation.ts';
import { bundleYaml } from '../../../contract/library.ts';

const task = (
  yaml: string,
  args: { readonly [name: string]: string },
  more: Partial<EvaluateTask> = {},
): EvaluateTask => ({
  tenantId: 'a',
  request: {
    yaml,
    call: { tool: 'read_file', args },
    toolArguments: {},
    words: { tools: [], selectors: [], operators: [] },
  },
  accepted: {},
  keyPrefix: 'svk_',
  ...more,
});

it('gives the same answer from memory as from the text, with the findings, for each call', () => {
  const yaml = bundleYaml('team', ['a', 'b']).replace('args.path', 'geo.country').replace('^/etc/', '^/x');
  const answers = ['/etc/x', '/home', '/etc/y'].map((path) => {
    const { evaluation_time_ms: _, ...first } = evaluate(task(yaml, { path }));
    const { evaluation_time_ms: __, ...again } = evaluate(task(yaml, { path }));
    expect(again).toEqual(first);
    expect(first.warnings).toMatchObject([{ code: 'unknown-root' }]);
    return first.verdict;
  });
  expect(answers).toEqual(['deny', 'allow', 'deny']);
});

it('does not take a text for compiled under other words, other tools or by another tenant', () => {
  const yaml = bundleYaml('team').replace('{matches: ^/etc/}', '{in_network: x}');
  const known = task(yaml, { path: 'x' });
  const words = { tools: [], selectors: [], operators: ['in_network'] };
  const { verdict, contracts_evaluated } = evaluate({ ...known, request: { ...known.request, words } });
  expect([verdict, contracts_evaluated[0]?.trace]).toMatchObject(['deny', { outcome: 'fault', value: 'x' }]);
  expect(() => evaluate(known)).toThrow('unknown operator');
  const box = `${bundleYaml('team', [])}  - {id: box, type: sandbox, tools: ["*"], within: [/w], message: out}\n`;
  const boxed = task(box, { input: '../x' });
  expect(evaluate(boxed).verdict).toBe('deny');
  const toolArguments = { read_file: { input: 'content' as const } };
  expect(evaluate({ ...boxed, request: { ...boxed.request, toolArguments } }).verdict).toBe('allow');
  expect(evaluate(boxed).verdict).toBe('deny');
});

it.each(['svk_', 'acme_'])(
  'shows no key of a hub whose keys begin with %s, nor one of the default prefix',
  (keyPrefix) => {
    const yaml = bundleYaml('team')
      .replace('{matches: ^/etc/}', '{exists: true}')
      .replace('Not that file.', '"Not {args.path}"');
    for (const prefix of new Set(['svk_', keyPrefix])) {
      const key = `${prefix}production_${'a1B2'.repeat(8)}`;
      for (const path of [key, `Bearer of ${key} there`]) {
        const answer = evaluate(task(yaml, { path }, { keyPrefix }));
        expect(answer.verdict).toBe('deny');
        expect(JSON.stringify(answer.contracts_evaluated[0]?.trace)).not.toContain('a1B2');
      }
      expect(evaluate(task(yaml, { path: key }, { keyPrefix })).contracts_evaluated[0]?.message).toBe(
        'Not [REDACTED]',
      );
    }
  },
);
