// How many answers are made at once, and how their size is guessed.
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../src/http/contract/call.ts';
import { createReads } from '../../src/http/reads.ts';
import { roughBytes } from '../../src/http/rough-bytes.ts';
import { ManualClock, settled } from '../clock.ts';

const of = (tenantId: string) => ({ kind: 'user', userId: 'u', tenantId }) as Caller;

function reads() {
  const clock = new ManualClock();
  const run = createReads(clock);
  const ends: (() => void)[] = [];
  const begin = (tenantId: string): Promise<unknown> =>
    run(of(tenantId), () => new Promise((resolve) => ends.push(() => resolve('read'))));
  return { clock, run, begin, ends };
}

describe('answers that are being made', () => {
  it('are 16 of a tenant; others wait their turn, and another tenant does not notice', async () => {
    const { begin, ends, run } = reads();
    const all = Array.from({ length: 40 }, () => begin('t1'));
    expect(ends.length).toBe(16);
    await expect(run(of('t2'), async () => 'read')).resolves.toBe('read');
    for (let left = all.length; left > 0; left--) {
      ends.shift()?.();
      await settled();
    }
    await expect(Promise.all(all)).resolves.toHaveLength(40);
  });

  it('are 64 of a node', async () => {
    const { begin, ends } = reads();
    for (let tenant = 0; tenant < 5; tenant++) for (let i = 0; i < 16; i++) void begin(`t${tenant}`);
    await settled();
    expect(ends.length).toBe(64);
  });

  it('are refused after a wait of 10 s', async () => {
    const { begin, clock } = reads();
    for (let i = 0; i < 16; i++) void begin('t1');
    const late = begin('t1');
    const told = expect(late).rejects.toMatchObject({ code: 'overloaded', detail: { retryAfter: 1 } });
    clock.advance(10_000);
    await told;
  });

  it('do not bound callers without a tenant', async () => {
    const { begin, run } = reads();
    for (let i = 0; i < 80; i++) void begin('t1');
    await expect(run({ kind: 'none' }, async () => 'health')).resolves.toBe('health');
  });
});

describe('the rough size of an answer', () => {
  it.each([
    ['a batch of values', { values: { a: 'x'.repeat(1_000_000), b: 'x'.repeat(500_000) } }],
    ['a long list', Array.from({ length: 5_000 }, (_, i) => ({ id: i, name: 'x'.repeat(200) }))],
    ['bytes', new Uint8Array(70_000)],
    ['a text', 'x'.repeat(70_000)],
  ])('is near that of %s', (_, value) => {
    const real = value instanceof Uint8Array ? value.length : JSON.stringify(value).length;
    expect(roughBytes(value) / real).toBeGreaterThan(0.5);
    expect(roughBytes(value) / real).toBeLessThan(2);
  });
});
