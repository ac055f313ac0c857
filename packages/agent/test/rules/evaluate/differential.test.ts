// The compiled engine against the slow reference: the same firings, faults, messages, decisions and results.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runsOf } from '../../../../../test/runs.ts';
import { operatorNames } from '../../../src/rules/bundle/condition.ts';
import { compileBundle } from '../../../src/rules/evaluate/compile.ts';
import { globMatch } from '../../../src/rules/evaluate/glob.ts';
import { evaluateCall } from '../../../src/rules/evaluate/live.ts';
import { dryRun } from '../../../src/rules/evaluate/playground.ts';
import { evaluatePost } from '../../../src/rules/evaluate/post.ts';
import type { EvaluatedRecord } from '../../../src/rules/evaluate/record.ts';
import { after, decide, dry } from '../../reference/decide.ts';
import { bundle, call, counters, postSelectors, selectors, value } from '../../reference/generator.ts';
import { fnmatch } from '../../reference/interpreter.ts';
import { forget, tallyText, timesMet } from '../../reference/tally.ts';

const plain = (record: EvaluatedRecord) => ({
  id: record.name,
  type: record.type,
  fired: !record.passed,
  policyError: record.metadata?.policy_error === true,
  observed: record.observed === true,
  message: record.message,
});

const built = (document: object) => {
  const compiled = compileBundle(JSON.stringify(document));
  if (!compiled.ok) throw new Error(compiled.problems.map((problem) => problem.message).join('\n'));
  return compiled.bundle;
};

it('decides 10,000 generated pairs of contract and call as the reference does', { timeout: 60_000 }, () => {
  let pairs = 0;
  forget();
  fc.assert(
    fc.property(
      bundle,
      fc.boolean(),
      fc.array(fc.tuple(call, value, counters), { minLength: 6, maxLength: 6 }),
      ({ document, ruleset }, asRuleset, calls) => {
        const compiled = built(asRuleset ? ruleset : document);
        for (const [one, output, counts] of calls) {
          pairs += document.contracts.length;
          const live = evaluateCall(compiled, one, { counters: counts });
          const decided = decide(document, one, counts);
          expect({
            verdict: live.verdict,
            source: live.source,
            name: live.name,
            records: live.records.map(plain),
          }).toEqual({
            verdict: decided.verdict,
            source: decided.source,
            name: decided.name,
            records: decided.records,
          });
          if (decided.reason !== null) expect(live.reason).toBe(decided.reason);
          const expected = dry(document, one, output);
          const dried = dryRun(compiled, one, { output });
          expect({
            verdict: dried.verdict,
            deciding: dried.deciding_contract,
            entries: dried.contracts_evaluated.map(({ id, type, matched, effect, message, observed }) => ({
              ...{ id, type, fired: !matched, effect, message, observed },
            })),
          }).toEqual({
            ...expected,
            entries: expected.entries.map(({ policyError: _unseen, ...entry }) => entry),
          });
          const shown = evaluatePost(compiled, one, output);
          const { records, ...rest } = after(document, one, output);
          expect(shown.records.map(plain)).toEqual(records);
          expect({
            warnings: shown.warnings,
            changed: shown.changed,
            output: shown.output,
            passed: shown.postconditionsPassed,
          }).toEqual(rest);
        }
      },
    ),
    // The same pairs every time, so that what they reach is not left to chance.
    { numRuns: 800, seed: 20_261 },
  );
  expect(pairs).toBeGreaterThan(10_000);
  // Branches that were reached: a generator that misses a branch proves nothing about it.
  process.stdout.write(`${pairs} pairs; the reference met:\n${tallyText()}\n`);
  const often = (what: string, least: number) =>
    expect([what, timesMet(what) >= least]).toEqual([what, true]);
  for (const name of operatorNames) {
    often(`operator ${name}=yes`, 15);
    often(`operator ${name}=no`, 50);
    for (const type of ['missing', 'boolean', 'number', 'float', 'string', 'list', 'object'])
      often(`field ${name}:${type}`, 1);
  }
  for (const name of operatorNames.filter((one) => !/^(exists|equals|not_equals|in|not_in)$/.test(one)))
    often(`operator ${name}=fault`, 50);
  const never = /^(env\.|nothing|args\.toString|principal\.email)/;
  for (const selector of [...selectors, ...postSelectors]) {
    if (!never.test(selector)) often(`selector ${selector}=found`, 2);
    else expect([selector, timesMet(`selector ${selector}=found`)]).toEqual([selector, 0]);
    often(`selector ${selector}=missing`, selector === 'environment' || selector === 'tool.name' ? 0 : 5);
  }
  for (const node of ['all', 'any', 'not'])
    for (const result of ['yes', 'no', 'fault']) often(`node ${node}=${result}`, 50);
  for (const type of ['pre', 'post', 'sandbox'])
    for (const mode of ['enforce', 'observe'])
      for (const result of ['fired', 'passed']) often(`contract ${type}:${mode}=${result}`, 50);
  for (const part of ['path', 'command', 'domain'])
    for (const result of ['leaves', 'stays']) often(`sandbox ${part}=${result}`, 50);
  for (const end of [
    ...['allow:none', 'deny:attempt_limit', 'deny:yaml_precondition', 'approve:yaml_precondition'],
    ...['deny:yaml_sandbox', 'approve:yaml_sandbox', 'deny:yaml_session', 'deny:operation_limit'],
  ])
    often(`decision ${end}`, 20);
  for (const kind of ['observed', 'warned', 'redact', 'deny']) often(`post ${kind}`, 20);
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
    { numRuns: runsOf(10_000) },
  );
});

it('matches long globs as the reference does', () => {
  const one = fc.constantFrom('a', 'b', 'é', '?', '[ab]', '[!a]', '[a-c]');
  const run = fc.array(one, { minLength: 10, maxLength: 45 });
  const char = fc.constantFrom('a', 'b', 'c', 'é');
  const fitting: { readonly [part: string]: string } = { '[ab]': 'b', '[!a]': 'c', '[a-c]': 'a' };
  const charOf = (part: string, other: string): string => fitting[part] ?? (part === '?' ? other : part);
  let matched = 0;
  fc.assert(
    fc.property(run, run, fc.array(char, { minLength: 100 }), fc.nat(8), (start, end, chars, wrong) => {
      const glob = [...start, '*', ...end];
      const between = chars.slice(0, wrong);
      const ends = [...start, ...end].map((part, i) => charOf(part, chars[i] ?? 'a'));
      if (wrong > 4) ends[wrong * 3] = 'c';
      const text = [...ends.slice(0, start.length), ...between, ...ends.slice(start.length)].join('');
      const expected = fnmatch(glob.join(''), text);
      if (expected) matched++;
      expect(globMatch(glob.join(''), text)).toBe(expected);
    }),
    { numRuns: runsOf(2_000) },
  );
  expect(matched).toBeGreaterThan(20);
});
