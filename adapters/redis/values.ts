// Session values in Redis: a text `<expiry> <value>` per key. The expiry is judged by the caller's time, as the port has it; Redis removes
// a value some time after that by itself, so a sweep has nothing to do.
import { type ValueStore, valueTtlMs } from '../../src/ports/values.ts';
import { type Answer, type Link, script } from './link.ts';

/** Redis's own expiry comes later than ours, for clocks that differ. */
const graceMs = 3_600_000;

/**
 * KEYS: value. ARGV: amount, now, new expiry, Redis's expiry in ms. Answers the sum as text, or nil when the value is not a finite number.
 * A sum is written in the fewest digits that read back as the same number.
 */
const addScript = script(`
local text = '0'
local stored = redis.call('GET', KEYS[1])
if stored then
  local expiry, value = string.match(stored, '^(%S+) (.*)$')
  if tonumber(expiry) > tonumber(ARGV[2]) then text = value end
end
local digits = string.match(text, '^%s*[+-]?(.-)%s*$')
local mantissa = string.match(digits, '^([%d.]+)$') or string.match(digits, '^([%d.]+)[eE][+-]?%d+$')
local number = mantissa and string.find(mantissa, '%d') and tonumber(text)
if not number then return false end
local sum = number + tonumber(ARGV[1])
if sum ~= sum or sum == math.huge or sum == -math.huge then return false end
local said
if sum == math.floor(sum) and math.abs(sum) < 2 ^ 53 then
  said = string.format('%.0f', sum)
  if said == '-0' then said = '0' end
else
  for digits = 1, 17 do
    said = string.format('%.' .. digits .. 'g', sum)
    if tonumber(said) == sum then break end
  end
end
redis.call('SET', KEYS[1], ARGV[3] .. ' ' .. said, 'PX', ARGV[4])
return said
`);

const lifetime = String(valueTtlMs + graceMs);

export function redisValues(link: Link, prefix: string): ValueStore {
  const keyOf = (tenantId: string, key: string): string => `${prefix}value:${tenantId}/${key}`;
  const read = (answer: Answer | undefined, now: number): string | null => {
    if (!Buffer.isBuffer(answer)) return null;
    const space = answer.indexOf(0x20);
    return Number(answer.toString('latin1', 0, space)) > now ? answer.toString('utf8', space + 1) : null;
  };
  return {
    async get(tenantId, key, now) {
      return read(await link.send(['GET', keyOf(tenantId, key)]), now);
    },
    async getMany(tenantId, keys, now) {
      const found = new Map<string, string>();
      if (keys.length === 0) return found;
      const answers = await link.send(['MGET', ...keys.map((key) => keyOf(tenantId, key))]);
      for (const [index, key] of keys.entries()) {
        const value = read(Array.isArray(answers) ? answers[index] : undefined, now);
        if (value !== null) found.set(key, value);
      }
      return found;
    },
    async set(tenantId, key, value, now) {
      await link.send(['SET', keyOf(tenantId, key), `${now + valueTtlMs} ${value}`, 'PX', lifetime]);
    },
    async increment(tenantId, key, amount, now) {
      const args = [String(amount), String(now), String(now + valueTtlMs), lifetime];
      const sum = await link.run(addScript, [keyOf(tenantId, key)], args);
      return sum === null ? 'not_a_number' : Number(sum.toString());
    },
    async remove(tenantId, key) {
      await link.send(['DEL', keyOf(tenantId, key)]);
    },
    sweep: async () => 0,
  };
}
