// Calls in memory in the order of their table: by tenant, then by id. All at once, they would take too long to sort.
import type { CallTable } from './call-table.ts';

/** Rows of a bucket, about: one statement adds as many (call-rows.ts). */
const bucketRows = 256;
/** Bits of the first byte of an id. */
const maxBits = 8;

/** Buckets of a tenant: the number of its first one, and the shift that makes numbers of first bytes of ids. */
interface TenantBuckets {
  readonly first: number;
  readonly shift: number;
}

/** Divides rows by tenant: one with many has buckets of its own, neighbours with few share one. */
class BucketPlan {
  readonly #buckets = new Map<number, TenantBuckets>();
  readonly count: number;
  #last: readonly [tenant: number, buckets: TenantBuckets] = [-1, { first: 0, shift: maxBits }];

  /** @param sizes rows of each tenant */
  constructor(sizes: ReadonlyMap<number, number>) {
    let count = 0;
    let roomOfLast = 0;
    for (const [tenant, size] of [...sizes].sort(([one], [other]) => one - other)) {
      const bits = Math.min(maxBits, Math.max(0, Math.ceil(Math.log2(size / bucketRows))));
      const isShared = size <= roomOfLast;
      const first = isShared ? count - 1 : count;
      if (!isShared) count += 2 ** bits;
      roomOfLast = bits > 0 ? 0 : (isShared ? roomOfLast : bucketRows) - size;
      this.#buckets.set(tenant, { first, shift: maxBits - bits });
    }
    this.count = count;
  }

  bucketOf(tenant: number, firstByte: number): number {
    // Calls of one tenant come in batches.
    if (this.#last[0] !== tenant) this.#last = [tenant, this.#buckets.get(tenant) ?? this.#last[1]];
    const { first, shift } = this.#last[1];
    return first + (firstByte >>> shift);
  }
}

function tenantSizes(ids: CallTable): Map<number, number> {
  const sizes = new Map<number, number>();
  let [tenant, size] = [-1, 0];
  for (let row = 0; row <= ids.size; row++) {
    const next = row < ids.size ? ids.tenantAt(row) : -1;
    if (next !== tenant) {
      if (size > 0) sizes.set(tenant, (sizes.get(tenant) ?? 0) + size);
      [tenant, size] = [next, 0];
    }
    size++;
  }
  return sizes;
}

/** Rows by ranges of their keys: each row of a bucket comes before each of the next. No bucket is sorted. */
export function bucketsOf(ids: CallTable): readonly Int32Array[] {
  const plan = new BucketPlan(tenantSizes(ids));
  const numbers = new Uint32Array(ids.size);
  const sizes = new Int32Array(plan.count);
  for (let row = 0; row < ids.size; row++) {
    const number = plan.bucketOf(ids.tenantAt(row), ids.firstByteAt(row));
    numbers[row] = number;
    sizes[number] = (sizes[number] ?? 0) + 1;
  }
  const buckets = Array.from(sizes, (size) => new Int32Array(size));
  for (const [row, number] of numbers.entries()) {
    const left = (sizes[number] ?? 0) - 1;
    sizes[number] = left;
    const bucket = buckets[number];
    if (bucket) bucket[left] = row;
  }
  return buckets;
}
