// The members of the cluster in Redis: one hash of node → when it was last heard (in Redis's own time) and what it
// said.
import { decode, encode } from '@msgpack/msgpack';
import { type Member, type Membership, memberMs, type NodeNote } from '../../src/ports/membership.ts';
import { type Link, script } from './link.ts';
import { isList } from './log.ts';

/** KEYS: members. ARGV: node, note, how long one lasts in ms. Answers node and note of each that lives. */
const heartbeatScript = script(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], 60000)
local all = redis.call('HGETALL', KEYS[1])
local alive = {}
for i = 1, #all, 2 do
  local space = string.find(all[i + 1], ' ', 1, true)
  if tonumber(string.sub(all[i + 1], 1, space - 1)) < now - tonumber(ARGV[3]) then
    redis.call('HDEL', KEYS[1], all[i])
  else
    alive[#alive + 1] = all[i]
    alive[#alive + 1] = string.sub(all[i + 1], space + 1)
  end
end
return alive
`);

export function redisMembers(link: Link, prefix: string, node: string, lifeMs = memberMs): Membership {
  const key = `${prefix}members`;
  return {
    async heartbeat(note) {
      const { buffer, byteOffset, byteLength } = encode(note);
      const answer = await link.run(
        heartbeatScript,
        [key],
        [node, Buffer.from(buffer, byteOffset, byteLength), String(lifeMs)],
      );
      const found: Member[] = [];
      if (!isList(answer)) return found;
      for (let i = 0; i + 1 < answer.length; i += 2) {
        const bytes = answer[i + 1];
        if (Buffer.isBuffer(bytes)) found.push({ node: String(answer[i]), note: decode(bytes) as NodeNote });
      }
      return found.sort((a, b) => (a.node < b.node ? -1 : 1));
    },
    async leave() {
      await link.send(['HDEL', key, node]);
    },
  };
}
