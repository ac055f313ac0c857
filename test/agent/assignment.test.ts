// Results of assignment rules for an agent, and how often they are computed.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AssignmentRule } from '../../src/agent/record.ts';
import { type Assignee, RuleSets } from '../../src/agent/rules/assignment.ts';
import { environments } from '../../src/shared/ids.ts';
import { aRule } from '../conformance/fixtures.ts';

const agent = (over: Partial<Assignee> = {}): Assignee => ({
  agentId: 'mail-1',
  env: 'production',
  tags: {},
  explicit: null,
  ...over,
});
const resolve = (rules: readonly AssignmentRule[], over: Partial<Assignee> = {}) =>
  new RuleSets().of('t1', rules).resolve(agent(over));

it('gives the explicit assignment, else the first rule that matches, else nothing', () => {
  const first = aRule({ tagMatch: null, env: 'staging', bundleName: 'b1' });
  const second = aRule({ tagMatch: { team: 'mail' }, bundleName: 'b2' });
  const third = aRule({ tagMatch: null, pattern: '*', bundleName: 'b3' });
  const rules = [first, second, third];
  expect(resolve(rules)).toEqual({
    bundleName: 'b3',
    source: 'rule',
    ruleId: third.id,
    rulePattern: '*',
  });
  expect(resolve(rules, { tags: { team: 'mail', more: 'x' } }).bundleName).toBe('b2');
  expect(resolve(rules, { env: null }).bundleName).toBe('b1');
  expect(resolve(rules, { explicit: 'b9' })).toMatchObject({ bundleName: 'b9', source: 'explicit' });
  expect(resolve([first])).toMatchObject({ bundleName: null, source: 'none' });
});

it('resolves an agent once as long as the rules stay the same, however often they are read', () => {
  let looks = 0;
  const read = (): AssignmentRule[] => [
    {
      ...aRule({ id: 'r1', tenantId: 't1', tagMatch: null }),
      get env() {
        looks++;
        return 'production' as const;
      },
    },
  ];
  const sets = new RuleSets();
  const again = (over: Partial<Assignee> = {}) => {
    const set = sets.of('t1', read());
    const before = looks;
    expect(set.resolve(agent(over)).ruleId).toBe('r1');
    return looks - before;
  };
  expect(again()).toBe(1);
  expect(again()).toBe(0);
  expect(again({ tags: { of: 'no', rule: 'at all' } })).toBe(0);
  expect(again({ agentId: 'mail-2' })).toBe(1);
  expect(again({ agentId: 'mail-2' })).toBe(0);
});

it.each([
  ['priority', { priority: 11 }],
  ['pattern', { pattern: 'mail-?' }],
  ['bundleName', { bundleName: 'other' }],
  ['env', { env: 'staging' as const }],
  ['tagMatch', { tagMatch: null }],
  ['a tag', { tagMatch: { team: 'web' } }],
  ['one more tag', { tagMatch: { team: 'mail', more: 'x' } }],
])('notices a change of %s', (_what, change) => {
  const sets = new RuleSets();
  const rule = aRule();
  const set = sets.of('t1', [rule]);
  expect(sets.of('t1', [structuredClone(rule)])).toBe(set);
  expect(sets.of('t1', [{ ...rule, ...change }])).not.toBe(set);
});

it('keeps the answers of tenants, environments, tags and agents apart', () => {
  const text = fc.constantFrom('a', 'b', 'a/b', '/', '{}', '{"team":"a"}', '');
  const tags = fc.dictionary(fc.constantFrom('team', 'x'), fc.constantFrom('a', 'b'));
  const rule = fc.record({
    pattern: fc.constantFrom('*', 'a*', '*b', '?', '{*', 'a/?'),
    env: fc.constantFrom(...environments),
    tagMatch: fc.option(tags),
  });
  const assignee = fc.record({
    agentId: text,
    env: fc.option(fc.constantFrom(...environments)),
    tags,
    explicit: fc.constant(null),
  });
  fc.assert(
    fc.property(
      fc.array(fc.array(rule, { maxLength: 4 }), { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(fc.nat(2), assignee), { maxLength: 30 }),
      (tenants, asked) => {
        const sets = new RuleSets();
        const rules = tenants.map((own) => own.map((one) => aRule(one)));
        for (const [n, who] of asked) {
          const tenant = n % tenants.length;
          const own = rules[tenant] ?? [];
          expect(sets.of(`t${tenant}`, own).resolve(who)).toEqual(resolve(own, who));
        }
      },
    ),
  );
});
