// Session values in Redis: a text `<expiry>/<environment> <value>` per key. The expiry is judged by the caller's time,
// as the port has it. Redis removes a value some time after that by itself, so a sweep has nothing to do. A hash sums
// the room that the values of an environment take: in all, and by the hour of their expiry. The hourly sums let the
// total lose the values that Redis removed by itself.
import { hourMs } from '../../src/shared/duration.ts';
import {
  type QuotaFull,
  type ValueStore,
  type ValueWriter,
  valueTtlMs,
} from '../../src/shared/ports/values.ts';
import { type Link, type RedisReply, script } from './link.ts';

/** Redis's own expiry comes later than ours, for clocks that differ. */
export const graceMs = hourMs;

/**
 * For the scripts that write. ARGV: now, new expiry, Redis's expiry in ms, environment, what the names of sums begin
 * with, bytes of the key. `stored()` is what is under KEYS[1] without its value, or nil. Values without an
 * environment count in none.
 */
const accounts = `
local now, expiry, lifetime, env, sums, keyBytes =
  tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local hourMs = 3600000
local function stored()
  local head = string.match(redis.call('GETRANGE', KEYS[1], 0, 63), '^%S+ ')
  if not head then return nil end
  local at, its = string.match(head, '^(%d+%.?%d*)/?(%a*) $')
  -- No hub wrote this.
  if not at then return nil end
  local bytes = redis.call('STRLEN', KEYS[1]) - #head + keyBytes
  return { expiry = tonumber(at), env = its, bytes = bytes, lives = tonumber(at) > now }
end
-- The hour up to which the sums of an environment have lost what expired. Loses what has expired since.
local function settled(its)
  local name, last = sums .. its, math.floor(now / hourMs) - 1
  local done = tonumber(redis.call('HGET', name, 'done') or 0)
  if done >= last then return done end
  for hour = math.max(done + 1, last - 200), last do
    local bytes = redis.call('HGET', name, 'bytes' .. hour)
    if bytes then
      redis.call('HINCRBY', name, 'bytes', -bytes)
      redis.call('HINCRBY', name, 'keys', -redis.call('HGET', name, 'keys' .. hour))
      redis.call('HDEL', name, 'bytes' .. hour, 'keys' .. hour)
    end
  end
  redis.call('HSET', name, 'done', last)
  return last
end
local function counts(value)
  return value.env ~= '' and math.floor(value.expiry / hourMs) > settled(value.env)
end
local function add(its, at, bytes, keys)
  local name, hour = sums .. its, math.floor(at / hourMs)
  redis.call('HINCRBY', name, 'bytes', bytes)
  redis.call('HINCRBY', name, 'keys', keys)
  redis.call('HINCRBY', name, 'bytes' .. hour, bytes)
  redis.call('HINCRBY', name, 'keys' .. hour, keys)
  redis.call('PEXPIRE', name, lifetime)
end
local function forget(value)
  if value and counts(value) then add(value.env, value.expiry, -value.bytes, -1) end
end
local function put(old, its, value)
  forget(old)
  local head = expiry
  if its ~= '' then
    settled(its)
    add(its, tonumber(expiry), keyBytes + #value, 1)
    head = head .. '/' .. its
  end
  redis.call('SET', KEYS[1], head .. ' ' .. value, 'PX', lifetime)
end
local function used(what)
  settled(env)
  return tonumber(redis.call('HGET', sums .. env, what) or 0)
end
`;

/** ARGV, from the seventh: most bytes, most keys, value. */
const setScript = script(`${accounts}
local value, old = ARGV[9], stored()
local bytes = keyBytes + #value
if old and bytes <= old.bytes and (old.lives or old.env == env) then
  put(old, old.env, value)
  return 'set'
end
local replaced = old and old.env == env and counts(old) and old.bytes or false
if used('bytes') - (replaced or 0) + bytes > tonumber(ARGV[7]) then return 'bytes_full' end
if not replaced and used('keys') >= tonumber(ARGV[8]) then return 'keys_full' end
put(old, env, value)
return 'set'
`);

/**
 * ARGV, from the seventh: most keys, amount. Answers the sum as text, `keys_full`, or nil when the value is not a
 * finite number. A sum is written in the fewest digits that read back as the same number.
 */
const addScript = script(`${accounts}
local old = stored()
local text = old and old.lives and string.match(redis.call('GET', KEYS[1]), '^%S+ (.*)$') or '0'
local digits = string.match(text, '^[+-]?(.*)$')
local mantissa = string.match(digits, '^([%d.]+)$') or string.match(digits, '^([%d.]+)[eE][+-]?%d+$')
local number = mantissa and string.find(mantissa, '%d') and tonumber(text)
if not number then return false end
local sum = number + tonumber(ARGV[8])
if sum ~= sum or sum == math.huge or sum == -math.huge then return false end
local result
if sum == math.floor(sum) and math.abs(sum) < 2 ^ 53 then
  result = string.format('%.0f', sum)
  if result == '-0' then result = '0' end
else
  for digits = 1, 17 do
    result = string.format('%.' .. digits .. 'g', sum)
    if tonumber(result) == sum then break end
  end
end
local lives = old and old.lives
if not lives and not (old and old.env == env) and used('keys') >= tonumber(ARGV[7]) then return 'keys_full' end
put(old, lives and old.env or env, result)
return result
`);

const removeScript = script(`${accounts}
forget(stored())
return redis.call('DEL', KEYS[1])
`);

/** ARGV, from the seventh: Redis's expiry in ms of this value, value. For values that come with their expiry. */
export const restoreScript = script(`${accounts}
put(stored(), env, ARGV[8])
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return 'set'
`);

/** KEYS: values. ARGV: now, most bytes. Answers what MGET does, or nil when those that live have more bytes. */
const readScript = script(`
local now, left = tonumber(ARGV[1]), tonumber(ARGV[2])
for _, key in ipairs(KEYS) do
  local head = string.match(redis.call('GETRANGE', key, 0, 63), '^%S+ ')
  local at = head and tonumber(string.match(head, '^[%d.]+') or '')
  if at and at > now then
    left = left - (redis.call('STRLEN', key) - #head)
    if left < 0 then return false end
  end
end
return redis.call('MGET', unpack(KEYS))
`);

const lifetime = String(valueTtlMs + graceMs);

/** The first six arguments of a script that writes. */
export const valueArguments = (of: {
  readonly prefix: string;
  readonly tenantId: string;
  readonly env: string;
  readonly key: string;
  readonly now: number;
  readonly expiresAt: number;
}): string[] => [
  String(of.now),
  String(of.expiresAt),
  lifetime,
  of.env,
  `${of.prefix}value-sums:${of.tenantId}/`,
  String(Buffer.byteLength(of.key)),
];

export function redisValues(link: Link, prefix: string): ValueStore {
  const keyOf = (tenantId: string, key: string): string => `${prefix}value:${tenantId}/${key}`;
  const accountsOf = (tenantId: string, env: string, key: string, now: number): string[] =>
    valueArguments({ prefix, tenantId, env, key, now, expiresAt: now + valueTtlMs });
  const read = (answer: RedisReply | undefined, now: number): string | null => {
    if (!Buffer.isBuffer(answer)) return null;
    const space = answer.indexOf(0x20);
    const expiry = Number.parseFloat(answer.toString('latin1', 0, space));
    return expiry > now ? answer.toString('utf8', space + 1) : null;
  };
  return {
    async get(tenantId, key, now) {
      return read(await link.send(['GET', keyOf(tenantId, key)]), now);
    },
    async getMany(tenantId, keys, now, maxBytes) {
      const values = new Map<string, string>();
      const unique = [...new Set(keys)];
      if (unique.length === 0) return values;
      const names = unique.map((key) => keyOf(tenantId, key));
      const answers = await link.run(readScript, names, [String(now), String(maxBytes)]);
      if (!Array.isArray(answers)) return 'too_large';
      for (const [index, key] of unique.entries()) {
        const value = read(answers[index], now);
        if (value !== null) values.set(key, value);
      }
      return values;
    },
    async set({ tenantId, env, quota }: ValueWriter, key, value, now) {
      const limits = [String(quota.maxBytes), String(quota.maxKeys)];
      const args = [...accountsOf(tenantId, env, key, now), ...limits, value];
      return String(await link.run(setScript, [keyOf(tenantId, key)], args)) as 'set' | QuotaFull;
    },
    async increment({ tenantId, env, quota }, key, amount, now) {
      const args = [...accountsOf(tenantId, env, key, now), String(2 * quota.maxKeys), String(amount)];
      const answer = await link.run(addScript, [keyOf(tenantId, key)], args);
      if (answer === null) return 'not_a_number';
      const word = String(answer);
      return word === 'keys_full' ? word : Number(word);
    },
    async remove(tenantId, key) {
      // At no time nothing expires: the sums lose this value alone.
      await link.run(removeScript, [keyOf(tenantId, key)], accountsOf(tenantId, '', key, 0));
    },
    removeAll: (tenantId, limit) => removeKeysOf(link, prefix, tenantId, limit),
    removeExpired: async () => 0,
  };
}

/** Every key that has to do with a tenant names it. Jobs stand in several keys each: their queues remove them. */
async function removeKeysOf(link: Link, prefix: string, tenantId: string, limit: number): Promise<number> {
  const starts = [`value:${tenantId}/`, `value-sums:${tenantId}/`, 'log:{', 'limit:{'];
  const pattern = `${prefix}*${tenantId}*`;
  let [cursor, removed] = ['0', 0];
  do {
    const answer = await link.send(['SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000']);
    const [next, keys] = Array.isArray(answer) ? answer : [];
    cursor = String(next ?? '0');
    const matchingKeys = Array.isArray(keys) ? keys.map(String) : [];
    const names = matchingKeys.filter((key) => starts.some((start) => key.startsWith(`${prefix}${start}`)));
    if (names.length > 0) await link.send(['UNLINK', ...names]);
    removed += names.length;
  } while (cursor !== '0' && removed < limit);
  return removed;
}
