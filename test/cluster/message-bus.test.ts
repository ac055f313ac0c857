// The bus on Redis keeps every promise of its port; and what a reader took after it lost the shard is taken over;
// members come and go.
import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../adapters/node/clock.ts';
import { openRedis, type RedisOptions } from '../../adapters/redis/index.ts';
import { currentFormat } from '../../src/shared/cluster-format.ts';
import { ConnectionGroup } from '../../src/shared/concurrency/connection-group.ts';
import { postContract } from '../conformance/message-bus.ts';
import { eventually } from './nodes.ts';
import { noLog } from './stage.ts';

const open = (prefix: string, nodeId: string, over: Partial<RedisOptions> = {}) =>
  openRedis({ url: inject('redisUrl'), log: noLog, clock: systemClock, prefix, nodeId, ...over });
const newPrefix = () => `test-${randomUUID()}:`;

postContract('redis', async () => {
  const prefix = newPrefix();
  const nodes: Awaited<ReturnType<typeof open>>[] = [];
  return {
    maxEnvelopes: 2000,
    async node(name) {
      const parts = await open(prefix, name, { maxEnvelopes: 2000 });
      nodes.push(parts);
      return parts.bus;
    },
    async close() {
      await Promise.all(nodes.map((parts) => parts.close()));
    },
  };
});

const aLetter = (id: string) => ({
  id,
  from: 'a',
  asks: false,
  kind: 'k',
  key: 't',
  type: 'x',
  body: null,
});

describe('two readers of one shard', () => {
  it('leave nothing behind: what the stale one took goes to the other within seconds', async () => {
    const prefix = newPrefix();
    const [stale, owner] = [await open(prefix, 'stale'), await open(prefix, 'owner')];
    const seen = new Set<string>();
    owner.bus.onDelivery(({ envelope }) => seen.add(envelope.id));
    await stale.bus.open(1);
    await owner.bus.open(1);
    await Promise.all(Array.from({ length: 50 }, (_, i) => owner.bus.send(1, aLetter(`${i}`))));
    await stale.bus.shut([1]);
    await eventually('all at the owner', () => seen.size === 50 || undefined);
    await Promise.all([stale.close(), owner.close()]);
  });
});

describe("the stream of an owner's shard", () => {
  const ofShard = async (test: (owner: Awaited<ReturnType<typeof open>>, key: string) => Promise<void>) => {
    const prefix = newPrefix();
    const downs: string[] = [];
    const group = new ConnectionGroup({ down: (cause) => downs.push(cause), up() {} });
    const owner = await open(prefix, 'owner', { group });
    await owner.bus.open(1);
    await test(owner, `${prefix}bus:1`);
    await owner.close();
    expect(downs).toEqual([]);
  };
  const redis = async (...args: string[]) => {
    const client = await createClient({ url: inject('redisUrl') }).connect();
    try {
      return Number(await client.sendCommand(args));
    } finally {
      client.destroy();
    }
  };

  it('stays, however long no message comes', () =>
    ofShard(async (owner, key) => {
      await owner.bus.send(1, aLetter('last'));
      await redis('PEXPIRE', key, '20000');
      await eventually('another day', async () => (await redis('PTTL', key)) > 20_000 || undefined, 15_000);
    }));

  it('is made again if it is gone, and the connections stay', () =>
    ofShard(async (owner, key) => {
      const ids: string[] = [];
      owner.bus.onDelivery(({ envelope }) => ids.push(envelope.id));
      await owner.bus.send(1, aLetter('before'));
      await eventually('the first letter', () => ids.length === 1 || undefined);
      await redis('DEL', key);
      await eventually('its stream', async () => (await redis('EXISTS', key)) === 1 || undefined);
      await owner.bus.send(1, aLetter('after'));
      await eventually('the second letter', () => ids.includes('after') || undefined);
    }));
});

describe('members', () => {
  it('see each other, and do not see one that was not heard for its time or that left', async () => {
    const prefix = newPrefix();
    const memberMs = 150;
    const parts = await Promise.all(['a', 'b', 'c'].map((name) => open(prefix, name, { memberMs })));
    const [a, b, c] = parts;
    const note = { version: '1', ...currentFormat, startedAt: 5, shards: [1, 200], agents: 3 };
    if (!a || !b || !c) return;
    await a.members.heartbeat(note);
    await c.members.heartbeat(note);
    const seen = await b.members.heartbeat({ ...note, shards: [] });
    const ageMs = expect.any(Number);
    expect(seen).toEqual([
      { node: 'a', note, ageMs },
      { node: 'b', note: { ...note, shards: [] }, ageMs: 0 },
      { node: 'c', note, ageMs },
    ]);
    expect(seen.every((member) => member.ageMs >= 0 && member.ageMs <= memberMs)).toBe(true);
    await c.members.leave();
    await eventually('a alone is missed', async () => {
      const names = (await b.members.heartbeat(note)).map(({ node }) => node);
      return names.length === 1 || undefined;
    });
    await Promise.all(parts.map((one) => one.close()));
  });

  it('hear once, one of them, of one that sends no pulses any more, and nothing of one that left', async () => {
    const prefix = newPrefix();
    const silentMs = 150;
    const parts = await Promise.all(
      ['a', 'b', 'dies', 'leaves'].map((name) => open(prefix, name, { silentMs })),
    );
    const [a, b, dies, leaves] = parts;
    if (!a || !b || !dies || !leaves) return;
    /** Members that are found silent; undefined until there is one. */
    const silent = async (): Promise<readonly string[] | undefined> => {
      const heard = [...(await a.members.pulse()), ...(await b.members.pulse())];
      return heard.length > 0 ? heard : undefined;
    };
    const begun = performance.now();
    await dies.members.pulse();
    await leaves.members.pulse();
    await leaves.members.leave();
    expect(await leaves.members.pulse()).toEqual([]);
    expect((await eventually('the dead one is missed', silent)).value).toEqual(['dies']);
    expect(performance.now() - begun).toBeGreaterThan(silentMs - 10);
    await dies.members.pulse();
    expect((await eventually('the dead one is missed again', silent)).value).toEqual(['dies']);
    await Promise.all(parts.map((one) => one.close()));
  });
});
