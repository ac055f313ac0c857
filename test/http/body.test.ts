import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readQuery, tooLarge } from '../../src/http/body.ts';
import { defaultBody } from '../../src/http/contract/route.ts';
import { unpack, unpackLoosely } from '../../src/http/live/unpack.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { maxValues, readJson, readLooseJson } from '../../src/shared/json/json.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const refused = expect.objectContaining({ code: 'invalid_json' });

describe('JSON bodies', () => {
  it('gives back any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        if (/__proto__|constructor|prototype/.test(text)) return;
        expect(readJson(bytes(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('refuses what JSON cannot mean', () => {
    for (const text of ['', '{', 'NaN', '[1e400]', '{"a":-1e999}', '"\\ud800"', '{"\\udfff":1}', '\u0000'])
      expect(() => readJson(bytes(text))).toThrowError(refused);
    expect(() => readJson(new Uint8Array([0x22, 0xff, 0x22]))).toThrowError(refused);
  });

  it('refuses keys that reach into prototypes, at any depth', () => {
    for (const key of ['__proto__', 'constructor', 'prototype', '__pr\\u006fto__'])
      expect(() => readJson(bytes(`[{"a":{"${key}":1}}]`))).toThrowError(refused);
  });

  it('bounds nesting before parsing, and brackets in texts do not count', () => {
    expect(() => readJson(bytes('['.repeat(5_000_000)))).toThrowError(refused);
    expect(() => readJson(bytes(`${'['.repeat(65)}${']'.repeat(65)}`))).toThrowError(refused);
    expect(readJson(bytes(`${'['.repeat(64)}${']'.repeat(64)}`))).toBeInstanceOf(Array);
    expect(readJson(bytes(JSON.stringify('["\\"['.repeat(100))))).toBe('["\\"['.repeat(100));
  });

  it('knows where long texts end, whatever is escaped in them', () => {
    const deep = `${'['.repeat(65)}${']'.repeat(65)}`;
    const letters = fc.array(fc.constantFrom('"', '\\', '[', ',', 'a', 'ä'), { maxLength: 200 });
    fc.assert(
      fc.property(letters, letters, (first, second) => {
        const value = [first.join(''), second.join('')];
        const text = JSON.stringify(value);
        expect(readJson(bytes(text))).toEqual(value);
        expect(() => readJson(bytes(`[${text},${deep}]`))).toThrowError(/nested deeper/);
      }),
    );
    expect(() => readJson(bytes(`["${'a'.repeat(100)}`))).toThrowError(refused);
  });

  it('bounds the number of values before parsing, and commas in texts do not count', () => {
    const full = `[${'0,'.repeat(maxValues - 1)}0]`;
    expect(readJson(bytes(full))).toHaveLength(maxValues);
    expect(() => readJson(bytes(full.replace('[', '[0,')))).toThrowError(refused);
    expect(() => readJson(bytes(`{"a":[${'{},'.repeat(maxValues)}{}]}`))).toThrowError(refused);
    expect(readJson(bytes(JSON.stringify(','.repeat(maxValues + 1))))).toHaveLength(maxValues + 1);
  });
});

describe('MessagePack messages', () => {
  it('reads what an encoder writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        if (/__proto__|constructor|prototype/.test(JSON.stringify(value))) return;
        expect(JSON.parse(JSON.stringify(unpack(encode(value))))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('keeps the digits of whole numbers that a double cannot hold', () => {
    const read = (value: unknown) => unpackLoosely(encode(value, { useBigInt64: true }));
    const edges = [2n ** 53n, 2n ** 53n + 1n, 2n ** 60n, 2n ** 64n - 1n, -(2n ** 53n) - 1n, -(2n ** 63n), 7n];
    for (const value of edges) {
      const json = readLooseJson(bytes(`[${value}]`));
      expect(read([value]), String(value)).toEqual(json);
      const [kept] = json.value as readonly unknown[];
      expect(String(kept)).toBe(String(value));
      expect(json.rounded).toEqual(typeof kept === 'string' ? [Number(value)] : undefined);
    }
  });

  it('refuses lengths that are not there, without allocating them', () => {
    const claims = [
      [0xdd, 0xff, 0xff, 0xff, 0xff],
      [0xdf, 0xff, 0xff, 0xff, 0xff],
      [0xdb, 0xff, 0xff, 0xff, 0xff, 0x61],
      [0x92, 0x01],
      [],
      [0x01, 0x01],
      [0xc1],
      [0xc4, 0x00],
      [0x81, 0x01, 0x01],
    ];
    for (const claim of claims) expect(() => unpack(new Uint8Array(claim))).toThrowError(refused);
    expect(() => unpack(new Uint8Array(100_000).fill(0x91))).toThrowError(refused);
    expect(() => unpack(encode({ __proto__x: 1, a: Number.NaN }))).toThrowError(refused);
    const proto = encode({ xxproto__: 1 });
    proto[2] = 0x5f;
    proto[3] = 0x5f;
    expect(() => unpack(proto)).toThrowError(refused);
  });

  it('never fails but with an error of ours', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (noise) => {
        try {
          unpack(noise);
        } catch (error) {
          expect(error).toEqual(refused);
        }
      }),
    );
  });
});

describe('queries', () => {
  it('takes the last of repeated parameters and decodes once', () => {
    expect(readQuery('a=1&a=2&b=x+y%2Bz&c&=&d=%2541')).toEqual({
      a: '2',
      b: 'x y+z',
      c: '',
      '': '',
      d: '%41',
    });
    expect(readQuery('__proto__=x&toString=y')).toEqual({ toString: 'y' });
  });

  it('bounds their number and refuses bad escapes', () => {
    const refusal = expect.objectContaining({ code: 'bad_request' });
    expect(() => readQuery('a=1&'.repeat(65))).toThrowError(refusal);
    expect(() => readQuery('a=%ff')).toThrowError(refusal);
  });
});

describe('body limits', () => {
  it('follow the table, and say so in its words', () => {
    expect(api.login.bodyLimit).toBe(4096);
    expect(api.setup.bodyLimit).toBe(4096);
    for (const operation of ['evaluateBundle', 'assist', 'assistContracts'] as const)
      expect(api[operation].bodyLimit).toBe(5 * 1024 * 1024);
    for (const operation of ['deleteContract', 'generateDescription'] as const)
      expect('bodyLimit' in api[operation]).toBe(false);
    expect(defaultBody).toBe(1024 * 1024);
    expect(tooLarge(5 * 1024 * 1024).message).toBe('Request body too large. Maximum allowed: 5MB.');
    expect(tooLarge(4096).message).toBe('Request body too large. Maximum allowed: 4KB.');
  });
});
