import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runsOf } from '../../../../../test/runs.ts';
import { BudgetSpent, compileRegex, patternProblem } from '../../../src/rules/regex/regex.ts';
import { growth, maxGrowth } from '../../cpu.ts';
import recordedCases from './python-cases.json' with { type: 'json' };

describe('compileRegex', () => {
  // pattern, texts that hold a match, texts that do not
  const dialect: [string, string[], string[]][] = [
    ['abc', ['xabcx'], ['ab', 'acb', '']],
    ['', ['', 'x'], []],
    ['a.c', ['abc', 'a😀c'], ['a\nc', 'ac']],
    ['(?s)a.c', ['a\nc'], ['ac']],
    ['^ab$', ['ab', 'ab\n'], ['ab\n\n', 'xab', 'abx']],
    ['\\Aab\\Z', ['ab'], ['ab\n', 'x\nab']],
    ['(?m)^ab$', ['x\nab\ny', 'ab'], ['xab', 'abx']],
    ['(?i)DROP table', ['drop TABLE x'], ['drop tab']],
    ['(?i)straße', ['STRAßE', 'Straße'], ['strasse']],
    ['(?i)k', ['K', '\u212a'], ['c']],
    ['(?i)\u0130', ['i', 'I', '\u0130'], ['j']],
    ['(?i)i', ['I', '\u0130', '\u0131'], ['j']],
    ['(?i)σ', ['ς', 'Σ'], ['s']],
    ['(?i)ΟΔΟΣ', ['οδος', 'οδοσ'], ['οδο']],
    ['(?i)\u00b5', ['\u03bc', '\u039c'], ['u']],
    ['(?i)[\u03ba-\u03bd]g', ['\u00b5g'], ['ug']],
    ['(?i)\u03c9', ['\u2126'], ['o']],
    ['(?i)\u212b', ['å', 'Å'], ['a']],
    ['(?i)ß', ['ẞ'], ['ss']],
    ['(?i)[^σ]', ['s'], ['ς']],
    ['(?i)[\\W\\d]', ['\u0345'], ['ι', 'Ι']],
    ['(?i)\\w', ['ι'], ['\u0345']],
    ['(?ia)σ', ['σ'], ['ς', 'Σ']],
    ['(?ia)é', ['é'], ['É']],
    ['(?ia)[k-s]', ['K', 'S'], ['\u212a', '\u017f']],
    ['(?i)[a-f]+z', ['ABCZ'], ['gz']],
    ['(?i)[^a]', ['b'], ['a', 'A', 'aA']],
    ['(?im)^x$', ['a\nX'], ['a X']],
    ['(?i:a)b', ['Ab', 'ab'], ['AB']],
    ['\\d{3}-\\d{4}', ['555-1234', '٣٣٣-١٢٣٤'], ['55-1234']],
    ['(?a)\\d', ['1'], ['٣']],
    ['\\bcat\\b', ['a cat.', 'cat'], ['concat', 'cats', 'écat']],
    ['\\Bcat', ['concat'], ['a cat']],
    ['[^\\s\\w]', ['a-b'], ['a b', 'é']],
    ['[]a]', [']', 'a'], ['b']],
    ['[^]a]', ['b'], [']', 'a']],
    ['[a-]', ['-', 'a'], ['b']],
    ['[\\]\\\\]', [']', '\\'], ['a']],
    ['[\\d.-]', ['5', '-', '.'], ['y']],
    ['a{2,3}', ['aa'], ['a', 'aba']],
    ['^a{,2}$', ['', 'a', 'aa'], ['aaa']],
    ['^a{2,}$', ['aa', 'aaaa'], ['a']],
    ['a{x}', ['a{x}'], ['a']],
    ['a{', ['a{'], ['a']],
    ['{', ['{'], ['a']],
    ['^(?:a|bc)+d$', ['abcad', 'd'.replace('d', 'ad')], ['d', 'abd']],
    ['(?P<year>20\\d\\d)-(?<month>\\d\\d)', ['2026-01'], ['1999-01']],
    ['a*?b', ['b', 'aab'], ['a']],
    ['(a|b)(?#comment)c', ['ac'], ['a']],
    ['\\x41\\u0042\\t\\n\\101', ['AB\t\nA'], ['AB']],
    ['\\.env$', ['/srv/.env'], ['/srv/xenv', '.env.local']],
    ['\\/etc\\/', ['/etc/passwd'], ['etc']],
    ['😀+', ['😀😀'], ['😁']],
    ['^[😀-😎]$', ['😃'], ['a', '😐']],
    ['a||b', ['zzz'], []],
    ['(^a|b$)', ['ax', 'xb'], ['xax']],
    ['x(^|y)', ['xy'], ['x']],
    ['(?:a{0}){3}b', ['b'], ['a']],
  ];
  it.each(dialect)('matches %s', (pattern, yes, no) => {
    const regex = compileRegex(pattern);
    for (const text of yes) expect([text, regex.test(text)]).toEqual([text, true]);
    for (const text of no) expect([text, regex.test(text)]).toEqual([text, false]);
  });

  describe('(?i), as Python has it', () => {
    const groups = recordedCases.groups
      .flatMap((line) => line.split(', '))
      .map((group) => group.split(' ').map((hex) => String.fromCodePoint(Number.parseInt(hex, 16))));

    it('takes all letters of a recorded group for each other', () => {
      const differing = groups.flatMap((group) =>
        group.filter((letter) => {
          const regex = compileRegex(`(?i)${letter}`);
          return !group.every((other) => regex.test(other));
        }),
      );
      expect(groups).toHaveLength(1427);
      expect(differing).toEqual([]);
    });

    it('takes no letter of another recorded group for one of a group of several', () => {
      for (const group of groups.filter(({ length }) => length > 2)) {
        const others = groups.filter((other) => other !== group).flat();
        expect([group, compileRegex(`(?i)[${group.join('')}]`).test(others.join(''))]).toEqual([
          group,
          false,
        ]);
      }
    });
  });

  const refused: [string, RegExp][] = [
    ['(a)\\1', /backreferences are not supported at offset 3/],
    ['(?P<n>a)(?P=n)', /backreferences/],
    ['a(?=b)', /lookaround/],
    ['a(?!b)', /lookaround/],
    ['(?<=a)b', /lookaround/],
    ['(?<!a)b', /lookaround/],
    ['(?>a)', /atomic/],
    ['a++', /possessive/],
    ['a{2}+', /possessive/],
    ['(?(1)a|b)', /conditional/],
    ['a(?i)b', /flags are only supported at the start/],
    ['(?x)a b', /unknown group/],
    ['(a', /missing \)/],
    ['a)', /unbalanced \)/],
    ['[a', /unterminated set/],
    ['[', /unterminated set/],
    ['[]', /unterminated set/],
    ['[z-a]', /bad character range z-a/],
    ['[\\d-x]', /bad character range/],
    ['[a-\\d]', /bad character range/],
    ['*a', /nothing to repeat/],
    ['^*', /nothing to repeat/],
    ['{2}', /nothing to repeat/],
    ['a**', /multiple repeat/],
    ['a{2}{3}', /multiple repeat/],
    ['a{3,2}', /min repeat/],
    ['a{1,5000}', /limited to 1000/],
    ['(a{100}){100}', /more than 2000 steps/],
    ['((((a{0}){1000}){1000}){1000}){1000}', /more than 2000 steps/],
    ['(((){1000}){1000}){1000}', /more than 2000 steps/],
    ['\\p{L}', /unknown escape \\p/],
    ['\\', /ends with a backslash/],
    ['\\xZZ', /escape/],
    ['\\U00110000', /too large/],
    ['(?P<a>x)(?P<a>y)', /used twice/],
    ['('.repeat(100) + ')'.repeat(100), /nested deeper/],
    ['a'.repeat(1001), /longer than 1000/],
  ];
  it.each(refused)('refuses %s', (pattern, expected) => {
    expect(patternProblem(pattern)).toMatch(/^Invalid pattern: /);
    expect(patternProblem(pattern)).toMatch(expected);
  });

  it('reads the whole text', () => {
    for (const length of [9_999, 10_000, 1_000_000]) {
      const text = `${'a'.repeat(length)}b`;
      for (const pattern of ['b', 'b{1}', 'a+b$', '(?i)B', 'a[^a]'])
        expect(compileRegex(pattern).test(text)).toBe(true);
      expect(compileRegex('^a+$').test(text)).toBe(false);
    }
  });
});

describe('the matcher', () => {
  // A grammar of patterns that mean the same to both engines, on a small alphabet.
  const leaf = fc.constantFrom(
    'a',
    'b',
    'c',
    '.',
    '[ab]',
    '[^a]',
    '[a-c]',
    '\\d',
    '\\w',
    '\\s',
    '1',
    ' ',
    '\\b',
    '^',
    '$',
  );
  const pattern = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small', maxDepth: 4 },
      leaf,
      fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('')),
      fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(?:${a}|${b})`),
      fc
        .tuple(tie('node'), fc.constantFrom('*', '+', '?', '*?', '+?', '??', '{2}', '{1,2}', '{2,}'))
        .map(([a, q]) => `(?:${a})${q}`),
    ),
  })).node;
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A', '1', ' ', '\n', '-'), maxLength: 12 });

  it('agrees with the language’s own engine on what matches', () => {
    fc.assert(
      fc.property(pattern, text, fc.boolean(), fc.boolean(), (source, subject, fold, multiline) => {
        // Python's `$` also matches before a last newline; elsewhere the dialects agree.
        const theirs = new RegExp(
          multiline ? source : source.replaceAll('$', '(?=\\n?(?![^]))'),
          `${fold ? 'i' : ''}${multiline ? 'm' : ''}`,
        );
        const flags = `${fold ? '(?i)' : ''}${multiline ? '(?m)' : ''}`;
        expect(compileRegex(flags + source).test(subject)).toBe(theirs.test(subject));
      }),
      { numRuns: runsOf(20_000) },
    );
  });

  it('finds the same spans as the language’s own engine', () => {
    const simple = fc
      .array(
        fc.tuple(
          fc.constantFrom('a', 'b', '[ab]', '[^a]', '(?:a|ab)', '(?:b|bc|c)', '\\b', '.'),
          fc.constantFrom('', '', '*', '+', '?', '*?', '+?', '{1,2}'),
        ),
        { minLength: 1, maxLength: 4 },
      )
      .map((parts) => parts.map(([item, q]) => (item === '\\b' ? item : item + q)).join(''));
    fc.assert(
      fc.property(fc.array(simple, { minLength: 1, maxLength: 2 }), text, (options, subject) => {
        const source = options.join('|');
        expect(compileRegex(source).replaceAll(subject, '<>').text).toBe(
          subject.replace(new RegExp(source, 'g'), '<>'),
        );
      }),
      { numRuns: runsOf(20_000) },
    );
  });

  it.each([
    '(?:a|b)*a(?:a|b){12}$',
    '(?:\\b|b)[ab ]*a[ab]{7}\\s?\\bc?$',
    '(?:^|\\s)[ab ]*a[ab ]{9}\\B.{2}c$',
    'b(?:a|\\B.){13}\\b\\nb',
  ])('gives the same answers on %s when it has more states than it keeps', (source) => {
    const regex = compileRegex(source);
    const native = new RegExp(source.replaceAll('$', '(?=\\n?(?![^]))'));
    let seed = 7;
    const answers = new Set<boolean>();
    for (let round = 0; round < 60; round++) {
      let subject = '';
      const length = round % 2 ? 40 : 3_000;
      for (let i = 0; i < length; i++) {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        subject += 'aabbaabbab \n'[(seed >> 12) % 12];
      }
      subject += round % 3 ? 'c' : '';
      answers.add(native.test(subject));
      expect(regex.test(subject)).toBe(native.test(subject));
    }
    expect(answers.size).toBe(2);
  });

  it.each(['^(a+)+$', '(a|a)*b', '(.*)*x', '(a?){50}a{50}c', '(?:a|b)*a(?:a|b){40}c', '(\\w+\\s?)*;'])(
    'takes time in proportion to the text on %s',
    (source) => {
      const regex = compileRegex(source);
      const read = (length: number) => expect(regex.test(`${'a'.repeat(length)}!`)).toBe(false);
      expect(growth(read, 2_500)).toBeLessThan(maxGrowth);
    },
  );

  it.each(['(?:a|b)*a(?:a|b){40}c', 'a.{9}b?c$', '(?i)(\\bab|é|ß)+x', '\\w+\\s\\d', '^[^z]*z'])(
    'takes the same steps on %s, whatever was read before',
    (source) => {
      const text = fc.string({
        unit: fc.constantFrom('a', 'b', 'c', 'É', 'ß', '漢', '😀', ' ', '\n'),
        maxLength: 400,
      });
      const steps = (regex: ReturnType<typeof compileRegex>, subject: string): number => {
        const budget = { left: 1e9 };
        regex.test(subject, budget);
        return 1e9 - budget.left;
      };
      const warm = compileRegex(source);
      fc.assert(
        fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
          // Long enough to visit more states than are kept.
          const subjects = texts.map((one, i) => one.repeat(1 + 20 * i));
          for (const subject of subjects)
            expect(steps(warm, subject)).toBe(steps(compileRegex(source), subject));
        }),
        { numRuns: runsOf(300, 60) },
      );
    },
  );

  it('stops when the budget is spent', () => {
    const regex = compileRegex('(?:a|b)*a(?:a|b){40}c');
    let subject = 'c';
    for (let i = 0, seed = 1; i < 9_000; i++) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      subject += seed & 65536 ? 'a' : 'b';
    }
    expect(() => regex.test(subject, { left: 10_000 })).toThrow(BudgetSpent);
  });

  it('hides the rest of a text that it could not search', () => {
    const result = compileRegex('a.*z|secret').replaceAll(`secret ${'a'.repeat(20_000)}`, '[REDACTED]', {
      left: 50_000,
    });
    expect(result).toEqual({ text: '[REDACTED][REDACTED]', count: 2, complete: false });
  });

  it('replaces literally', () => {
    expect(compileRegex('\\d{2,}').replaceAll('a 12 b 345', '$&').text).toBe('a $& b $&');
    expect(compileRegex('^\\w+').replaceAll('ab cd', '-').text).toBe('- cd');
    expect(compileRegex('(?m)^.').replaceAll('ab\ncd', '-').text).toBe('-b\n-d');
    expect(compileRegex('😀').replaceAll('x😀😀y', '').text).toBe('xy');
  });
});
