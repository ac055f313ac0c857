// An audience's log in Redis: a stream of frames, trimmed by age, length and bytes, and beside it its floor: the position of the last entry that
// was trimmed (or a moment before the first one). A position that is neither the floor nor an entry was trimmed or belongs to a log that is lost.
// An entry names the one before it, so that a reader sees what it missed.
import { decode, encode } from '@msgpack/msgpack';
import type { Audience, Frame, FrameType, Position } from '../../src/domain/frame.ts';
import { onceMs } from '../../src/ports/broadcast.ts';
import { type Answer, type Link, script } from './link.ts';

export interface Retention {
  /** How long frames are kept, in milliseconds. */
  readonly keepMs: number;
  /** How many are kept per audience. */
  readonly keepFrames: number;
  /** How many bytes are kept per audience. The newest frame is kept whatever its size. */
  readonly keepBytes: number;
}

/** How long a log that nobody publishes to or follows keeps its place. */
const idleMs = 24 * 3_600_000;
/** A page of a replay: so many frames at most, and about so many bytes. */
const pageSize = 500;
const pageBytes = 2 ** 22;

/** KEYS: log, floor. Makes the floor where it is missing; answers the one it found. */
const begin = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function begin(log, floor)
  local found = redis.call('GET', floor)
  if not found then
    local first = redis.call('EXISTS', log) == 0 and string.format('%.0f-0', now - 1) or '0-0'
    redis.call('SET', floor, first)
  end
  return found
end
`;

/**
 * KEYS: log and floor of each audience. ARGV: keepMs, keepFrames, keepBytes, idleMs, onceMs, then of each entry the number of its audience, its body
 * and its name or ''. An entry holds its body (b), the position before it (p, '' where none is known) and the bytes of the log up to it (t), of those
 * that were trimmed too: so what a log holds is known without counting.
 */
const appendScript = script(`${begin}
local keep, most, bytes, idle = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local last, total = {}, {}
for i = 1, #KEYS, 2 do
  local newest = redis.call('XREVRANGE', KEYS[i], '+', '-', 'COUNT', 1)[1]
  last[i] = begin(KEYS[i], KEYS[i + 1]) or ''
  total[i] = 0
  if newest then
    last[i] = newest[1]
    total[i] = tonumber(newest[2][6] or '0')
  end
end
for i = 6, #ARGV, 3 do
  local at, body, once = tonumber(ARGV[i]) * 2 + 1, ARGV[i + 1], ARGV[i + 2]
  local log = KEYS[at]
  if once == '' or redis.call('SET', log .. ':once:' .. once, '1', 'NX', 'PX', ARGV[5]) then
    total[at] = total[at] + #body
    last[at] = redis.call('XADD', log, '*', 'b', body, 'p', last[at], 't', string.format('%.0f', total[at]))
  end
end
for i = 1, #KEYS, 2 do
  local log, floor = KEYS[i], nil
  local over = redis.call('XLEN', log) - most
  if over > 0 then
    local gone = redis.call('XRANGE', log, '-', '+', 'COUNT', over)
    floor = gone[#gone][1]
    redis.call('XTRIM', log, 'MAXLEN', '=', most)
  end
  local oldest
  while true do
    oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 2)
    local through = #oldest == 2 and tonumber(oldest[1][2][6])
    if not through or total[i] - through + #oldest[1][2][2] <= bytes then break end
    floor = oldest[1][1]
    redis.call('XTRIM', log, 'MINID', '=', oldest[2][1])
  end
  -- Looking back from a time before all entries is slow in Redis: only when the first one is older than that.
  if #oldest > 0 and tonumber(string.match(oldest[1][1], '^%d+')) < now - keep then
    local since = string.format('%.0f-0', now - keep)
    floor = redis.call('XREVRANGE', log, '(' .. since, '-', 'COUNT', 1)[1][1]
    redis.call('XTRIM', log, 'MINID', '=', since)
  end
  if floor then redis.call('SET', KEYS[i + 1], floor) end
  redis.call('PEXPIRE', log, idle)
  redis.call('PEXPIRE', KEYS[i + 1], idle)
end
return 1
`);

/** KEYS: log, floor. ARGV: idleMs. Answers the floor and the end. */
const boundsScript = script(`${begin}
begin(KEYS[1], KEYS[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
local floor = redis.call('GET', KEYS[2])
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
return {floor, #last > 0 and last[1][1] or floor}
`);

/**
 * KEYS: log, floor. ARGV: most entries, most bytes, positions in order. Answers which position is the first that the log knows (0: none), entries
 * after it, and whether more follow.
 */
const sinceScript = script(`
local known, floor = 0, redis.call('GET', KEYS[2])
for i = 3, #ARGV do
  if floor == ARGV[i] or #redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i]) > 0 then
    known = i - 2
    break
  end
end
if known == 0 then return {0, {}, 0} end
local found, bytes, from, more = {}, 0, ARGV[known + 2], 1
repeat
  local some = redis.call('XRANGE', KEYS[1], '(' .. from, '+', 'COUNT', 20)
  for _, entry in ipairs(some) do
    found[#found + 1] = entry
    bytes = bytes + #entry[2][2]
    from = entry[1]
  end
  if #some < 20 then more = 0 end
until more == 0 or #found >= tonumber(ARGV[1]) or bytes >= tonumber(ARGV[2])
return {known, found, more}
`);

/** What an entry says: a frame's type (or `control`), its data as JSON, and whom it is for. */
export type Body = readonly [
  type: FrameType | 'control',
  data: string,
  toAgent: string | null,
  bundle: string | null,
];

export interface Entry {
  readonly position: Position;
  /** The position of the entry before it in the log, or null when that is not known. */
  readonly before: Position | null;
  /** Null when this version cannot read it. */
  readonly body: Body | null;
}

function readBody(bytes: Buffer): Body | null {
  try {
    const value: unknown = decode(bytes);
    if (!Array.isArray(value) || typeof value[0] !== 'string' || typeof value[1] !== 'string') return null;
    return value as unknown as Body;
  } catch {
    return null;
  }
}

export const frameBody = ({ type, data, toAgent, bundle }: Frame): Body => [
  type,
  JSON.stringify(data),
  toAgent ?? null,
  bundle ?? null,
];

export function toFrame(audience: Audience, [type, data, toAgent, bundle]: Body): Frame {
  return {
    audience,
    type: type as FrameType,
    data: JSON.parse(data),
    ...(toAgent === null ? {} : { toAgent }),
    ...(bundle === null ? {} : { bundle }),
  };
}

export const isList = (answer: Answer | undefined): answer is readonly Answer[] => Array.isArray(answer);

/** The entries of a stream's answer, in order. */
export function entriesOf(answer: Answer | undefined): readonly Entry[] {
  if (!isList(answer)) return [];
  return answer.flatMap((entry): Entry[] => {
    if (!isList(entry)) return [];
    const [, bytes, , before] = isList(entry[1]) ? entry[1] : [];
    return [
      {
        position: String(entry[0]),
        before: before ? String(before) || null : null,
        body: Buffer.isBuffer(bytes) ? readBody(bytes) : null,
      },
    ];
  });
}

export interface Logs {
  keyOf(audience: Audience): string;
  /** All in one step, in order; without those whose name the audience's log has had. */
  append(
    entries: readonly {
      readonly audience: Audience;
      readonly body: Body;
      readonly once?: string | undefined;
    }[],
  ): Promise<void>;
  bounds(audience: Audience): Promise<{ readonly floor: Position; readonly end: Position }>;
  /**
   * Of some positions, in order: the first that the log knows, and a page of the entries after it; null when it knows none. `more`: others may follow
   * the last of them.
   */
  page(
    audience: Audience,
    positions: readonly Position[],
  ): Promise<{ readonly from: Position; readonly entries: readonly Entry[]; readonly more: boolean } | null>;
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
      const words = entries.flatMap(({ audience, body, once }) => {
        const { buffer, byteOffset, byteLength } = encode(body);
        return [numbers.get(audience) ?? '0', Buffer.from(buffer, byteOffset, byteLength), once ?? ''];
      });
      const { keepMs, keepFrames, keepBytes } = retention;
      const bounds = [keepMs, keepFrames, keepBytes, idleMs, onceMs].map(String);
      const args = [...bounds, ...words];
      await link.run(appendScript, audiences.flatMap(keysOf), args);
    },
    async bounds(audience) {
      const answer = await link.run(boundsScript, keysOf(audience), [String(idleMs)]);
      const [floor, end] = isList(answer) ? answer : [];
      return { floor: String(floor), end: String(end) };
    },
    async page(audience, positions) {
      const args = [String(pageSize), String(pageBytes), ...positions];
      const answer = await replays.run(sinceScript, keysOf(audience), args);
      const [known, entries, more] = isList(answer) ? answer : [];
      const from = positions[Number(known) - 1];
      return from === undefined ? null : { from, entries: entriesOf(entries), more: Number(more) === 1 };
    },
  };
}
