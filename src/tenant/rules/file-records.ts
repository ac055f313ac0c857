// Records of a tenant file: digests by kind, and the records whose fields are secrets. Pure.
import type { MovedRecords } from '../../shared/ports/moved-records.ts';
import type { TenantFileKind } from './file-kinds.ts';

const modulus = 2n ** 256n;

/** Records of a kind, and the sum (modulo 2^256) of the SHA-256 over each line, hex. */
export interface LineDigest {
  readonly records: number;
  readonly sum: string;
}

export type LineDigests = { readonly [kind: string]: LineDigest };

const hexOf = (sum: bigint): string => (sum % modulus).toString(16).padStart(64, '0');

/** @param hashes hex SHA-256 of lines */
export const digestOf = (hashes: readonly string[]): LineDigest => ({
  records: hashes.length,
  sum: hexOf(hashes.reduce((sum, hash) => sum + BigInt(`0x${hash}`), 0n)),
});

/** Both together: digests do not depend on an order. */
export function addDigests(a: LineDigests, b: LineDigests): LineDigests {
  const sums: { [kind: string]: LineDigest } = { ...a };
  for (const [kind, { records, sum }] of Object.entries(b)) {
    const own = sums[kind] ?? { records: 0, sum: '0' };
    sums[kind] = { records: own.records + records, sum: hexOf(BigInt(`0x${own.sum}`) + BigInt(`0x${sum}`)) };
  }
  return sums;
}

/** The kinds that differ. */
export function differences(a: LineDigests, b: LineDigests): readonly string[] {
  const kinds = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return kinds.filter((kind) => a[kind]?.records !== b[kind]?.records || a[kind]?.sum !== b[kind]?.sum);
}

/** Seals secrets for another place. `text`: a value that was not sealed here. */
export interface Resealing {
  readonly sealed: (purpose: 'signing-key' | 'channel-config' | 'ai-key', value: string) => string;
  readonly text: (value: string) => string;
}

type Reseal = {
  readonly [K in TenantFileKind]?: (record: MovedRecords[K], to: Resealing) => MovedRecords[K];
};

const reseals: Reseal = {
  users: (user, { text }) => ({ ...user, passwordHash: text(user.passwordHash) }),
  signing: (signing, { sealed }) => ({
    ...signing,
    active: { ...signing.active, sealedSeed: sealed('signing-key', signing.active.sealedSeed) },
  }),
  channels: (channel, { sealed }) => ({
    ...channel,
    sealedConfig: sealed('channel-config', channel.sealedConfig),
  }),
  settings(setting, { sealed }) {
    const value = setting.value as { readonly sealedKey?: string | null } | null;
    if (typeof value?.sealedKey !== 'string') return setting;
    return {
      ...setting,
      value: { ...value, sealedKey: sealed('ai-key', value.sealedKey) },
    } as typeof setting;
  },
};

/** The record with its secrets sealed again. */
export function reseal<K extends TenantFileKind>(
  kind: K,
  record: MovedRecords[K],
  to: Resealing,
): MovedRecords[K] {
  const change = reseals[kind] as ((record: MovedRecords[K], to: Resealing) => MovedRecords[K]) | undefined;
  return change ? change(record, to) : record;
}

/**
 * The record as another hub keeps it. The hub that it comes from goes on delivering: a delivery that waits is given up
 * here, and can be replayed.
 */
export function settle<K extends TenantFileKind>(kind: K, record: MovedRecords[K]): MovedRecords[K] {
  if (kind !== 'deliveries') return record;
  const delivery = record as MovedRecords['deliveries'];
  return (
    delivery.status === 'waiting' ? { ...delivery, status: 'dead', nextAt: null } : delivery
  ) as MovedRecords[K];
}
