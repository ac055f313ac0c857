// The steps of the bus that Redis carries out whole. An entry stays in its stream until it is acknowledged, so a
// stream's length is what waits.
import { script } from './link.ts';

/** Redis's time in milliseconds, as `now`. */
const time = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
`;

/**
 * KEYS: streams. ARGV: how many a stream may hold, its idle life in ms, then of each envelope the number of its stream
 * and its bytes. Answers positions; '' where full.
 */
export const sendScript = script(`
local max, idle = tonumber(ARGV[1]), ARGV[2]
local lengths, places = {}, {}
for i, key in ipairs(KEYS) do lengths[i] = redis.call('XLEN', key) end
for i = 3, #ARGV, 2 do
  local n = tonumber(ARGV[i])
  if lengths[n] >= max then
    places[#places + 1] = ''
  else
    lengths[n] = lengths[n] + 1
    places[#places + 1] = redis.call('XADD', KEYS[n], '*', 'b', ARGV[i + 1])
  end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, idle) end
return places
`);

/**
 * KEYS: streams. ARGV: group, consumer, whether to take this consumer's own entries again, then the idle life of each
 * stream in ms: a stream that is read stays, also without messages. Makes missing groups. Answers of each stream the
 * last position handed out, and the entries that others (or this one) had taken and not acknowledged. Those others are
 * forgotten.
 */
export const claimScript = script(`
local group, me, own = ARGV[1], ARGV[2], ARGV[3] == '1'
local groups = {}
for i, key in ipairs(KEYS) do
  redis.pcall('XGROUP', 'CREATE', key, group, '0', 'MKSTREAM')
  redis.call('PEXPIRE', key, ARGV[3 + i])
  local entries = {}
  for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
    local name, pending = consumer[2], consumer[6]
    for f = 1, #consumer, 2 do
      if consumer[f] == 'name' then name = consumer[f + 1] end
      if consumer[f] == 'pending' then pending = consumer[f + 1] end
    end
    if name ~= me or own then
      local from = '-'
      while pending > 0 do
        local page = redis.call('XPENDING', key, group, from, '+', 500, name)
        for _, one in ipairs(page) do
          local entry = redis.call('XRANGE', key, one[1], one[1])[1]
          if not entry then
            redis.call('XACK', key, group, one[1])
          else
            entries[#entries + 1] = entry
            if name ~= me then redis.call('XCLAIM', key, group, me, 0, one[1], 'JUSTID') end
          end
        end
        if #page < 500 then break end
        from = '(' .. page[#page][1]
      end
      if name ~= me then redis.call('XGROUP', 'DELCONSUMER', key, group, name) end
    end
  end
  local last = '0-0'
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', key)) do
    local name, at = '', '0-0'
    for f = 1, #info, 2 do
      if info[f] == 'name' then name = info[f + 1] end
      if info[f] == 'last-delivered-id' then at = info[f + 1] end
    end
    if name == group then last = at end
  end
  groups[i] = {last, entries}
end
return groups
`);

/**
 * KEYS: streams. ARGV: group, how many of the KEYS lose entries, life of a reply stream in ms. For each of the KEYS
 * that lose entries follow the number of entries and their positions. For each other one follow the number of replies
 * and their bytes.
 */
export const acknowledgeScript = script(`
local group, done = ARGV[1], tonumber(ARGV[2])
local at = 4
for i, key in ipairs(KEYS) do
  local n = tonumber(ARGV[at])
  for j = at + 1, at + n do
    if i <= done then
      redis.pcall('XACK', key, group, ARGV[j])
      redis.call('XDEL', key, ARGV[j])
    else
      redis.call('XADD', key, '*', 'b', ARGV[j])
    end
  end
  if i > done then redis.call('PEXPIRE', key, ARGV[3]) end
  at = at + n + 1
end
return 1
`);

/** KEYS: streams. Answers of each how many entries it holds and how old the oldest is, in ms. */
export const lagScript = script(`${time}
local lags = {}
for i, key in ipairs(KEYS) do
  local first = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
  local age = 0
  if first then age = math.max(0, now - tonumber(string.match(first[1], '^(%d+)'))) end
  lags[i] = {redis.call('XLEN', key), age}
end
return lags
`);
