// Actors between nodes: order, one handling of each envelope, the new owner's claim, even shares, and the role that a
// late waker drops.
import { describe, expect, it } from 'vitest';
import type { Tell } from '../../../actors/runtime/define.ts';
import { shardOfKey } from '../../../actors/runtime/remote.ts';
import { HubError } from '../../../src/shared/error.ts';
import { settled } from '../../clock.ts';
import { aCluster, keyOf, two } from './cluster.ts';

const envelope = (id: string, key: string, n: number, asks = false) => ({
  id,
  from: 'elsewhere',
  asks,
  ...({ kind: 'counter', key, type: 'add', body: { n } } satisfies Tell),
});

describe('shards', () => {
  it('put an agent where its environment is, and a tenant by itself', () => {
    expect(shardOfKey('t1/production/agent/with/slashes')).toBe(shardOfKey('t1/production'));
    expect(shardOfKey('t1')).not.toBe(shardOfKey('t1/production'));
  });

  it('are all of a single node, then half of two, each owned once', async () => {
    const cluster = aCluster();
    const a = await cluster.node('a');
    expect(a.actors.shards).toHaveLength(256);
    const b = await cluster.node('b');
    await cluster.pass(3000);
    expect(a.actors.shards).toHaveLength(128);
    expect(new Set([...a.actors.shards, ...b.actors.shards]).size).toBe(256);
  });

  it('of a node that stops are taken at the next turn, without waiting for a lease to end', async () => {
    const { a, b, pass } = await two();
    await a.actors.stop(0);
    await pass(1600);
    expect(b.actors.shards).toHaveLength(256);
  });

  it('of a node that dies are taken within 10 s, and never while its leases last', async () => {
    const { a, b, bus, pass } = await two();
    bus.cut.add('a');
    await pass(3000);
    expect(b.actors.shards).toHaveLength(128);
    await pass(5000);
    expect(b.actors.shards).toHaveLength(256);
    expect(a.actors.shards).toHaveLength(0);
  });

  it("make their keys one node's own, and no other's", async () => {
    const { a, b, bus, pass } = await two();
    const key = keyOf(a.actors);
    expect([a.actors.owns(key), b.actors.owns(key)]).toEqual([true, false]);
    bus.cut.add('a');
    await pass(8000);
    expect([a.actors.owns(key), b.actors.owns(key)]).toEqual([false, true]);
  });

  it('that were taken are told, so that streams are announced to the new owner', async () => {
    const { b } = await two();
    expect(b.moved.sort((x, y) => x - y)).toEqual([...b.actors.shards].sort((x, y) => x - y));
  });
});

describe('an envelope', () => {
  it('reaches the owner from any node, and its reply comes back', async () => {
    const { a, b } = await two();
    const key = keyOf(b.actors);
    expect(await a.actors.ask('counter', key, 'add', { n: 2 })).toBe(2);
    expect(await b.actors.ask('counter', key, 'add', { n: 3 })).toBe(5);
  });

  it('that is refused comes back as the same error', async () => {
    const { a, b } = await two();
    await expect(a.actors.ask('counter', keyOf(b.actors), 'fail', { how: 'conflict' })).rejects.toMatchObject(
      {
        code: 'conflict',
        message: 'no',
      },
    );
  });

  it('is handled in the order in which its node sent it, also when the node becomes the owner meanwhile', async () => {
    const { a, b, bus, ports, pass } = await two();
    const key = keyOf(b.actors);
    const sent = [1, 2, 3].map((n) => a.actors.tell('counter', key, 'add', { n }));
    bus.cut.add('b');
    await Promise.all(sent);
    const replies = pass(9000);
    await replies;
    expect(a.actors.shards).toContain(shardOfKey(key));
    await a.actors.ask('counter', key, 'add', { n: 4 });
    const begun = ports.steps.filter((step) => step.endsWith('begins'));
    expect(begun.slice(-1)).toEqual([`${key}+4 begins`]);
    expect([...new Set(begun)]).toEqual([1, 2, 3, 4].map((n) => `${key}+${n} begins`));
  });

  it('is settled after its handler has ended, not before', async () => {
    const { a, b, bus, latch } = await two();
    const open = latch('g');
    const key = keyOf(b.actors);
    const reply = a.actors.ask('counter', key, 'add', { n: 1, hold: 'g' });
    await settled();
    expect(bus.stream(shardOfKey(key)).entries).toHaveLength(1);
    open();
    expect(await reply).toBe(1);
    expect(bus.stream(shardOfKey(key)).entries).toHaveLength(0);
  });

  it('that comes twice is handled once', async () => {
    const { a, bus, ports } = await two();
    const key = keyOf(a.actors);
    const shard = shardOfKey(key);
    bus.put(shard, envelope('x:1', key, 7));
    bus.put(shard, envelope('x:1', key, 7));
    await bus.bus('elsewhere').send(shard, envelope('x:2', key, 1));
    await settled();
    expect(ports.stored.get(key)).toBe(8);
    expect(bus.stream(shard).entries).toEqual([]);
  });

  it('that could not be settled at once is settled later, and not handled again by the next owner', async () => {
    const { b, bus, ports, latch, pass } = await two();
    const open = latch('g');
    const key = keyOf(b.actors);
    const shard = shardOfKey(key);
    const held = { ...envelope('x:1', key, 7), body: { n: 7, hold: 'g' } };
    await bus.bus('elsewhere').send(shard, held);
    await settled();
    bus.cut.add('b');
    open();
    await settled();
    expect([ports.stored.get(key), bus.stream(shard).entries.length]).toEqual([7, 1]);
    bus.cut.delete('b');
    await pass(500);
    expect(bus.stream(shard).entries).toEqual([]);
    bus.cut.add('b');
    await pass(9000);
    expect([b.actors.owns(key), ports.stored.get(key)]).toEqual([false, 7]);
  });

  it('that a dead owner had taken and not settled is handled by the next one, in the same order', async () => {
    const { a, b, bus, ports, latch, pass } = await two();
    latch('g');
    const key = keyOf(b.actors);
    await a.actors.tell('counter', key, 'add', { n: 1, hold: 'g' });
    await a.actors.tell('counter', key, 'add', { n: 10 });
    await settled();
    expect(ports.steps).toEqual([`${key}+1 begins`]);
    bus.cut.add('b');
    // The dead one never ends; the next one is not held.
    latch('g')();
    await pass(9000);
    expect(a.actors.shards).toContain(shardOfKey(key));
    expect(ports.steps.slice(1)).toEqual([1, 10].flatMap((n) => [`${key}+${n} begins`, `${key}+${n} ends`]));
    expect(ports.stored.get(key)).toBe(11);
    expect(bus.stream(shardOfKey(key)).entries).toEqual([]);
  });

  it('without an answer in 5 s ends as unavailable', async () => {
    const { a, b, latch, pass } = await two();
    latch('never');
    const asked = a.actors
      .ask('counter', keyOf(b.actors), 'add', { n: 1, hold: 'never' })
      .catch((error: unknown) => error);
    await pass(5100);
    expect(await asked).toMatchObject({ code: 'unavailable', detail: { retryAfter: 1 } });
  });

  it('cannot be sent without the bus: unavailable at once', async () => {
    const { a, b, bus } = await two();
    const key = keyOf(b.actors);
    bus.cut.add('a');
    await expect(a.actors.ask('counter', key, 'read', null)).rejects.toBeInstanceOf(HubError);
    await expect(a.actors.tell('counter', key, 'read', null)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('without an asker is tried again until the store is back', async () => {
    const { a, ports, pass } = await two();
    const key = keyOf(a.actors);
    await a.actors.ask('counter', key, 'read', null);
    const other = `${key}/agent`;
    ports.broken = new Error('store down');
    const tells = [{ kind: 'counter', key: other, type: 'add', body: { n: 4 } }];
    await a.actors.ask('counter', key, 'emit', { tells });
    await pass(300);
    ports.broken = null;
    await pass(600);
    expect(ports.stored.get(other)).toBe(4);
  });
});

describe('an owner that was paused', () => {
  it('drops its role within a second of waking, before it has heard of anybody', async () => {
    const { a, clock, bus } = await two();
    const key = keyOf(a.actors);
    await a.actors.ask('counter', key, 'add', { n: 1 });
    bus.cut.add('a');
    // Paused: no timer fires, and time passes.
    clock.skip(30_000);
    expect(a.actors.shards).toEqual([]);
    await expect(a.actors.ask('counter', key, 'add', { n: 1 })).rejects.toMatchObject({
      code: 'unavailable',
    });
    await clock.advanceAsync(1000, 100);
    expect(a.actors.size).toBe(0);
  });

  it('lets no effect leave of a handler that it began before, and has the new owner build its state again', async () => {
    const { a, b, clock, ports, announced, latch, pass, bus } = await two();
    const key = keyOf(a.actors);
    const open = latch('g');
    const asked = a.actors.ask('counter', key, 'add', { n: 1, hold: 'g' }).catch((error: unknown) => error);
    await settled();
    bus.cut.add('a');
    await pass(9000);
    expect(await b.actors.ask('counter', key, 'read', null)).toBe(0);
    bus.cut.delete('a');
    open();
    await settled();
    expect(await asked).toMatchObject({ code: 'unavailable' });
    expect(announced).toEqual([]);
    await clock.advanceAsync(1000, 100);
    // The late handler's write is in the store, and so in the state of whoever owns it now.
    expect(ports.stored.get(key)).toBe(1);
    expect(await b.actors.ask('counter', key, 'read', null)).toBe(1);
  });

  it('that took its role back meanwhile has its state built again, too, and lets no late effect leave', async () => {
    const cluster = aCluster();
    const { actors } = await cluster.node('a');
    const key = keyOf(actors);
    const open = cluster.latch('g');
    const asked = actors.ask('counter', key, 'add', { n: 1, hold: 'g' }).catch((error: unknown) => error);
    await settled();
    cluster.bus.cut.add('a');
    await cluster.pass(6000);
    expect(actors.size).toBe(0);
    cluster.bus.cut.delete('a');
    await cluster.pass(2000);
    // The one that the node has now was loaded before the late write.
    expect(await actors.ask('counter', key, 'read', null)).toBe(0);
    open();
    await settled();
    expect(await asked).toMatchObject({ code: 'unavailable' });
    expect(await actors.ask('counter', key, 'read', null)).toBe(1);
  });

  it('handles nothing by an activation that it let go of while that was being built', async () => {
    const cluster = aCluster();
    const { actors } = await cluster.node('a');
    const key = keyOf(actors);
    const open = cluster.latch('activate');
    await actors.tell('counter', key, 'add', { n: 1 });
    await settled();
    cluster.bus.cut.add('a');
    await cluster.pass(6000);
    cluster.bus.cut.delete('a');
    cluster.ports.gates.delete('activate');
    await cluster.pass(2000);
    expect(await actors.ask('counter', key, 'add', { n: 2 })).toBe(2);
    open();
    await settled();
    expect(await actors.ask('counter', key, 'read', null)).toBe(3);
  });
});

describe('waking', () => {
  it('an actor that lives here is tried until its store is back', async () => {
    const { a, ports, pass } = await two();
    const key = keyOf(a.actors);
    ports.broken = new Error('store down');
    await a.actors.wake('counter', key);
    await pass(3000);
    expect(ports.activations).toBeGreaterThan(1);
    ports.broken = null;
    await pass(500);
    expect(a.actors.size).toBe(1);
    const { activations } = ports;
    await a.actors.ask('counter', key, 'read', null);
    expect(ports.activations).toBe(activations);
  });

  it('is told when it could not even be asked for', async () => {
    const { a, bus } = await two();
    bus.cut.add('a');
    await expect(a.actors.wake('counter', keyOf(a.actors))).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('goes on at the next owner', async () => {
    const { a, b, bus, ports, pass } = await two();
    const key = keyOf(a.actors);
    ports.broken = new Error('store down');
    await a.actors.wake('counter', key);
    await pass(500);
    bus.cut.add('a');
    await pass(9000);
    ports.broken = null;
    await pass(500);
    expect(b.actors.shards).toContain(shardOfKey(key));
    expect(b.actors.size).toBe(1);
  });
});
