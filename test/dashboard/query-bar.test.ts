// Completions of a query: fields, values with their counts, and paths of arguments; also within quotes and lists.
import { expect, it } from 'vitest';
import { completionsOf, lastTerm } from '../../src/dashboard/lib/query-completion.ts';
import { argumentValues } from '../../src/dashboard/pages/events/argument-values.ts';
import { eventGrammar } from '../../src/event/rules/query/fields.ts';

const values = {
  tool: [['run_sql', 3], ['read it', 2], 'a,b'],
  agent: ['*', '<b>', '>9'],
  verdict: [['denied', 7]],
  args: [
    ['path', 4],
    ['order.id', 1],
  ],
  'args.path': [['/srv/.env', 2]],
} as const;
const offered = (text: string): unknown[] =>
  completionsOf(text, eventGrammar, values).map(({ text: own, count }) => [own, count]);

it.each([
  ['a b', 'b'],
  ['a tool:"run s', 'tool:"run s'],
  ['"x y" tool:(a, "b c', 'tool:(a, "b c'],
  ['x "a\\" b" c', 'c'],
  ['done ', ''],
])('ends %s with the term %s', (text, term) => {
  expect(lastTerm(text)).toBe(term);
});

it.each([
  [
    'tool:',
    [
      ['tool:run_sql ', 3],
      ['tool:"read it" ', 2],
      ['tool:a,b ', undefined],
    ],
  ],
  [
    'x -tool:r',
    [
      ['-tool:run_sql ', 3],
      ['-tool:"read it" ', 2],
    ],
  ],
  ['tool:"read', [['tool:"read it" ', 2]]],
  ['tool:(x, ru', [['tool:(x, run_sql', 3]]],
  ['tool:("a,b",a', [['tool:("a,b","a,b"', undefined]]],
  [
    'agent:',
    [
      ['agent:"*" ', undefined],
      ['agent:"<b>" ', undefined],
      ['agent:">9" ', undefined],
    ],
  ],
  ['verdict:d', [['verdict:denied ', 7]]],
  ['arg', [['args.', undefined]]],
  [
    'args.',
    [
      ['args.path:', 4],
      ['args.order.id:', 1],
    ],
  ],
  ['-args.pa', [['-args.path:', 4]]],
  ['args.path:', [['args.path:/srv/.env ', 2]]],
  ['bundle:', []],
])('offers for %s', (text, completions) => {
  expect(offered(text)).toEqual(completions);
});

it('counts the calls with a path, and with each of its values', () => {
  const calls = [
    { path: '/a', order: { 'a b': 1 }, items: [{ sku: 'x' }, { sku: 'x' }], none: null },
    { path: '/a', long: 'x'.repeat(81) },
    { path: '/b' },
    null,
  ];
  const counted = argumentValues('args', calls);
  expect(counted.args).toEqual([
    ['path', 3],
    ['order."a b"', 1],
    ['items[].sku', 1],
    ['long', 1],
  ]);
  expect(counted['args.path']).toEqual([
    ['/a', 2],
    ['/b', 1],
  ]);
  expect(counted['args.items[].sku']).toEqual([['x', 1]]);
  expect(counted['args.long']).toBeUndefined();
});
