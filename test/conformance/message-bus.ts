// Every bus's promises: order, one stay until it is acknowledged, what a reader left goes to the next, replies find
// their node.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BusDelivery, BusReply, Envelope, MessageBus } from '../../src/shared/ports/message-bus.ts';

export interface PostStage {
  /** A node's end of the bus. */
  node(name: string): Promise<MessageBus>;
  /** How many envelopes a shard may hold. */
  readonly maxEnvelopes: number;
  close(): Promise<void>;
}

const envelope = (id: string, over: Partial<Envelope> = {}): Envelope => ({
  id,
  from: 'a',
  asks: false,
  kind: 'counter',
  key: 't1/production',
  type: 'add',
  body: { n: 1, text: 'ä\u0000', list: [1, null, { deep: true }] },
  ...over,
});

interface Seen {
  readonly bus: MessageBus;
  readonly deliveries: BusDelivery[];
  readonly replies: BusReply[];
  until(test: () => boolean): Promise<void>;
}

function watch(bus: MessageBus): Seen {
  const deliveries: BusDelivery[] = [];
  const replies: BusReply[] = [];
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const one of [...waiting]) one();
  };
  bus.onDelivery((delivery) => {
    deliveries.push(delivery);
    wake();
  });
  bus.onReply((reply) => {
    replies.push(reply);
    wake();
  });
  const until = async (test: () => boolean) => {
    while (!test()) {
      await new Promise<void>((resolve) => {
        const one = () => {
          waiting.delete(one);
          resolve();
        };
        waiting.add(one);
      });
    }
  };
  return { bus, deliveries, replies, until };
}

const ids = (seen: Seen): string[] => seen.deliveries.map(({ envelope: { id } }) => id);

export function postContract(name: string, open: () => Promise<PostStage>): void {
  describe(`bus: ${name}`, () => {
    let stage: PostStage;
    let a: Seen;
    let b: Seen;
    beforeEach(async () => {
      stage = await open();
      a = watch(await stage.node('a'));
      b = watch(await stage.node('b'));
    });
    afterEach(() => stage.close());

    it('brings an envelope whole to the reader of its shard', async () => {
      await b.bus.open(7);
      const begun = performance.now();
      await a.bus.send(7, envelope('1'));
      await b.until(() => b.deliveries.length === 1);
      expect(b.deliveries[0]).toMatchObject({ shard: 7, envelope: envelope('1') });
      // A clock of whole milliseconds dates the envelope.
      expect(b.deliveries[0]?.ageMs).toBeLessThan(performance.now() - begun + 2);
    });

    it('keeps the order of the calls of a node, over many at once', async () => {
      await b.bus.open(7);
      const sent = Array.from({ length: 1500 }, (_, i) => `${i}`);
      const positions = await Promise.all(sent.map((id) => a.bus.send(7, envelope(id))));
      await b.until(() => b.deliveries.length === 1500);
      expect(ids(b)).toEqual(sent);
      expect(b.deliveries.map(({ position }) => position)).toEqual(positions);
    });

    it('delivers nothing of a shard that is not read, and all of it when it is', async () => {
      await a.bus.send(7, envelope('1'));
      await a.bus.send(8, envelope('2'));
      await b.bus.open(8);
      await b.until(() => b.deliveries.length === 1);
      expect(ids(b)).toEqual(['2']);
      await b.bus.open(7);
      await b.until(() => b.deliveries.length === 2);
      expect(ids(b)).toEqual(['2', '1']);
    });

    it('gives what one reader took and did not acknowledge to the next, before what came later', async () => {
      await a.bus.open(7);
      for (const id of ['1', '2', '3']) await a.bus.send(7, envelope(id));
      await a.until(() => a.deliveries.length === 3);
      const [, second] = a.deliveries;
      if (second) await a.bus.acknowledge(second);
      await a.bus.shut([7]);
      await b.bus.send(7, envelope('4'));
      const position = await b.bus.open(7);
      await b.until(() => b.deliveries.length === 3);
      expect(ids(b)).toEqual(['1', '3', '4']);
      expect(position).toBe(a.deliveries[2]?.position);
      expect(ids(a)).toEqual(['1', '2', '3']);
    });

    it('gives a reader that comes back what it had not acknowledged itself', async () => {
      await a.bus.open(7);
      await a.bus.send(7, envelope('1'));
      await a.until(() => a.deliveries.length === 1);
      await a.bus.shut([7]);
      await a.bus.open(7);
      await a.until(() => a.deliveries.length === 2);
      expect(ids(a)).toEqual(['1', '1']);
    });

    it('brings a reply to the node that asked, and to no other; settling again changes nothing', async () => {
      await b.bus.open(7);
      await a.bus.send(7, envelope('1', { asks: true }));
      await b.until(() => b.deliveries.length === 1);
      const [delivery] = b.deliveries;
      if (!delivery) return;
      await b.bus.acknowledge(delivery, { to: 'a', reply: { id: '1', value: { ok: [1, 'x'] } } });
      await a.until(() => a.replies.length === 1);
      expect(a.replies).toEqual([{ id: '1', value: { ok: [1, 'x'] } }]);
      await b.bus.acknowledge(delivery);
      const error = { code: 'conflict' as const, message: 'no', detail: { retryAfter: 3 } };
      await b.bus.acknowledge(delivery, { to: 'a', reply: { id: '2', error } });
      await a.until(() => a.replies.length === 2);
      expect(a.replies[1]).toEqual({ id: '2', error });
      expect(b.replies).toEqual([]);
    });

    it('counts what waits', async () => {
      await b.bus.open(7);
      await a.bus.send(7, envelope('1'));
      await a.bus.send(7, envelope('2'));
      await b.until(() => b.deliveries.length === 2);
      const [first] = b.deliveries;
      if (first) await b.bus.acknowledge(first);
      expect(await b.bus.lag([7, 9])).toMatchObject([
        { shard: 7, waiting: 1 },
        { shard: 9, waiting: 0, oldestMs: 0 },
      ]);
    });

    it('refuses what a full shard cannot hold, and loses nothing that it took', async () => {
      const all = Array.from({ length: stage.maxEnvelopes + 5 }, (_, i) => a.bus.send(3, envelope(`${i}`)));
      const results = await Promise.allSettled(all);
      const refused = results.flatMap((r) => (r.status === 'rejected' ? [r.reason] : []));
      expect(refused).toHaveLength(5);
      expect(refused[0]).toMatchObject({ code: 'overloaded' });
      await b.bus.open(3);
      await b.until(() => b.deliveries.length === stage.maxEnvelopes);
      expect(ids(b)).toEqual(Array.from({ length: stage.maxEnvelopes }, (_, i) => `${i}`));
    });
  });
}
