import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rowsOfCommit, runsOf } from '../../../../test/runs.ts';
import { RuleError } from '../../src/rules/error.ts';
import { parseYaml, stringifyYaml } from '../../src/rules/yaml.ts';
import { costOfRefusal, maxCost } from './large-document.ts';

const one = (text: string) => parseYaml(text)[0]?.value;

function failure(text: string, bounds = {}): string {
  try {
    parseYaml(text, bounds);
  } catch (error) {
    if (error instanceof RuleError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('parseYaml', () => {
  it('reads the core schema into plain values', () => {
    expect(one('a: 1\nb: [x, true, null, 1.5]\nc: {d: "é"}\nwhen: 2026-01-02\nyes: on\n')).toEqual({
      a: 1,
      b: ['x', true, null, 1.5],
      c: { d: 'é' },
      when: '2026-01-02',
      yes: 'on',
    });
  });

  it('keeps a %YAML 1.1 text on the core schema, so that dates stay strings', () => {
    expect(one('%YAML 1.1\n---\na: 2026-01-02\nb: yes\n')).toEqual({ a: '2026-01-02', b: 'yes' });
  });

  it('gives every document of a stream', () => {
    expect(parseYaml('a: 1\n---\nb: 2\n...\n').map((d) => d.value)).toEqual([{ a: 1 }, { b: 2 }]);
    expect(parseYaml('')).toEqual([]);
  });

  it('copies aliases and applies merge keys as clients do', () => {
    const value = one('base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nsame: *b\n') as Record<string, unknown>;
    expect(value.use).toEqual({ y: 3, x: 1 });
    expect(value.same).toEqual({ x: 1, y: 2 });
    expect(value.same).not.toBe(value.base);
    expect(one('"<<": 1')).toEqual({ '<<': 1 });
  });

  it('knows where a value is', () => {
    const [doc] = parseYaml('a: 1\nlist:\n  - x: 1\n  - y: &n\n      z: 2\nagain: *n\n');
    expect(doc?.positionOf(['list', 1, 'y', 'z'])).toEqual({ line: 5, column: 7 });
    expect(doc?.positionOf(['again', 'z'])).toEqual({ line: 5, column: 7 });
    expect(doc?.positionOf(['list', 0, 'missing', 'more'])).toEqual({ line: 3, column: 5 });
    expect(doc?.positionOf([])).toEqual({ line: 1, column: 1 });
  });

  const refused: [string, string, RegExp][] = [
    ['a duplicate key', 'a: 1\na: 2', /duplicate key "a" \(line 2, column 1\)/],
    ['a number and a string that are one key', '1: a\n"1": b', /duplicate key/],
    ['a function tag', 'a: !!js/function "x"', /tag/i],
    ['a python tag', 'a: !!python/object:os.system x', /tag/i],
    ['a private tag', 'a: !thing x', /tag/i],
    ['a binary tag', 'a: !!binary aGk=', /tag/i],
    ['__proto__', '__proto__: {a: 1}', /__proto__/],
    ['constructor', 'a: {constructor: 1}', /constructor/],
    ['prototype', 'prototype: 1', /prototype/],
    ['__proto__ through a merge', 'a: &a {"__proto__": 1}\nb: {<<: *a}', /__proto__/],
    ['a byte order mark', '\ufeffa: 1', /byte order mark/],
    ['NUL', 'a: "\u0000"', /control character 0/],
    ['UTF-16 read as bytes', 'a\u0000:\u0000', /control character/],
    ['an escape character', 'a: \u001b[31m', /control character 27/],
    ['a lone surrogate', 'a: \ud800', /surrogate/],
    ['not a number', 'a: .nan', /finite/],
    ['infinity', 'a: -.inf', /finite/],
    ['a number over the range', 'a: 1e999', /finite/],
    ['an unknown alias', 'a: *b', /unknown alias|Unresolved alias/],
    ['an alias inside its own anchor', 'a: &a [*a]', /unknown alias/],
    ['a list as key', '? [a]\n: b', /key/],
    ['an empty key', ': a', /key/],
    ['a merge of a scalar', 'a: {<<: 1}', /merge key/],
    [
      'an error inside collections, at its own place',
      'a:\n  - b:\n      - c: !thing x',
      /\(line 3, column 12\)$/,
    ],
    ['bad indentation', 'a:\n  b: 1\n c: 2', /line 3/],
    ['an open quote', 'a: "b', /quote/],
    ['tabs as indentation', 'a:\n\tb: 1', /./],
    ['an unclosed list', 'a: [1, 2', /./],
  ];
  it.each(refused)('refuses %s', (_name, text, expected) => {
    expect(failure(text)).toMatch(/^Invalid YAML: /);
    expect(failure(text)).toMatch(expected);
  });

  it('refuses more documents, nodes and bytes than asked for', () => {
    expect(failure('--- 1\n--- 2\n--- 3\n', { maxDocuments: 2 })).toMatch(/more than 2 documents/);
    expect(failure('[1, 2, 3]', { maxNodes: 3 })).toMatch(/more than 3 values/);
    expect(failure('é'.repeat(10), { maxBytes: 19 })).toMatch(/larger than 19 bytes/);
    expect(failure('[[[1]]]', { maxDepth: 2 })).toMatch(/nested deeper than 2/);
  });
});

describe('hostile input', () => {
  const mib = (unit: string) => unit.repeat(Math.floor(1_000_000 / unit.length));
  const laughs = Array.from({ length: 20 }, (_, i) =>
    i === 0
      ? 'a0: &a0 [x, x]'
      : `a${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
  ).join('\n');
  const merges = Array.from({ length: 30 }, (_, i) =>
    i === 0
      ? 'a0: &a0 {k: 1}'
      : `a${i}: &a${i} {<<: [*a${i - 1}, *a${i - 1}], x${i}: [*a${i - 1}, *a${i - 1}]}`,
  ).join('\n');
  const texts: [string, string][] = [
    ['5,000 open lists', '['.repeat(5000)],
    ['5,000 nested mappings', `${'{a: '.repeat(5000)}1${'}'.repeat(5000)}`],
    ['5,000 block lists', `${'- '.repeat(5000)}x`],
    ['5,000 block mappings', Array.from({ length: 1400 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
    ['an alias bomb', laughs],
    ['a merge bomb', merges],
    [
      'nested aliases deeper than the bound',
      Array.from({ length: 200 }, (_, i) => `- &a${i} [${i ? `*a${i - 1}` : 1}]`).join('\n'),
    ],
    ['1 MB of open lists', mib('[')],
    ['1 MB of closing brackets', mib(']')],
    ['1 MB of commas', `[${mib(',')}]`],
    ['1 MB of list items', mib('- a\n')],
    ['1 MB of documents', mib('---\n')],
    ['1 MB of new lines and a bad end', `${mib('\n')}"`],
    ['1 MB of comments', mib('#\n')],
    ['1 MB of tags', mib('!a ')],
    ['1 MB of dashes', mib('- ')],
    ['1 MB of questions', mib('? ')],
    ['1 MB of quotes', mib('"\n')],
    ['1 MB of directives', mib('%a b\n')],
    ['1 MB of aliases', `- &a b\n${mib('- *a\n')}`],
    ['1 MB of distinct keys', Array.from({ length: 90_000 }, (_, i) => `k${i}: 1`).join('\n')],
  ];
  it.each(rowsOfCommit(texts, 10).rows)('ends soon on %s', (_name, text) => {
    let words = '';
    const cost = costOfRefusal(() => {
      words = failure(text);
    });
    expect(words).toMatch(/^Invalid YAML: /);
    expect(cost).toBeLessThan(maxCost);
  });

  it('never fails with anything but its own error', () => {
    const piece = fc.constantFrom(
      ...[
        'a',
        ':',
        ': ',
        '- ',
        '\n',
        '\n  ',
        '[',
        ']',
        '{',
        '}',
        ',',
        '&a ',
        '*a',
        '!t ',
        '|',
        '>',
        '"',
        "'",
        '#',
        '<<',
        '? ',
        '---',
        '...',
        '%',
        '@',
        '1',
        '~',
        '\t',
      ],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        failure(pieces.join(''));
      }),
      { numRuns: runsOf(3_000) },
    );
  });
});

describe('stringifyYaml', () => {
  it('quotes words that older loaders read as other types, and keeps the order of keys', () => {
    expect(stringifyYaml({ b: 'on', a: 'yes', c: '2026-01-02', d: 'x: y' })).toBe(
      'b: "on"\na: "yes"\nc: "2026-01-02"\nd: "x: y"\n',
    );
  });

  it.each([
    ['the "value" type', { '=': '=' }, '"=": "="\n'],
    ['a tab between words', { 'a\tb': 'c\td' }, '"a\\tb": "c\\td"\n'],
    ['a tab before lines', ['\ta\nb', '\n\ta'], '- "\\ta\\nb"\n- "\\n\\ta"\n'],
    ['other control characters', ['a\u0000\u001f', '\u0007'], '- "a\\0\\x1f"\n- "\\a"\n'],
    [
      'older line ends',
      ['a\u2028b', 'a\u2029\nb', 'a \u0085"', 'a\u007fb', '\u0080\u009f', '\ufeff\ufffe\uffff'],
      '- "a\\u2028b"\n- "a\\u2029\\nb"\n- "a \\u0085\\""\n- "a\\u007fb"\n- "\\u0080\\u009f"\n- "\\ufeff\\ufffe\\uffff"\n',
    ],
    ['exponents', [1e-7, -1e21, 1.5e-7, 1e20], '- 1.0e-7\n- -1.0e+21\n- 1.5e-7\n- 100000000000000000000\n'],
  ])('writes %s so that PyYAML and libyaml read it', (_name, value, text) => {
    expect(stringifyYaml(value)).toBe(text);
    expect(parseYaml(text)[0]?.value).toEqual(value);
  });

  it('writes tabs and signs elsewhere as they are', () => {
    const value = { a: 'b\n\tc', d: '"e"\tf', g: '==', h: 1e-5 };
    expect(stringifyYaml(value)).toBe('a: |-\n  b\n  \tc\nd: \'"e"\tf\'\ng: ==\nh: 0.00001\n');
  });

  it('is read back as it was', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), (value) => {
        const plain = JSON.parse(JSON.stringify(value));
        const text = stringifyYaml(plain);
        const read = (() => {
          try {
            return parseYaml(text)[0]?.value;
          } catch (error) {
            // Keys and characters that are refused on purpose.
            expect((error as Error).message).toMatch(/not allowed|surrogate|duplicate key/);
            return plain;
          }
        })();
        expect(read).toEqual(plain);
      }),
      { numRuns: runsOf(500) },
    );
  });
});
