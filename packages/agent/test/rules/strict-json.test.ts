// The strict reader of JSON: what JSON.parse reads in one way only is read alike, everything else is refused.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runsOf } from '../../../../test/runs.ts';
import {
  exactNumbers,
  readStrictJson,
  StrictJsonError,
  WrittenNumber,
  writeStrictJson,
} from '../../src/rules/strict-json.ts';

const written = (text: string) => readStrictJson(text, { numbers: 'written' });

describe('the strict reader', () => {
  it('reads and writes what JSON.stringify writes, as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 12 }), (text) => {
        const value: unknown = JSON.parse(text);
        expect(written(text)).toEqual(value);
        expect(writeStrictJson(written(text))).toBe(JSON.stringify(value));
      }),
    );
  });

  it('refuses what JSON.parse refuses', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.nat(), fc.string({ maxLength: 2 }), (text, at, change) => {
        const place = at % (text.length + 1);
        const broken = text.slice(0, place) + change + text.slice(place + 1);
        let isJson = true;
        try {
          JSON.parse(broken);
        } catch {
          isJson = false;
        }
        if (!isJson) expect(() => written(broken)).toThrow(StrictJsonError);
      }),
      { numRuns: runsOf(1_000) },
    );
  });

  it.each([
    ['a member that stands twice', '{"a":1,"b":2,"a":1}', '"a" twice'],
    ['its second form as an escape', '{"a":1,"\\u0061":1}', '"a" twice'],
    ['two members named __proto__', '{"__proto__":1,"__proto__":2}', '"__proto__" twice'],
    ['a member that stands twice deep inside', '[{"x":[{"y":{},"y":{}}]}]', '"y" twice'],
    ['half a character', '"\\ud83d"', 'half of a surrogate pair'],
    ['its second half alone', '"a\\ude00"', 'half of a surrogate pair'],
    ['two first halves', '"\\ud83d\\ud83d"', 'half of a surrogate pair'],
    ['half a character, not escaped', '"\ud83d"', 'half of a surrogate pair'],
    ['half an escape and half a character', '"\\ud83d\ude00"', 'half of a surrogate pair'],
    ['half a character in a name', '{"\\ud83d":1}', 'half of a surrogate pair'],
    ['an infinite number', '[1e400]', 'too large for exact comparison'],
    ['a negative one', '[-1e400]', 'too large for exact comparison'],
    ['a whole number that would change', '9007199254740993', 'too large for exact comparison'],
    ['a whole number that other readers change', '9007199254740992', 'too large for exact comparison'],
    ['a large one with an exponent', '1e21', 'too large for exact comparison'],
    ['a fraction that would change', '0.1000000000000000055511151231257827', 'too large for'],
    ['a fraction that would become whole', '0.99999999999999999', 'too large for exact comparison'],
    ['a number that would become 0', '1e-400', 'too large for exact comparison'],
    ['deep nesting', '['.repeat(129) + ']'.repeat(129), 'deeper than 128'],
    ['a byte order mark', '\ufeff{}', 'not JSON'],
    ['a comma at the end', '[1,]', 'not JSON'],
    ['two values', '{} {}', 'text follows the JSON value'],
    ['a control character', '"\u0001"', 'not JSON'],
    ['nothing', '', 'not JSON'],
    ['a number with a zero before it', '01', 'not JSON'],
    ['a string without an end', '"abc', 'not JSON'],
    ['a string that ends in an escape', '"abc\\', 'not JSON'],
  ])('refuses %s', (_name, text, why) => {
    expect(() => readStrictJson(text)).toThrow(why);
    expect(() => readStrictJson(text)).toThrow(StrictJsonError);
  });

  it.each([
    ['1.0', 1],
    ['1e2', 100],
    ['-0', -0],
    ['0.10', 0.1],
    ['0e999999999999999999999', 0],
    ['0.10000000000000001', 0.1],
    ['-0.10000000000000001', -0.1],
    ['9007199254740991', 9007199254740991],
    ['"\\ud83d\\ude00\\u0041\\/"', '😀A/'],
    ['"😀"', '😀'],
    [' {\n"a" :\t[ ] } ', { a: [] }],
  ])('reads %s', (text, value) => {
    expect(readStrictJson(text)).toEqual(value);
  });

  it('keeps numbers as they are written where it is told to', () => {
    const text = '{"a":12345678901234567890,"b":[1.0,1e400,-0,1e21,1e+21,5],"c":0.5}';
    const value = written(text) as { a: WrittenNumber; b: unknown[] };
    expect(value.a).toBeInstanceOf(WrittenNumber);
    expect(value.b[5]).toBe(5);
    expect(writeStrictJson(value)).toBe(text);
    expect(() => exactNumbers(value)).toThrow('too large for exact comparison');
    expect(exactNumbers(written('{"a":[1.0,{"__proto__":1e2}]}'))).toEqual(
      JSON.parse('{"a":[1,{"__proto__":100}]}'),
    );
    expect(() => exactNumbers(written('9007199254740992'))).toThrow('too large');
  });

  it('gives a member named __proto__ no power', () => {
    const value = readStrictJson('{"__proto__":{"admin":true}}') as { admin?: unknown };
    expect(value.admin).toBeUndefined();
    expect(Object.keys(value)).toEqual(['__proto__']);
  });
});
