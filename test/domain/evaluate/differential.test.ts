import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compileBundle } from '../../../src/domain/evaluate/compile.ts';
import { globMatch } from '../../../src/domain/evaluate/glob.ts';
import { evaluateCall } from '../../../src/domain/evaluate/live.ts';
import { dryRun } from '../../../src/domain/evaluate/playground.ts';
import { evaluatePost } from '../../../src/domain/evaluate/post.ts';
import { fnmatch, interpret, type ReferenceCall } from '../../reference/interpreter.ts';

const word = fc.constantFrom('', 'a', 'ab', 'rm -rf /', '.env', 'PROD', 'prod', 'x'.repeat(30), 'é😀');
const scalar = fc.oneof(word, fc.constantFrom(0, 1, -1, 2.5, 100), fc.boolean(), fc.constant(null));
const value = fc.oneof(
  { weight: 4, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 2 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('x', 'y'), scalar, { maxKeys: 2 }) },
);
const present = value.filter((one) => one !== null);
const pattern = fc.constantFrom(
  'a',
  '^a',
  'b$',
  '(?i)prod',
  '\\.env$',
  'rm\\s+-rf',
  '^(a|b)+$',
  '[^a-z]',
  '^$',
  'x{10,}',
);
const number = fc.constantFrom(-1, 0, 1, 2.5, 99);
const operation = fc.oneof(
  fc.record({ exists: fc.boolean() }),
  fc.record({ equals: present }),
  fc.record({ not_equals: present }),
  fc.record({ in: fc.array(present, { minLength: 1, maxLength: 3 }) }),
  fc.record({ not_in: fc.array(present, { minLength: 1, maxLength: 3 }) }),
  fc.record({ contains: word }),
  fc.record({
    contains_any: fc.array(
      word.filter((one) => one !== ''),
      { minLength: 1, maxLength: 2 },
    ),
  }),
  fc.record({ starts_with: word }),
  fc.record({ ends_with: word }),
  fc.record({ matches: pattern }),
  fc.record({ matches_any: fc.array(pattern, { minLength: 1, maxLength: 2 }) }),
  fc.record({ gt: number }),
  fc.record({ gte: number }),
  fc.record({ lt: number, lte: number }),
);
const anywhere = [
  'args.a',
  'args.b',
  'args.m.x',
  'args.m.x.y',
  'environment',
  'tool.name',
  'principal.role',
  'principal.claims.x',
  'metadata.a',
  'nothing',
  'args.toString',
  'env.PATH',
];
const condition = (selectors: string[]) =>
  fc.letrec<{ node: object }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small', maxDepth: 3 },
      fc.dictionary(fc.constantFrom(...selectors), operation, { minKeys: 1, maxKeys: 2 }),
      fc.record({ all: fc.array(tie('node'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ any: fc.array(tie('node'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ not: tie('node') }),
    ),
  })).node;
const tool = fc.constantFrom('*', 'read', 'r*', '?ead', '[a-r]ead', '[!r]*', 'write');
const common = {
  mode: fc.constantFrom('enforce', 'observe'),
  enabled: fc.constantFrom(true, true, true, false),
};
// `then` is built from entries: an object with that key would look like a promise.
const withThen = (effects: string[]) =>
  fc
    .constantFrom(...effects)
    .map((effect) => Object.fromEntries([['then', { effect, message: 'm {args.a}' }]]));
const contract = fc.oneof(
  fc
    .tuple(
      fc.record({ type: fc.constant('pre'), tool, when: condition(anywhere), ...common }),
      withThen(['deny', 'approve']),
    )
    .map(([a, b]) => ({ ...a, ...b })),
  fc
    .tuple(
      fc.record({
        type: fc.constant('post'),
        tools: fc.array(tool, { minLength: 1, maxLength: 2 }),
        when: condition([...anywhere, 'output.text', 'result.x']),
        ...common,
      }),
      withThen(['warn', 'redact', 'deny']),
    )
    .map(([a, b]) => ({ ...a, ...b })),
);
const bundle = fc
  .tuple(fc.array(contract, { minLength: 1, maxLength: 8 }), fc.constantFrom('enforce', 'observe'))
  .map(([contracts, mode]) => ({
    apiVersion: 'service/v1',
    kind: 'ContractBundle',
    metadata: { name: 'a' },
    defaults: { mode },
    contracts: contracts.map((one, i) => ({ id: `c${i}`, ...one })),
  }));
const call: fc.Arbitrary<ReferenceCall> = fc.record(
  {
    tool: fc.constantFrom('read', 'write', 'rea', 'x'),
    args: fc.record(
      { a: value, b: value, m: fc.oneof(value, fc.record({ x: value })) },
      { requiredKeys: [] },
    ),
    environment: fc.constantFrom('PROD', 'prod', null),
    principal: fc.option(
      fc.record({ role: word, claims: fc.option(fc.record({ x: value })) }, { requiredKeys: [] }),
    ),
    metadata: fc.option(fc.record({ a: value })),
  },
  { requiredKeys: ['tool', 'args'] },
);

it('decides 10,000 generated pairs of contract and call as the reference does', () => {
  let pairs = 0;
  fc.assert(
    fc.property(
      bundle,
      fc.array(fc.tuple(call, value), { minLength: 8, maxLength: 8 }),
      (document, calls) => {
        const compiled = compileBundle(JSON.stringify(document));
        if (!compiled.ok) throw new Error(compiled.problems.map((problem) => problem.message).join('\n'));
        for (const [one, output] of calls) {
          pairs += document.contracts.length;
          const expected = interpret(document, one, output);
          const dry = dryRun(compiled.bundle, one, { output });
          expect(dry.verdict).toBe(expected.verdict);
          expect(dry.contracts_evaluated.map(({ id, matched }) => ({ id, fired: !matched }))).toEqual(
            expected.entries.map(({ id, fired }) => ({ id, fired })),
          );
          // Live: the same firings, up to the first enforced one.
          const live = evaluateCall(compiled.bundle, one);
          const post = evaluatePost(compiled.bundle, one, output);
          const records = [...live.records, ...post.records];
          for (const record of records) {
            const entry = expected.entries.find(({ id }) => id === record.name);
            expect([record.name, !record.passed, record.metadata?.policy_error === true]).toEqual([
              entry?.id,
              entry?.fired,
              entry?.policyError,
            ]);
          }
          expect(live.verdict !== 'allow').toBe(expected.verdict === 'deny');
          expect(live.name).toBe(dry.verdict === 'deny' ? dry.deciding_contract : null);
        }
      },
    ),
    { numRuns: 400 },
  );
  expect(pairs).toBeGreaterThan(10_000);
});

it('matches globs as the reference does', () => {
  const piece = fc.constantFrom('a', 'b', '-', ']', '[', '!', '*', '?', '[ab]', '[!a]', '[a-b]', '[]a]', '^');
  const glob = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(
      glob,
      fc.string({ unit: fc.constantFrom('a', 'b', '-', ']', '[', '!', '^'), maxLength: 6 }),
      (p, name) => {
        expect(globMatch(p, name)).toBe(fnmatch(p, name));
      },
    ),
    { numRuns: 10_000 },
  );
});
