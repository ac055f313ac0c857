// Call ids in memory: the table beside a Map that does the same, and the filter of what the table on disk holds.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bucketsOf } from '../../../adapters/sqlite/events/call-buckets.ts';
import { CallFilter } from '../../../adapters/sqlite/events/call-filter.ts';
import { callIds } from '../../../adapters/sqlite/events/call-ids.ts';
import { CallTable } from '../../../adapters/sqlite/events/call-table.ts';
import { runsOf } from '../../runs.ts';

const ids = [callIds(1, randomBytes(16 * 40)), callIds(2, randomBytes(16 * 40))] as const;
const step = fc.record({
  kind: fc.constantFrom('put', 'put', 'put', 'remove', 'undo'),
  tenant: fc.constantFrom(0, 1),
  id: fc.nat(39),
});

it('finds what was put and not removed, also after the newest steps are taken back', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 200 }), (steps) => {
      const table = new CallTable();
      const model = new Map<string, number>();
      const undo: (() => void)[] = [];
      for (const [n, { kind, tenant, id }] of steps.entries()) {
        const name = `${tenant} ${id}`;
        const before = model.get(name);
        const restore = () => (before === undefined ? model.delete(name) : model.set(name, before));
        if (kind === 'undo') undo.pop()?.();
        else if (kind === 'put') {
          const { size } = table;
          const back = table.put(ids[tenant], id, n);
          model.set(name, n);
          undo.push(() => {
            back?.();
            table.truncate(size);
            restore();
          });
        } else {
          const back = table.remove(ids[tenant], id, (entry) => entry % 2 === 0);
          expect(back !== null).toBe(before !== undefined && before % 2 === 0);
          if (back === null) continue;
          model.delete(name);
          undo.push(() => {
            back();
            restore();
          });
        }
      }
      for (const tenant of [0, 1] as const)
        for (let id = 0; id < 40; id++)
          expect(table.find(ids[tenant], id)).toBe(model.get(`${tenant} ${id}`));
    }),
    { numRuns: runsOf(2_000, 200) },
  );
});

it('grows, keeps tenants apart and writes ids as they came', () => {
  const bytes = randomBytes(16 * 5_000);
  const many = callIds(7, bytes);
  const table = new CallTable();
  for (let i = 0; i < many.length; i++) table.put(many, i, i * 32);
  const others = callIds(8, bytes);
  const written = Buffer.alloc(16);
  for (let i = 0; i < many.length; i++) {
    expect(table.find(many, i)).toBe(i * 32);
    expect(table.find(others, i)).toBeUndefined();
    table.writeId(i, written, 0);
    expect(written.equals(bytes.subarray(i * 16, i * 16 + 16))).toBe(true);
  }
  const rows = Int32Array.from({ length: many.length }, (_, i) => i).sort(table.compare);
  const inOrder = Array.from(rows, (row) => bytes.subarray(row * 16, row * 16 + 16));
  const sorted = [...inOrder].sort(Buffer.compare);
  expect(Buffer.concat(inOrder).equals(Buffer.concat(sorted))).toBe(true);
  table.truncate(100);
  expect(table.find(many, 99)).toBe(99 * 32);
  expect(table.find(many, 100)).toBeUndefined();
});

it('has a filter that knows every id that was added, and few others', () => {
  const filter = new CallFilter();
  const count = (1 << 19) + 20_000;
  const added = callIds(1, randomBytes(16 * count));
  for (let i = 0; i < count; i++) filter.add(added.hashes, i);
  const misses = Array.from({ length: count }, (_, i) => i).filter((i) => !filter.mayHave(added.hashes, i));
  expect(misses).toEqual([]);
  const others = callIds(1, randomBytes(16 * 20_000));
  let mistaken = 0;
  for (let i = 0; i < others.length; i++) if (filter.mayHave(others.hashes, i)) mistaken++;
  expect(mistaken).toBeLessThan(others.length / 50);
});

it('divides its rows by tenant and id into buckets in the order of the table on disk', () => {
  // Few calls, many, more than a statement adds, and few again; tenants come in no order.
  const sizes = [
    [9, 3],
    [2, 5_000],
    [3, 300],
    [12, 0],
    [1, 40],
    [10, 200],
    [11, 100],
  ] as const;
  const table = new CallTable();
  for (const part of [0, 1])
    for (const [tenant, size] of sizes) {
      const count = part === 0 ? size >> 1 : size - (size >> 1);
      const calls = callIds(tenant, randomBytes(16 * count));
      for (let i = 0; i < count; i++) table.put(calls, i, i);
    }
  const buckets = bucketsOf(table);
  const rows = buckets.flatMap((bucket) => [...bucket.slice().sort(table.compare)]);
  expect(rows).toEqual(Array.from({ length: table.size }, (_, row) => row).sort(table.compare));
  expect(Math.max(...buckets.map(({ length }) => length))).toBeLessThan(512);
  // Tenants with few calls share a bucket: 1 alone, 2 and 3 have several, 9 and 10 share one.
  expect(buckets).toHaveLength(1 + 32 + 2 + 1 + 1);
  expect(bucketsOf(new CallTable())).toEqual([]);
});
