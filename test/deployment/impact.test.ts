// A changed document against the one before: stricter, more lenient, or otherwise.
import { describe, expect, it } from 'vitest';
import type { ContractType, JsonObject } from '../../src/contract/record.ts';
import { type ComparedDocument, impactOf } from '../../src/deployment/rules/impact.ts';

const documentOf = (
  definition: JsonObject,
  more: { readonly type?: ContractType; readonly defaultsMode?: 'enforce' | 'observe' } = {},
): ComparedDocument => ({
  defaultsMode: more.defaultsMode ?? 'enforce',
  contracts: [{ contractId: 'a', type: more.type ?? 'pre', definition }],
});

const base = {
  tool: 'read_file',
  when: { 'args.path': { contains_any: ['.env', '.pem'] } },
  then: { effect: 'approve', message: 'May it?' },
};
const sandbox = {
  tools: ['read_file'],
  within: ['/srv', '/tmp'],
  not_within: ['/srv/secret'],
  allows: { commands: ['ls', 'wc'] },
  not_allows: { domains: ['evil.example'] },
  outside: 'approve',
};

/** The effect of a change of one contract, and its fields. */
function change(before: JsonObject, after: JsonObject): string {
  const found = impactOf(documentOf(before), documentOf(after));
  for (const kind of ['tightened', 'loosened', 'changed'] as const) {
    const [one] = found[kind];
    if (one) return `${kind} ${one.fields.join()}`;
  }
  return found.unchanged === 1 ? 'same' : 'lost';
}

const when = (condition: JsonObject) => ({ ...base, when: condition });
const amount = (operator: string, value: number) => when({ 'args.amount': { [operator]: value } });
const limits = (more: JsonObject) => ({ limits: { max_tool_calls: 100, ...more } });

describe('a change is', () => {
  const cases: readonly [JsonObject, JsonObject, string][] = [
    [base, { then: base.then, when: base.when, tool: 'read_file' }, 'same'],
    [base, { ...base, then: { effect: 'deny', message: 'May it?' } }, 'tightened then'],
    [base, { ...base, then: { effect: 'warn', message: 'May it?' } }, 'loosened then'],
    [base, { ...base, then: { effect: 'approve', message: 'Please?' } }, 'changed then'],
    [base, { ...base, then: { effect: 'deny', message: 'No' }, tags: ['x'] }, 'tightened tags,then'],
    [base, { ...base, then: { ...base.then, timeout: 5 } }, 'changed then'],
    [base, { ...base, mode: 'observe' }, 'loosened mode'],
    [base, { ...base, mode: 'enforce' }, 'same'],
    [base, { ...base, tools: ['read_file', 'write_file'], tool: undefined }, 'tightened tools'],
    [{ ...base, tools: ['a', 'b'] }, { ...base, tools: ['a'] }, 'loosened tools'],
    [{ ...base, tools: ['a', 'b'] }, { ...base, tools: ['b', 'a'] }, 'same'],
    [base, when({ 'args.path': { contains_any: ['.env', '.pem', '.key'] } }), 'tightened when'],
    [base, when({ 'args.path': { contains_any: ['.env'] } }), 'loosened when'],
    [base, when({ 'args.path': { contains_any: ['.env', '.key'] } }), 'changed when'],
    [base, when({ 'args.file': { contains_any: ['.env', '.pem'] } }), 'changed when'],
    [amount('gt', 500), amount('gt', 100), 'tightened when'],
    [amount('lte', 500), amount('lte', 100), 'loosened when'],
    [amount('gt', 500), amount('gte', 500), 'changed when'],
    [when({ any: [1, 2] }), when({ any: [1, 2, 3] }), 'tightened when'],
    [when({ all: [1, 2] }), when({ all: [1, 2, 3] }), 'loosened when'],
    [when({ not: { any: [1] } }), when({ not: { any: [1, 2] } }), 'loosened when'],
    [when({ x: { not_in: ['a'] } }), when({ x: { not_in: ['a', 'b'] } }), 'loosened when'],
    [limits({}), limits({ max_tool_calls: 50 }), 'tightened limits'],
    [limits({}), limits({ max_attempts: 50 }), 'tightened limits'],
    [limits({ max_attempts: 50 }), limits({}), 'loosened limits'],
    [limits({ max_calls_per_tool: { a: 1 } }), limits({ max_calls_per_tool: { a: 2 } }), 'loosened limits'],
    [limits({}), limits({ max_tool_calls: 200, max_attempts: 1 }), 'changed limits'],
    [sandbox, { ...sandbox, within: ['/srv'] }, 'tightened within'],
    [sandbox, { ...sandbox, within: undefined }, 'loosened within'],
    [sandbox, { ...sandbox, not_within: ['/srv/secret', '/srv/keys'] }, 'tightened not_within'],
    [sandbox, { ...sandbox, allows: { commands: ['ls', 'wc', 'rm'] } }, 'loosened allows'],
    [
      sandbox,
      { ...sandbox, not_allows: { domains: ['evil.example'], commands: ['rm'] } },
      'tightened not_allows',
    ],
    [sandbox, { ...sandbox, not_allows: undefined }, 'loosened not_allows'],
    [sandbox, { ...sandbox, outside: 'deny' }, 'tightened outside'],
    [sandbox, { ...sandbox, outside: undefined }, 'tightened outside'],
    [sandbox, { ...sandbox, outside: 'deny', within: ['/srv', '/tmp', '/home'] }, 'changed outside,within'],
  ];
  it.each(cases)('%o → %o: %s', (before, after, wanted) => {
    expect(change(JSON.parse(JSON.stringify(before)), JSON.parse(JSON.stringify(after)))).toBe(wanted);
  });

  it('the opposite when it is taken back', () => {
    const opposite: { [word: string]: string } = {
      tightened: 'loosened',
      loosened: 'tightened',
      changed: 'changed',
    };
    for (const [before, after, wanted] of cases) {
      const [word = '', ...fields] = wanted.split(' ');
      const back = change(JSON.parse(JSON.stringify(after)), JSON.parse(JSON.stringify(before)));
      expect(back).toBe([opposite[word] ?? word, ...fields].join(' '));
    }
  });
});

it('contracts come and go, and the default mode counts for those without one', () => {
  const before = documentOf(base, { defaultsMode: 'observe' });
  const after = documentOf(base);
  expect(impactOf(before, after).tightened).toEqual([{ contractId: 'a', type: 'pre', fields: ['mode'] }]);
  expect(impactOf(null, after)).toMatchObject({ added: [{ contractId: 'a' }], removed: [], unchanged: 0 });
  expect(impactOf(after, { ...after, contracts: [] })).toMatchObject({
    removed: [{ contractId: 'a' }],
    added: [],
  });
  expect(impactOf(documentOf(base, { type: 'post' }), after).changed).toEqual([
    { contractId: 'a', type: 'pre', fields: ['type'] },
  ]);
});
