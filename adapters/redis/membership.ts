// The members of the cluster in Redis. One hash holds each node's note and the time of its last heartbeat, in Redis's
// own time. One sorted set holds the nodes by the time of their last pulse.
import { decode, encode } from '@msgpack/msgpack';
import {
  type Member,
  type Membership,
  memberMs,
  type NodeNote,
  silentMs,
} from '../../src/shared/ports/membership.ts';
import { type Link, script } from './link.ts';
import { isList } from './log.ts';

/**
 * KEYS: members. ARGV: node, note (empty: the caller does not join), how long one lasts in ms. Answers node, note and
 * age in ms of each that lives.
 */
const heartbeatScript = script(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
  redis.call('PEXPIRE', KEYS[1], 60000)
end
local all = redis.call('HGETALL', KEYS[1])
local alive = {}
for i = 1, #all, 2 do
  local space = string.find(all[i + 1], ' ', 1, true)
  local at = space and tonumber(string.sub(all[i + 1], 1, space - 1))
  -- No node wrote what has no time, or one that is still to come.
  if not at or at < now - tonumber(ARGV[3]) or at > now + tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], all[i])
  else
    alive[#alive + 1] = all[i]
    alive[#alive + 1] = string.sub(all[i + 1], space + 1)
    alive[#alive + 1] = math.max(0, now - at)
  end
end
return alive
`);

/**
 * KEYS: pulses. ARGV: node, after how many ms a node is silent, whether to answer the silent ones. Answers 1 where this
 * node is new or was silent itself, then the silent ones, which are forgotten.
 */
const pulseScript = script(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local silent = now - ARGV[2]
local before = redis.call('ZSCORE', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], 60000)
if not before or tonumber(before) < silent then return {1} end
if ARGV[3] == '0' then return {0} end
local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', silent))
if #gone > 0 then redis.call('ZREM', KEYS[1], unpack(gone)) end
return {0, unpack(gone)}
`);

/** Note from a node; null for bytes that no node wrote. */
function noteIn(bytes: Buffer): NodeNote | null {
  try {
    const note = decode(bytes) as Partial<NodeNote> | null;
    return Array.isArray(note?.shards) ? (note as NodeNote) : null;
  } catch {
    return null;
  }
}

/** Pulses without a gap before a node may call others silent: after an outage others are back later than the node. */
const steadyPulses = 5;

export function redisMembers(
  link: Link,
  prefix: string,
  node: string,
  lifeMs = memberMs,
  quietMs = silentMs,
): Membership {
  const key = `${prefix}members`;
  const pulses = `${prefix}pulses`;
  let steady = 0;
  let hasLeft = false;
  /** @param note empty for a node that does not join */
  async function exchange(note: Buffer): Promise<readonly Member[]> {
    const answer = await link.run(heartbeatScript, [key], [node, note, String(lifeMs)]);
    const members: Member[] = [];
    if (!isList(answer)) return members;
    for (let i = 0; i + 2 < answer.length; i += 3) {
      const bytes = answer[i + 1];
      const memberNote = Buffer.isBuffer(bytes) ? noteIn(bytes) : null;
      if (!memberNote) continue;
      members.push({ node: String(answer[i]), note: memberNote, ageMs: Number(answer[i + 2]) });
    }
    return members.sort((a, b) => (a.node < b.node ? -1 : 1));
  }

  return {
    heartbeat(note) {
      const { buffer, byteOffset, byteLength } = encode(note);
      return exchange(Buffer.from(buffer, byteOffset, byteLength));
    },
    list: () => exchange(Buffer.alloc(0)),
    async pulse() {
      if (hasLeft) return [];
      const answer = await link.run(
        pulseScript,
        [pulses],
        [node, String(quietMs), steady < steadyPulses ? '0' : '1'],
      );
      const [wasSilent, ...silent] = isList(answer) ? answer : [];
      steady = Number(wasSilent) === 1 ? 0 : steady + 1;
      return silent.map(String);
    },
    async leave() {
      hasLeft = true;
      await Promise.all([link.send(['HDEL', key, node]), link.send(['ZREM', pulses, node])]);
    },
  };
}
