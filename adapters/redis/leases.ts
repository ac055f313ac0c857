// Leases in Redis: a key per lease that Redis removes when it ends, holding owner and epoch, and the last epoch beside
// it, which stays. An epoch is at least Redis's time in milliseconds, so that epochs rise even when Redis lost its
// data.
import type { Clock } from '../../src/shared/ports/clock.ts';
import { type Lease, type Leases, leaseMs } from '../../src/shared/ports/leases.ts';
import { type Link, type RedisReply, script } from './link.ts';

/** In scripts: the text under a key, empty also where there is something else than a text. */
const reading = `
local function text(key)
  local value = redis.pcall('GET', key)
  return type(value) == 'string' and value or ''
end
`;

/**
 * KEYS: lease, last epoch, of each name. ARGV: owner, duration in ms. Answers the epoch of each, 0 when another holds
 * it.
 */
const acquireScript = script(`${reading}
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local epochs = {}
for i = 1, #KEYS, 2 do
  local held = text(KEYS[i])
  local epoch = 0
  local number, owner = string.match(held, '^(%d+) (.+)$')
  -- A value without an end, or in another form, is no lease: nobody would ever own what it names.
  if number and owner ~= ARGV[1] and redis.call('PTTL', KEYS[i]) < 0 then number = nil end
  if number then
    if owner == ARGV[1] then
      epoch = tonumber(number)
      redis.call('PEXPIRE', KEYS[i], ARGV[2])
    end
  else
    epoch = math.max(now, (tonumber(text(KEYS[i + 1])) or 0) + 1)
    redis.call('SET', KEYS[i + 1], string.format('%.0f', epoch))
    redis.call('SET', KEYS[i], string.format('%.0f', epoch) .. ' ' .. ARGV[1], 'PX', ARGV[2])
  end
  epochs[#epochs + 1] = string.format('%.0f', epoch)
end
return epochs
`);

/** KEYS: leases. ARGV: duration in ms (0: free them), then what each must hold. Answers 1 for those that it held. */
const keepScript = script(`${reading}
local held = {}
for i, key in ipairs(KEYS) do
  if text(key) == ARGV[i + 1] then
    held[i] = 1
    if ARGV[1] == '0' then redis.call('DEL', key) else redis.call('PEXPIRE', key, ARGV[1]) end
  else
    held[i] = 0
  end
end
return held
`);

const list = (answer: RedisReply): readonly RedisReply[] => (Array.isArray(answer) ? answer : []);

/**
 * @param owner this node's name, of this process alone
 * @param durationMs how long a lease lasts
 */
export function redisLeases(
  link: Link,
  prefix: string,
  clock: Clock,
  owner: string,
  durationMs = leaseMs,
): Leases {
  const keyOf = (name: string): string => `${prefix}lease:${name}`;
  const keep = (leases: readonly Lease[], ms: number): Promise<RedisReply> => {
    const words = leases.map(({ epoch }) => `${epoch} ${owner}`);
    return link.run(
      keepScript,
      leases.map(({ name }) => keyOf(name)),
      [String(ms), ...words],
    );
  };
  return {
    async acquire(names) {
      if (names.length === 0) return [];
      // From before the question: Redis counts from later, so the owner's end is never after the true one.
      const until = clock.monotonic() + durationMs;
      const keys = names.flatMap((name) => [keyOf(name), `${keyOf(name)}:epoch`]);
      const epochs = list(await link.run(acquireScript, keys, [owner, String(durationMs)]));
      return names.flatMap((name, index): Lease[] => {
        const epoch = Number(epochs[index]);
        return epoch > 0 ? [{ name, epoch, until }] : [];
      });
    },
    async renew(leases) {
      if (leases.length === 0) return [];
      const until = clock.monotonic() + durationMs;
      const held = list(await keep(leases, durationMs));
      return leases.flatMap((lease, index): Lease[] => (held[index] === 1 ? [{ ...lease, until }] : []));
    },
    async release(leases) {
      if (leases.length > 0) await keep(leases, 0);
    },
  };
}
