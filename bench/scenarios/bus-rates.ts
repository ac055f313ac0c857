// The bus between nodes in a process of its own: three nodes' adapters on one Redis, and bare connections of the same
// driver as the bounds.
import { randomUUID } from 'node:crypto';
import { createClient, RESP_TYPES } from 'redis';
import { systemClock as clock } from '../../adapters/node/clock.ts';
import { createLog } from '../../adapters/node/log.ts';
import { openRedis } from '../../adapters/redis/index.ts';
import { agentsOf, type Frame } from '../../src/shared/frame.ts';
import { shardCount } from '../../src/shared/ids.ts';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';
import { newStoredName } from '../suite/stored-names.ts';

const inFlight = 64;
const envelopeBytes = 300;

interface BusOrder {
  readonly redisUrl: string;
  /** Envelopes and frames of each rate. */
  readonly count: number;
  readonly frameBytes: number;
}

/** Each a second. */
export interface BusRound {
  readonly oneShard: number;
  readonly allShards: number;
  readonly bareEnvelopes: number;
  readonly frames: number;
  readonly bareFrames: number;
  readonly bareFramesRead: number;
}

export class BusRates extends ClientProcess<BusOrder> {
  constructor() {
    super(import.meta.url, 'bus');
  }

  measure(order: BusOrder): Promise<BusRound> {
    return this.request(order);
  }
}

/** Resolves after as many calls of `hit`. */
function countdown(count: number) {
  let left = count;
  let finish: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const hit = (): void => {
    left--;
    if (left === 0) finish();
  };
  return { done, hit };
}

/** Calls a second, many at once, until all were made and `done` has resolved. */
async function rateOf(
  count: number,
  call: (n: number) => Promise<unknown>,
  done: Promise<unknown>,
): Promise<number> {
  const began = performance.now();
  let next = 0;
  const callInTurn = async (): Promise<void> => {
    while (next < count) await call(next++);
  };
  await Promise.all([...Array.from({ length: inFlight }, callInTurn), done]);
  return (count * 1000) / (performance.now() - began);
}

async function openNodes(redisUrl: string) {
  const prefix = `${newStoredName()}:`;
  const log = createLog({ level: 'warn' });
  const open = (nodeId: string) => openRedis({ url: redisUrl, log, clock, prefix, nodeId });
  const nodes = [await open('a'), await open('b'), await open('c')] as const;
  let delivered = countdown(1);
  nodes[1].bus.onDelivery((delivery) => {
    void nodes[1].bus.acknowledge(delivery).then(() => delivered.hit());
  });
  nodes[1].bus.onReply(() => undefined);
  for (let shard = 0; shard < shardCount; shard++) await nodes[1].bus.open(shard);
  const audience = agentsOf(randomUUID(), 'production');
  let received = countdown(1);
  for (const { broadcast } of nodes) await broadcast.follow(audience, () => received.hit());
  const body = { text: 'x'.repeat(envelopeBytes) };
  return {
    /** From node a, until node b has acknowledged each. */
    envelopes(count: number, shards: number): Promise<number> {
      delivered = countdown(count);
      const send = (n: number): Promise<unknown> => {
        const envelope = {
          id: randomUUID(),
          from: 'a',
          asks: false,
          kind: 'bench',
          key: 'k',
          type: 't',
          body,
        };
        return nodes[0].bus.send(n % shards, envelope);
      };
      return rateOf(count, send, delivered.done);
    },
    /** From node a, until all three nodes have each; each is encoded anew, as an announcement is. */
    frames(count: number, bytes: number): Promise<number> {
      received = countdown(count * nodes.length);
      const data = { type: 'contract_update', text: 'y'.repeat(bytes) };
      const frame = (): Frame => ({ audience, type: data.type, json: Buffer.from(JSON.stringify(data)) });
      return rateOf(count, () => nodes[0].broadcast.publish([frame()]), received.done);
    },
    async close(): Promise<void> {
      for (const node of nodes) await node.close();
    },
  };
}

/** Three connections that read a stream as nodes do, and one that writes. */
async function openBare(redisUrl: string) {
  const key = newStoredName();
  const readLog = `${key}_log`;
  const writer = await createClient({ url: redisUrl, RESP: 2 }).connect();
  const commandOptions = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };
  const readers = await Promise.all(
    ['a', 'b', 'c'].map(() => createClient({ url: redisUrl, RESP: 2, commandOptions }).connect()),
  );
  let read = countdown(1);
  let isReading = true;
  const reading = readers.map(async (reader) => {
    let position = '0-0';
    while (isReading) {
      const command = ['XREAD', 'COUNT', '256', 'BLOCK', '500', 'STREAMS', readLog, position];
      const answer = await reader.sendCommand<[[unknown, [unknown, unknown][]]] | null>(command);
      for (const [id] of answer?.[0][1] ?? []) {
        position = String(id);
        read.hit();
      }
    }
  });
  return {
    /** Entries that are written and deleted. */
    writes(count: number, bytes: number): Promise<number> {
      const text = 'z'.repeat(bytes);
      const write = async (): Promise<void> => {
        const id = String(await writer.sendCommand(['XADD', key, '*', 'b', text]));
        await writer.sendCommand(['XDEL', key, id]);
      };
      return rateOf(count, write, Promise.resolve());
    },
    /** Entries until all three connections have read each. */
    reads(count: number, bytes: number): Promise<number> {
      const text = 'z'.repeat(bytes);
      read = countdown(count * readers.length);
      const write = () => writer.sendCommand(['XADD', readLog, 'MAXLEN', '=', '2000', '*', 'b', text]);
      return rateOf(count, write, read.done);
    },
    async close(): Promise<void> {
      isReading = false;
      await Promise.all(reading);
      await writer.sendCommand(['DEL', key, readLog]);
      for (const connection of [writer, ...readers]) connection.destroy();
    },
  };
}

async function run({ redisUrl, count, frameBytes }: BusOrder): Promise<BusRound> {
  const nodes = await openNodes(redisUrl);
  const bare = await openBare(redisUrl);
  try {
    return {
      oneShard: await nodes.envelopes(count, 1),
      allShards: await nodes.envelopes(count, shardCount),
      bareEnvelopes: await bare.writes(count, envelopeBytes),
      frames: await nodes.frames(count, frameBytes),
      bareFrames: await bare.writes(count, frameBytes),
      bareFramesRead: await bare.reads(count, frameBytes),
    };
  } finally {
    await bare.close();
    await nodes.close();
  }
}

serveOrders(import.meta.url, run);
