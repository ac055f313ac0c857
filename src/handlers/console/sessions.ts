// Session values: one atomic store operation each. The key's environment does not divide them: they belong to the tenant. What they take is
// counted by environment.
import type { Caller } from '../../api/call.ts';
import { maxValue, type sessionRoutes } from '../../api/sessions.ts';
import { HubError, notFound } from '../../domain/error.ts';
import type { QuotaFull, ValueWriter } from '../../ports/values.ts';
import type { Handlers, Hub } from './hub.ts';

type KeyCaller = Extract<Caller, { kind: 'key' }>;

/** Bytes of a value's JSON, or of the values of one answer: with what stands around them an answer holds 4 MiB. */
const maxRead = 4 * 1024 * 1024 - 65_536;

export const sessions: Handlers<typeof sessionRoutes> = {
  async readSessions(hub, { body }, caller) {
    const keys = [...new Set(body.keys)];
    const found = await hub.store.values.getMany(caller.tenantId, keys, hub.clock.now(), maxRead);
    if (found === 'too_large') {
      throw new HubError(
        'response_too_large',
        'These values hold more than the 4 MiB of one answer. Ask for fewer keys at a time.',
      );
    }
    // fromEntries defines own properties, so that a key named __proto__ is a key like any other.
    return { values: Object.fromEntries(keys.map((key) => [key, found.get(key) ?? null])) };
  },

  async getSession(hub, { params }, caller) {
    const value = await hub.store.values.get(caller.tenantId, params.key, hub.clock.now());
    if (value === null) throw notFound('Key not found');
    return { value };
  },

  async setSession(hub, { params, body }, caller) {
    checkSize(body.value);
    const writer = writerOf(hub, caller);
    const outcome = await hub.store.values.set(writer, params.key, body.value, hub.clock.now());
    if (outcome !== 'set') throw quotaExceeded(writer, outcome);
    return { value: body.value };
  },

  async incrementSession(hub, { params, body }, caller) {
    const writer = writerOf(hub, caller);
    const value = await hub.store.values.increment(writer, params.key, body.amount, hub.clock.now());
    if (value === 'not_a_number') {
      throw new HubError('conflict', 'The value of this key is not a number, so it cannot be incremented.');
    }
    if (value === 'keys_full') throw quotaExceeded(writer, value);
    return { value };
  },

  async deleteSession(hub, { params }, caller) {
    await hub.store.values.remove(caller.tenantId, params.key);
    return { value: null };
  },
};

/** @throws HubError payload_too_large for a value that could not be stored, or not be read again */
function checkSize(value: string): void {
  if (Buffer.byteLength(value) > maxValue) {
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

const writerOf = ({ settings }: Hub, { tenantId, env }: KeyCaller): ValueWriter => ({
  tenantId,
  env,
  quota: { maxBytes: settings.quotas.sessionBytes, maxKeys: settings.quotas.sessionKeys },
});

function quotaExceeded({ env, quota }: ValueWriter, full: QuotaFull): HubError {
  const [what, setting] =
    full === 'bytes_full'
      ? [`${quota.maxBytes} bytes`, 'SESSION_VALUES_MAX_BYTES']
      : [`${quota.maxKeys} keys`, 'SESSION_VALUES_MAX_KEYS'];
  return new HubError(
    'quota_exceeded',
    `The session values written in '${env}' fill its quota of ${what}. Delete some or write shorter ones (values expire 7 days after ` +
      `their last write), or have ${setting} raised. Counters, deletions and values that do not grow are taken all the same.`,
  );
}
