// Session values: each operation is one atomic operation of the store. They belong to the tenant and are shared by its
// environments, but their size is counted by environment.

import { HubError, notFound } from '../shared/error.ts';
import type { QuotaFull, ValueWriter } from '../shared/ports/values.ts';
import type { KeyPrincipal, Principal } from '../shared/principal.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import { maxSessionValue } from './record.ts';

/** Bytes of a value's JSON, or of the values of one answer: with what stands around them an answer holds 4 MiB. */
const maxRead = 4 * 1024 * 1024 - 65_536;

/** People of the tenant may look; agents alone write. */
export interface SessionValues {
  /** By key; a missing key is null. @throws HubError response_too_large */
  getMany(
    principal: Pick<Principal, 'tenantId'>,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, string | null>>;
  /** @throws HubError not_found */
  get(principal: KeyPrincipal, key: string): Promise<string>;
  /** @throws HubError payload_too_large, quota_exceeded, disk_full */
  set(principal: KeyPrincipal, key: string, value: string): Promise<void>;
  /** The value after adding. @throws HubError conflict (the value is not a number), quota_exceeded */
  increment(principal: KeyPrincipal, key: string, amount: number): Promise<number>;
  /** Safe to repeat. */
  remove(principal: KeyPrincipal, key: string): Promise<void>;
}

export function createSessionValues({
  store,
  clock,
  settings,
}: Pick<AppPorts, 'store' | 'clock' | 'settings'>): SessionValues {
  const { values } = store;
  const { sessionBytes: maxBytes, sessionKeys: maxKeys } = settings.quotas;
  const writerOf = ({ tenantId, env }: KeyPrincipal): ValueWriter => ({
    tenantId,
    env,
    quota: { maxBytes, maxKeys },
  });

  return {
    async getMany({ tenantId }, keys) {
      const distinctKeys = [...new Set(keys)];
      const read = await values.getMany(tenantId, distinctKeys, clock.now(), maxRead);
      if (read === 'too_large') {
        throw new HubError(
          'response_too_large',
          'These values are larger than 4 MiB together, the limit of one answer. Request fewer keys at a time.',
        );
      }
      return new Map(distinctKeys.map((key) => [key, read.get(key) ?? null]));
    },

    async get({ tenantId }, key) {
      const value = await values.get(tenantId, key, clock.now());
      if (value === null) throw notFound('Key not found');
      return value;
    },

    async set(principal, key, value) {
      checkSize(value);
      const writer = writerOf(principal);
      const outcome = await values.set(writer, key, value, clock.now());
      if (outcome !== 'set') throw quotaExceeded(writer, outcome);
    },

    async increment(principal, key, amount) {
      const writer = writerOf(principal);
      const value = await values.increment(writer, key, amount, clock.now());
      if (value === 'not_a_number') {
        throw new HubError(
          'conflict',
          'The value at this key is not a number, so it cannot be incremented. Delete the value or use another key.',
        );
      }
      if (value === 'keys_full') throw quotaExceeded(writer, value);
      return value;
    },

    remove: ({ tenantId }, key) => values.remove(tenantId, key),
  };
}

/** @throws HubError payload_too_large for a value that could not be stored, or not be read again */
function checkSize(value: string): void {
  if (Buffer.byteLength(value) > maxSessionValue) {
    throw new HubError('payload_too_large', 'Session value too large. Maximum allowed: 1MB.');
  }
  // Control characters take six bytes each in JSON.
  if (value.length * 6 > maxRead && Buffer.byteLength(JSON.stringify(value)) > maxRead) {
    throw new HubError(
      'payload_too_large',
      'Session value too large: as JSON it does not fit an answer of 4 MiB.',
    );
  }
}

function quotaExceeded({ env, quota }: ValueWriter, full: QuotaFull): HubError {
  const [what, setting] =
    full === 'bytes_full'
      ? [`${quota.maxBytes} bytes`, 'SESSION_VALUES_MAX_BYTES']
      : [`${quota.maxKeys} keys`, 'SESSION_VALUES_MAX_KEYS'];
  return new HubError(
    'quota_exceeded',
    `The session values in '${env}' fill its quota of ${what}. Delete some or write shorter ones (values expire 7 days after ` +
      `their last write), or ask the operator to raise ${setting}. Counters, deletions and values that do not grow still work.`,
  );
}
