// An audience's log in Redis: a stream of frames, trimmed by age and length, and beside it its floor: the position of the last entry that was
// trimmed (or a moment before the first one). A position that is neither the floor nor an entry was trimmed or belongs to a log that is lost.
import { decode, encode } from '@msgpack/msgpack';
import type { Audience, Frame, FrameType, Position } from '../../src/domain/frame.ts';
import { onceMs } from '../../src/ports/broadcast.ts';
import { type Answer, type Link, script } from './link.ts';

export interface Retention {
  /** How long frames are kept, in milliseconds. */
  readonly keepMs: number;
  /** How many are kept per audience. */
  readonly keepFrames: number;
}

/** How long a log that nobody publishes to or follows keeps its place. */
const idleMs = 24 * 3_600_000;
const pageSize = 500;

/** KEYS: log, floor. Makes the floor where it is missing. */
const begin = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function begin(log, floor)
  if redis.call('EXISTS', floor) == 0 then
    local first = redis.call('EXISTS', log) == 0 and string.format('%.0f-0', now - 1) or '0-0'
    redis.call('SET', floor, first)
  end
end
`;

/** KEYS: log and floor of each audience. ARGV: keepMs, keepFrames, idleMs, onceMs, then of each entry the number of its audience, its body and its name or ''. */
const appendScript = script(`${begin}
local keep, most, idle = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
for i = 1, #KEYS, 2 do begin(KEYS[i], KEYS[i + 1]) end
for i = 5, #ARGV, 3 do
  local log, once = KEYS[tonumber(ARGV[i]) * 2 + 1], ARGV[i + 2]
  if once == '' or redis.call('SET', log .. ':once:' .. once, '1', 'NX', 'PX', ARGV[4]) then
    redis.call('XADD', log, '*', 'b', ARGV[i + 1])
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
  local oldest = string.format('%.0f-0', now - keep)
  local aged = redis.call('XREVRANGE', log, '(' .. oldest, '-', 'COUNT', 1)
  if #aged > 0 then
    floor = aged[1][1]
    redis.call('XTRIM', log, 'MINID', '=', oldest)
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

/** KEYS: log, floor. ARGV: position, how many. Answers the entries after it, or nil when the log does not know the position. */
const sinceScript = script(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] and #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 0 then
  return false
end
return redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])
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
    const bytes = isList(entry[1]) ? entry[1][1] : undefined;
    return [{ position: String(entry[0]), body: Buffer.isBuffer(bytes) ? readBody(bytes) : null }];
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
  /** The entries after the position, or null when the log does not know it. */
  since(audience: Audience, position: Position): Promise<readonly Entry[] | null>;
}

export function redisLogs(link: Link, prefix: string, retention: Retention): Logs {
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
      const { keepMs, keepFrames } = retention;
      const args = [String(keepMs), String(keepFrames), String(idleMs), String(onceMs), ...words];
      await link.run(appendScript, audiences.flatMap(keysOf), args);
    },
    async bounds(audience) {
      const answer = await link.run(boundsScript, keysOf(audience), [String(idleMs)]);
      const [floor, end] = isList(answer) ? answer : [];
      return { floor: String(floor), end: String(end) };
    },
    async since(audience, position) {
      const found: Entry[] = [];
      for (let from = position; ; ) {
        const answer = await link.run(sinceScript, keysOf(audience), [from, String(pageSize)]);
        if (!isList(answer)) return null;
        found.push(...entriesOf(answer));
        const last = answer.at(-1);
        if (answer.length < pageSize || !isList(last)) return found;
        from = String(last[0]);
      }
    },
  };
}
