// How the size of an answer is estimated before it is written.
import { describe, expect, it } from 'vitest';
import { estimateJsonBytes } from '../../src/admission/estimate-bytes.ts';

describe('the rough size of an answer', () => {
  it.each([
    ['a batch of values', { values: { a: 'x'.repeat(1_000_000), b: 'x'.repeat(500_000) } }],
    ['a long list', Array.from({ length: 5_000 }, (_, i) => ({ id: i, name: 'x'.repeat(200) }))],
    ['bytes', new Uint8Array(70_000)],
    ['a text', 'x'.repeat(70_000)],
  ])('is near that of %s', (_, value) => {
    const real = value instanceof Uint8Array ? value.length : JSON.stringify(value).length;
    expect(estimateJsonBytes(value) / real).toBeGreaterThan(0.5);
    expect(estimateJsonBytes(value) / real).toBeLessThan(2);
  });
});
