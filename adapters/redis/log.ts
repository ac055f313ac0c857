// An audience's log in Redis: a stream of entries, trimmed by age, length and bytes, and its floor. The floor is the
// position of the last entry that was trimmed (or a moment before the first one). A position that is neither the floor
// nor an entry was trimmed or belongs to a log that is lost. An entry names the one before it, so that readers detect
// missed entries.
import { dayMs } from '../../src/shared/duration.ts';
import type { Audience } from '../../src/shared/frame.ts';
import { idempotencyMs } from '../../src/shared/ports/broadcast.ts';
import type { Position } from '../../src/shared/position.ts';
import { type Link, type RedisReply, script } from './link.ts';

export interface Retention {
  /** How long frames are kept, in milliseconds. */
  readonly keepMs: number;
  /** How many are kept per audience. */
  readonly keepFrames: number;
  /** How many bytes are kept per audience. The newest frame is kept whatever its size. */
  readonly keepBytes: number;
}

/** How long a log that nobody publishes to or follows keeps its place. */
const idleMs = dayMs;
/** A page of a replay: so many frames at most, and about so many bytes. */
const pageSize = 500;
const pageBytes = 2 ** 22;

/** KEYS: log, floor. Makes the floor where it is missing; answers the one it found. */
const begin = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function begin(log, floor)
  local value = redis.call('GET', floor)
  if not value then
    local first = redis.call('EXISTS', log) == 0 and string.format('%.0f-0', now - 1) or '0-0'
    redis.call('SET', floor, first)
  end
  return value
end
`;

/**
 * KEYS: log, floor and sizes of each audience. ARGV: keepMs, keepFrames, keepBytes, idleMs, then four of each
 * entry. Those are the number of its audience, its body, its idempotency key or '', and how long Redis remembers the
 * key. An entry holds its body (b), the position before the entry (p, '' if unknown), and the log's bytes up to the
 * entry (t). `t` includes trimmed entries, so the bytes of a log are known without counting.
 *
 * Redis hands a script whole entries only, and each may be a megabyte. So a list of the entries' sizes stands beside
 * the log, `<position> <t>` of the floor and of every entry. Where it is lost or behind the log, it is begun again, and
 * the script looks up in the entries what it lacks.
 */
const appendScript = script(`${begin}
local keep, max, bytes, idle = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local function read(item)
  local position, upTo = string.match(item, '^(%S*) (%d+)$')
  return position, tonumber(upTo)
end
local last, total, added = {}, {}, {}
for i = 1, #KEYS, 3 do
  local log, sizes = KEYS[i], KEYS[i + 2]
  local item = redis.call('LINDEX', sizes, -1)
  if item then last[i], total[i] = read(item) end
  if not item or #redis.call('XRANGE', log, '(' .. last[i], '+', 'COUNT', 1) > 0 then
    local floor = begin(log, KEYS[i + 1])
    local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
    last[i] = newest and newest[1] or floor or ''
    total[i] = newest and tonumber(newest[2][6]) or 0
    redis.call('DEL', sizes)
    redis.call('RPUSH', sizes, last[i] .. ' ' .. string.format('%.0f', total[i]))
  end
end
for i = 5, #ARGV, 4 do
  local at, body, key, keyMs = tonumber(ARGV[i]) * 3 + 1, ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local log = KEYS[at]
  if key == '' or redis.call('SET', log .. ':once:' .. key, '1', 'NX', 'PX', keyMs) then
    total[at] = total[at] + #body
    local upTo = string.format('%.0f', total[at])
    last[at] = redis.call('XADD', log, '*', 'b', body, 'p', last[at], 't', upTo)
    redis.call('RPUSH', KEYS[at + 2], last[at] .. ' ' .. upTo)
    added[at] = true
  end
end
for i = 1, #KEYS, 3 do
  local log, sizes = KEYS[i], KEYS[i + 2]
  local length, first, before, floor
  local function look()
    length = redis.call('XLEN', log)
    local surplus = redis.call('LLEN', sizes) - length - 1
    if surplus > 0 then redis.call('LTRIM', sizes, surplus, -1) end
    if surplus >= 0 then
      local items = redis.call('LRANGE', sizes, 0, 1)
      floor, before = read(items[1])
      first = read(items[2])
    else
      local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
      first, floor = oldest[1], oldest[2][4]
      before = (tonumber(oldest[2][6]) or 0) - #oldest[2][2]
    end
  end
  if added[i] then
    look()
    local floorBefore = floor
    local since = string.format('%.0f-0', now - keep)
    if length > max then redis.call('XTRIM', log, 'MAXLEN', '=', max) end
    if tonumber(string.match(first, '^%d+')) < now - keep then redis.call('XTRIM', log, 'MINID', '=', since) end
    look()
    while total[i] - before > bytes and length > 1 do
      redis.call('XTRIM', log, 'MAXLEN', '=', length - 1)
      look()
    end
    if floor ~= floorBefore and floor ~= '' then redis.call('SET', KEYS[i + 1], floor) end
  end
  for k = i, i + 2 do redis.call('PEXPIRE', KEYS[k], idle) end
end
return 1
`);

/**
 * KEYS: log, floor. ARGV: keepMs, idleMs. Trims by age, because an audience may be followed without new frames. Answers
 * the floor and the end.
 */
const boundsScript = script(`${begin}
begin(KEYS[1], KEYS[2])
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local since = string.format('%.0f-0', now - tonumber(ARGV[1]))
if redis.call('XTRIM', KEYS[1], 'MINID', '=', since) > 0 then
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  redis.call('SET', KEYS[2], first and first[2][4] or last[1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
local floor = redis.call('GET', KEYS[2])
return {floor, last and last[1] or floor}
`);

/**
 * KEYS: log, floor. ARGV: most entries, most bytes, positions in order. Answers which position is the first that the
 * log knows (0: none), entries after it, and whether more follow.
 */
const sinceScript = script(`
local match, floor = 0, redis.call('GET', KEYS[2])
for i = 3, #ARGV do
  if floor == ARGV[i] or #redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i]) > 0 then
    match = i - 2
    break
  end
end
if match == 0 then return {0, {}, 0} end
local entries, bytes, from, more = {}, 0, ARGV[match + 2], 1
repeat
  local some = redis.call('XRANGE', KEYS[1], '(' .. from, '+', 'COUNT', 20)
  for _, entry in ipairs(some) do
    entries[#entries + 1] = entry
    bytes = bytes + #entry[2][2]
    from = entry[1]
  end
  if #some < 20 then more = 0 end
until more == 0 or #entries >= tonumber(ARGV[1]) or bytes >= tonumber(ARGV[2])
return {match, entries, more}
`);

export interface LogEntry {
  readonly position: Position;
  /** The position of the entry before it in the log, or null when that is not known. */
  readonly before: Position | null;
  /** Null where there is none. */
  readonly body: Buffer | null;
}

export const isList = (answer: RedisReply | undefined): answer is readonly RedisReply[] =>
  Array.isArray(answer);

/** The entries of a stream's answer, in order. */
export function entriesOf(answer: RedisReply | undefined): readonly LogEntry[] {
  if (!isList(answer)) return [];
  return answer.flatMap((entry): LogEntry[] => {
    if (!isList(entry)) return [];
    const [, bytes, , before] = isList(entry[1]) ? entry[1] : [];
    return [
      {
        position: String(entry[0]),
        before: before ? String(before) || null : null,
        body: Buffer.isBuffer(bytes) ? bytes : null,
      },
    ];
  });
}

export interface Logs {
  keyOf(audience: Audience): string;
  /** All in one step, in order; without those whose idempotency key the audience's log has had. */
  append(
    entries: readonly {
      readonly audience: Audience;
      readonly body: Buffer;
      readonly idempotencyKey?: string | undefined;
      readonly idempotencyMs?: number | undefined;
    }[],
  ): Promise<void>;
  bounds(audience: Audience): Promise<{ readonly floor: Position; readonly end: Position }>;
  /**
   * Of some positions, in order: the first that the log knows, and a page of the entries after it; null when it knows
   * none. `more`: others may follow the last of them.
   */
  page(
    audience: Audience,
    positions: readonly Position[],
  ): Promise<{
    readonly from: Position;
    readonly entries: readonly LogEntry[];
    readonly more: boolean;
  } | null>;
}

/** @param replays for pages alone: they are large, and nothing that is due in time may wait behind them */
export function redisLogs(link: Link, replays: Link, prefix: string, retention: Retention): Logs {
  const keyOf = (audience: Audience): string => `${prefix}log:{${audience}}`;
  const keysOf = (audience: Audience): readonly string[] => [keyOf(audience), `${keyOf(audience)}:floor`];
  return {
    keyOf,
    async append(entries) {
      const audiences = [...new Set(entries.map((entry) => entry.audience))];
      const numbers = new Map(audiences.map((audience, index) => [audience, String(index)]));
      const words = entries.flatMap(({ audience, body, idempotencyKey, idempotencyMs: keyMs }) => [
        numbers.get(audience) ?? '0',
        body,
        idempotencyKey ?? '',
        String(keyMs ?? idempotencyMs),
      ]);
      const { keepMs, keepFrames, keepBytes } = retention;
      const bounds = [keepMs, keepFrames, keepBytes, idleMs].map(String);
      const keys = audiences.flatMap((audience) => [...keysOf(audience), `${keyOf(audience)}:sizes`]);
      await link.run(appendScript, keys, [...bounds, ...words]);
    },
    async bounds(audience) {
      const times = [retention.keepMs, idleMs].map(String);
      const answer = await link.run(boundsScript, keysOf(audience), times);
      const [floor, end] = isList(answer) ? answer : [];
      return { floor: String(floor), end: String(end) };
    },
    async page(audience, positions) {
      const args = [String(pageSize), String(pageBytes), ...positions];
      const answer = await replays.run(sinceScript, keysOf(audience), args);
      const [number, entries, more] = isList(answer) ? answer : [];
      const from = positions[Number(number) - 1];
      return from === undefined ? null : { from, entries: entriesOf(entries), more: Number(more) === 1 };
    },
  };
}
