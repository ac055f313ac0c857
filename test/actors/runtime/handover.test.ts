// Calls while nodes join and leave: callers notice nothing. And answers that a node may give in the seconds after it
// lost the bus.
import { describe, expect, it } from 'vitest';
import { shardOfKey } from '../../../actors/runtime/remote.ts';
import { memberMs } from '../../../src/shared/ports/membership.ts';
import { settled } from '../../clock.ts';
import { aCluster, keyOf, two } from './cluster.ts';

/** Keys of all shards. */
const keys = (n: number): readonly string[] => Array.from({ length: n }, (_, i) => `t${i}/production`);

describe('a shard that goes to another node', () => {
  it('goes after its mailboxes are empty: who waits there is answered', async () => {
    const { a, b, latch, pass, ports } = await two();
    const key = keyOf(a.actors);
    const open = latch('g');
    const held = a.actors.ask('counter', key, 'add', { n: 1, hold: 'g' });
    const waiting = a.actors.ask('counter', key, 'add', { n: 2 });
    await settled();
    const stopped = a.actors.stop(1000);
    await settled();
    // Requests from now on are the next owner's.
    const later = a.actors.ask('counter', key, 'add', { n: 4 });
    await pass(500);
    expect(a.actors.shards).toContain(shardOfKey(key));
    open();
    await pass(2000);
    await stopped;
    expect(b.actors.shards).toContain(shardOfKey(key));
    expect(await Promise.all([held, waiting, later])).toEqual([1, 3, 7]);
    expect(ports.stored.get(key)).toBe(7);
  });

  it('goes after 2 s all the same: what was not begun is handled by the next owner, once', async () => {
    const { a, b, latch, pass, ports } = await two();
    const key = keyOf(a.actors);
    const open = latch('g');
    const held = a.actors.ask('counter', key, 'add', { n: 1, hold: 'g' }).catch((error: unknown) => error);
    const waiting = a.actors.ask('counter', key, 'add', { n: 2 });
    await a.actors.tell('counter', key, 'add', { n: 4 });
    await settled();
    void a.actors.stop(10_000);
    await pass(4000);
    expect(b.actors.shards).toContain(shardOfKey(key));
    expect(await waiting).toBe(2);
    expect(ports.stored.get(key)).toBe(6);
    // The one at work outlived its owner's role: its effects stay, and its asker is told to ask again.
    open();
    expect(await held).toMatchObject({ code: 'unavailable' });
    const begun = ports.steps.filter((step) => step.endsWith('begins'));
    expect(begun).toEqual([1, 2, 4].map((n) => `${key}+${n} begins`));
  });

  it('waits with its lot alone for what is at work there: the others go at once', async () => {
    const cluster = aCluster();
    const a = await cluster.node('a');
    const surplus = new Set(a.actors.shards.slice(128));
    const key = keys(300).find((one) => surplus.has(shardOfKey(one))) ?? '';
    const open = cluster.latch('g');
    const held = a.actors.ask('counter', key, 'add', { n: 1, hold: 'g' });
    const b = await cluster.node('b');
    await cluster.pass(1700);
    expect(a.actors.shards).toContain(shardOfKey(key));
    expect(b.actors.shards).toHaveLength(112);
    open();
    await cluster.pass(200);
    expect(await held).toBe(1);
    expect(b.actors.shards).toHaveLength(128);
    expect(b.actors.shards).toContain(shardOfKey(key));
  });

  it('has its next owner at once when its node has said that it leaves', async () => {
    const { a, b, leaving, pass } = await two();
    leaving.add('a');
    await pass(2000);
    expect([a, b].map(({ actors }) => actors.shards.length)).toEqual([128, 128]);
    await Promise.all([a.actors.stop(), pass(200)]);
    expect(b.actors.shards).toHaveLength(256);
  });

  it('fails no call when a node joins, and counts each once', async () => {
    const cluster = aCluster();
    const a = await cluster.node('a');
    const asked: Promise<unknown>[] = [];
    const all = keys(300);
    for (const key of all) asked.push(a.actors.ask('counter', key, 'add', { n: 1 }));
    const b = await cluster.node('b');
    for (let i = 0; i < 30; i++) {
      for (const key of all.slice(i * 10, i * 10 + 10)) {
        asked.push(
          a.actors.ask('counter', key, 'add', { n: 1 }),
          b.actors.ask('counter', key, 'add', { n: 1 }),
        );
      }
      await cluster.pass(100);
    }
    await cluster.pass(1000);
    await Promise.all(asked);
    expect(b.actors.shards).toHaveLength(128);
    expect(all.map((key) => cluster.ports.stored.get(key))).toEqual(all.map(() => 3));
  });

  it('fails no call while three nodes are stopped and started one after another under load', async () => {
    const cluster = aCluster();
    const nodes = [await cluster.node('a'), await cluster.node('b'), await cluster.node('c')];
    await cluster.pass(5000);
    const all = keys(60);
    const sent = new Map(all.map((key) => [key, 0]));
    const asked: Promise<unknown>[] = [];
    let turn = 0;
    const load = async (ms: number) => {
      for (let left = ms; left > 0; left -= 100) {
        for (const { actors } of nodes) {
          for (let i = 0; i < 4; i++) {
            const key = all[turn++ % all.length] ?? '';
            asked.push(actors.ask('counter', key, 'add', { n: 1 }));
            sent.set(key, (sent.get(key) ?? 0) + 1);
          }
        }
        await cluster.pass(100);
      }
    };
    await load(1000);
    for (const name of ['a', 'b', 'c']) {
      const [old] = nodes.splice(0, 1);
      const stopped = old?.actors.stop(5000);
      await load(3000);
      await stopped;
      nodes.push(await cluster.node(`${name} again`));
      await load(4000);
    }
    await cluster.pass(2000);
    await Promise.all(asked);
    expect(asked.length).toBeGreaterThan(500);
    expect(all.map((key) => cluster.ports.stored.get(key))).toEqual(all.map((key) => sent.get(key)));
    expect(new Set(nodes.flatMap(({ actors }) => actors.shards)).size).toBe(256);
  });
});

describe('a node that sends no heartbeat any more', () => {
  it('ends as a member, and the others own its shards at once', async () => {
    const cluster = aCluster();
    const nodes = [await cluster.node('a'), await cluster.node('b'), await cluster.node('c')];
    await cluster.pass(5000);
    expect(nodes.map(({ actors }) => actors.shards.length)).toEqual([86, 86, 84]);
    cluster.bus.cut.add('a');
    const isMember = async () =>
      (await cluster.bus.members('d').list()).some(({ node, ageMs }) => node === 'a' && ageMs <= memberMs);
    for (let passed = 0; passed < 6000 && (await isMember()); passed += 100) await cluster.pass(100);
    expect(await isMember()).toBe(false);
    await cluster.pass(200);
    const owned = nodes.slice(1).flatMap(({ actors }) => actors.shards);
    expect(new Set(owned).size).toBe(256);
  });
});

describe('a node that lost the bus', () => {
  it('answers, while its leases last, only what is in the store; the next owner has it', async () => {
    const { a, b, bus, pass, ports } = await two();
    const key = keyOf(a.actors);
    bus.cut.add('a');
    expect(await a.actors.ask('counter', key, 'add', { n: 1 })).toBe(1);
    expect(ports.stored.get(key)).toBe(1);
    // Nobody else may act meanwhile.
    expect(b.actors.shards).not.toContain(shardOfKey(key));
    await pass(9000);
    await expect(a.actors.ask('counter', key, 'add', { n: 1 })).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(await b.actors.ask('counter', key, 'read', null)).toBe(1);
  });

  const aTellFrom = (key: string) => ({
    tells: [{ kind: 'counter', key: `${key}/agent`, type: 'add', body: { n: 1 } }],
  });

  it('answers nothing that had something to tell and could not while its leases lasted', async () => {
    const { a, b, bus, pass, ports } = await two();
    const key = keyOf(a.actors);
    await a.actors.ask('counter', key, 'read', null);
    bus.cut.add('a');
    const request = a.actors.ask('counter', key, 'emit', aTellFrom(key)).catch((error: unknown) => error);
    await pass(9000);
    expect(await request).toMatchObject({ code: 'unavailable' });
    bus.cut.delete('a');
    await pass(2000);
    expect(await b.actors.ask('counter', `${key}/agent`, 'read', null)).toBe(0);
    expect(ports.stored.get(`${key}/agent`)).toBeUndefined();
  });

  it('tells the others, and answers, when it has the bus again before its leases end', async () => {
    const { a, bus, pass, ports } = await two();
    const key = keyOf(a.actors);
    await a.actors.ask('counter', key, 'read', null);
    bus.cut.add('a');
    const request = a.actors.ask('counter', key, 'emit', aTellFrom(key));
    await pass(3000);
    bus.cut.delete('a');
    await pass(500);
    expect(await request).toBeNull();
    expect(ports.stored.get(`${key}/agent`)).toBe(1);
  });
});
