// Sliding-window limits in Redis: one sorted set of hits per name and their sum beside it. One script changes both in
// Redis's own time, so that all nodes count alike. Without Redis nothing is let through: the calls throw.
import type { LimitAnswer, Limits } from '../../src/shared/ports/limits.ts';
import { type Link, script } from './link.ts';

/**
 * KEYS: hits, sum and number. ARGV: max, window in ms, cost, time in ms or ''. Answers -1 less what more fits when it
 * fits, else the ms until it may.
 */
const hitScript = script(`
local max, window, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[4])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000 + math.floor(t[2] / 1000)
end
local sum = tonumber(redis.call('HGET', KEYS[2], 'sum') or '0')
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - window)
for _, hit in ipairs(old) do
  sum = sum - tonumber(string.match(hit, ':(.*)$'))
end
if #old > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
  redis.call('HSET', KEYS[2], 'sum', string.format('%.17g', sum))
end
if sum + cost <= max then
  local left = math.floor(max - sum - cost)
  if cost == 0 then return -1 - left end
  local n = redis.call('HINCRBY', KEYS[2], 'n', 1)
  redis.call('ZADD', KEYS[1], now, string.format('%d:%.17g', n, cost))
  redis.call('HSET', KEYS[2], 'sum', string.format('%.17g', sum + cost))
  redis.call('PEXPIRE', KEYS[1], window)
  redis.call('PEXPIRE', KEYS[2], window)
  return -1 - left
end
if cost > max then return window end
local from = 0
while true do
  local hits = redis.call('ZRANGE', KEYS[1], from, from + 199, 'WITHSCORES')
  if #hits == 0 then return window end
  for i = 1, #hits, 2 do
    sum = sum - tonumber(string.match(hits[i], ':(.*)$'))
    if sum + cost <= max then return math.max(1, tonumber(hits[i + 1]) + window - now) end
  end
  from = from + 200
end
`);

/** KEYS: as above. */
const takeBackScript = script(`
local newest = redis.call('ZPOPMAX', KEYS[1])
if #newest == 0 then return 0 end
local sum = tonumber(redis.call('HGET', KEYS[2], 'sum') or '0') - tonumber(string.match(newest[1], ':(.*)$'))
redis.call('HSET', KEYS[2], 'sum', string.format('%.17g', sum))
return 1
`);

/** @param time the time to count in; Redis's own without it (nodes' clocks differ) */
export function redisLimits(link: Link, prefix: string, time?: () => number): Limits {
  const keysOf = (name: string) => [`${prefix}limit:{${name}}`, `${prefix}limit:{${name}}:sum`];
  return {
    async hit(name, max, windowMs, cost = 1): Promise<LimitAnswer> {
      const args = [String(max), String(Math.ceil(windowMs)), String(cost), time ? String(time()) : ''];
      const wait = Number(await link.run(hitScript, keysOf(name), args));
      return wait < 0
        ? { ok: true, left: -wait - 1 }
        : { ok: false, retryAfter: Math.max(1, Math.ceil(wait / 1000)) };
    },

    async takeBack(name) {
      // A hit that stays counted leaves its window by itself.
      await link.run(takeBackScript, keysOf(name), []).catch(() => {});
    },
  };
}
