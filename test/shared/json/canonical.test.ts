// Canonical JSON: one text for one value, whatever its keys are and in whichever order they came.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../../src/shared/json/canonical.ts';

/** The same, told in the plainest way. */
function plainly(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(plainly).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const keys = Object.keys(value).sort((a, b) => (a < b ? -1 : 1));
  const fields = value as { readonly [key: string]: unknown };
  return `{${keys.map((key) => `${JSON.stringify(key)}:${plainly(fields[key])}`).join(',')}}`;
}

const json = fc.jsonValue({ maxDepth: 4 });
/** Keys that objects move to the front, or take for their prototype. */
const oddKey = fc.constantFrom('10', '9', '007', '-1', '__proto__', 'constructor', '', 'a', 'é', '\ud800');

describe('canonical JSON', () => {
  it('has its keys in the order of their code units, at every level', () => {
    fc.assert(fc.property(json, (value) => canonicalJson(value) === plainly(value)));
    expect(canonicalJson({ b: [{ z: 1, a: null }], a: 'é"\n', B: -0 })).toBe(
      '{"B":0,"a":"é\\"\\n","b":[{"a":null,"z":1}]}',
    );
  });

  it('keeps keys that are numbers, or that objects do not take, in their places', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(oddKey, json), { maxLength: 8 }), (entries) => {
        const inner = Object.fromEntries(entries);
        const value = { list: [1, inner], inner };
        expect(canonicalJson(value)).toBe(plainly(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"c":2},"10":3,"9":4}'))).toBe(
      '{"10":3,"9":4,"__proto__":{"c":2},"b":1}',
    );
  });

  it('says nothing of fields without a value, and null for what is no value', () => {
    expect(canonicalJson({ b: undefined, a: [undefined, Number.NaN] })).toBe('{"a":[null,null]}');
    expect(canonicalJson({ 1: undefined, a: 1 })).toBe('{"a":1}');
    expect(canonicalJson(undefined)).toBe('null');
  });
});
