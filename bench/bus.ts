// What one Redis carries between nodes: envelopes to one shard's actors, envelopes to all shards, and frames of one
// audience to three nodes, each beside a bare loop of the same driver on the same server, in turns; frames also beside
// bare entries that three bare connections read. All nodes are in this one process, so that its processor bounds the
// rates too.
import { randomUUID } from 'node:crypto';
import { createClient, RESP_TYPES } from 'redis';
import { systemClock as clock } from '../adapters/node/clock.ts';
import { createLog } from '../adapters/node/log.ts';
import { openRedis, type RedisParts } from '../adapters/redis/index.ts';
import { agentsOf, type Frame } from '../src/domain/frame.ts';
import { shardCount } from '../src/domain/ids.ts';
import { median, round } from './numbers.ts';
import { readOptions } from './options.ts';
import { startServices } from './services.ts';

const inFlight = 64;
const envelopeBytes = 300;

const {
  count,
  'frame-bytes': frameBytes,
  repeats,
  json,
} = readOptions({
  program: 'bus',
  options: {
    count: { about: 'envelopes of each measurement', default: 5000 },
    'frame-bytes': { about: 'of the large frame', default: 32_768 },
    repeats: { about: 'repeats', default: 3, atLeast: 3 },
  },
});

const services = await startServices();
const prefix = `reeve_bench_${randomUUID().slice(0, 8)}:`;
const log = createLog({ level: 'warn' });
const open = (nodeId: string) => openRedis({ url: services.redisUrl, log, clock, prefix, nodeId });
const nodes = [await open('a'), await open('b'), await open('c')] as const;
const bare = createClient({ url: services.redisUrl, RESP: 2 });
await bare.connect();

/** Calls a second of `each`, `inFlight` at once, until all were made and `done` has resolved. */
async function rate(each: (i: number) => Promise<unknown>, done: Promise<unknown>): Promise<number> {
  const begun = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < count) await each(next++);
  };
  await Promise.all([...Array.from({ length: inFlight }, lane), done]);
  return count / ((performance.now() - begun) / 1000);
}

/** Resolves after so many calls of `hit`. */
function counter(wanted: number): { readonly done: Promise<void>; hit(): void } {
  let left = wanted;
  let finish: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return {
    done,
    hit() {
      left--;
      if (left === 0) finish();
    },
  };
}

const body = { text: 'x'.repeat(envelopeBytes) };
let delivered = counter(1);
const reader: RedisParts = nodes[1];
reader.bus.onDelivery((delivery) => {
  void reader.bus.acknowledge(delivery).then(() => delivered.hit());
});
reader.bus.onReply(() => {});
for (let shard = 0; shard < shardCount; shard++) await reader.bus.open(shard);

/** Envelopes a second from node a, delivered to node b and acknowledged. */
async function envelopes(shards: number): Promise<number> {
  delivered = counter(count);
  return rate((i) => {
    const envelope = { id: randomUUID(), from: 'a', asks: false, kind: 'bench', key: 'k', type: 't', body };
    return nodes[0].bus.send(i % shards, envelope);
  }, delivered.done);
}

const audience = agentsOf(randomUUID(), 'production');
let heard = counter(1);
for (const { broadcast } of nodes) await broadcast.follow(audience, () => heard.hit());
const data = { type: 'contract_update', text: 'y'.repeat(frameBytes) };
/** Written for every publish, as every announcement's is. */
const frame = (): Frame => ({ audience, type: data.type, json: Buffer.from(JSON.stringify(data)) });

/** Frames a second from node a, until all three nodes have each. */
async function frames(): Promise<number> {
  heard = counter(count * nodes.length);
  return rate(() => nodes[0].broadcast.publish([frame()]), heard.done);
}

/** Entries a second that the bare driver writes and deletes: what an envelope costs at least. */
const writeAndDelete = (bytes: number): Promise<number> => {
  const text = 'z'.repeat(bytes);
  return rate(async () => {
    const id = String(await bare.sendCommand(['XADD', `${prefix}bare`, '*', 'b', text]));
    await bare.sendCommand(['XDEL', `${prefix}bare`, id]);
  }, Promise.resolve());
};

/** Three connections that read a stream as nodes do, and nothing else. */
const bareLog = `${prefix}bare_log`;
const bareReaders = await Promise.all(
  nodes.map(() =>
    createClient({
      url: services.redisUrl,
      RESP: 2,
      commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    }).connect(),
  ),
);
let read = counter(1);
let reading = true;
async function follow(connection: (typeof bareReaders)[number]): Promise<void> {
  let position = '0-0';
  while (reading) {
    const command = ['XREAD', 'COUNT', '256', 'BLOCK', '500', 'STREAMS', bareLog, position];
    const answer = await connection.sendCommand<[[unknown, [unknown, unknown][]]] | null>(command);
    for (const [id] of answer?.[0][1] ?? []) {
      position = String(id);
      read.hit();
    }
  }
}
const following = bareReaders.map(follow);

/**
 * Entries a second that the bare driver writes, until three bare connections have read each: what a frame costs at
 * least.
 */
async function writeAndRead(bytes: number): Promise<number> {
  const text = 'z'.repeat(bytes);
  read = counter(count * nodes.length);
  return rate(() => bare.sendCommand(['XADD', bareLog, 'MAXLEN', '=', '2000', '*', 'b', text]), read.done);
}

interface Round {
  readonly oneShard: number;
  readonly allShards: number;
  readonly bareEnvelopes: number;
  readonly frames: number;
  readonly bareFrames: number;
  readonly bareFramesRead: number;
}

const rounds: Round[] = [];
for (let i = 0; i <= repeats; i++) {
  rounds.push({
    oneShard: await envelopes(1),
    allShards: await envelopes(shardCount),
    bareEnvelopes: await writeAndDelete(envelopeBytes),
    frames: await frames(),
    bareFrames: await writeAndDelete(frameBytes),
    bareFramesRead: await writeAndRead(frameBytes),
  });
}
// The first round only warms up.
rounds.shift();

reading = false;
await Promise.all(following);
for (const connection of bareReaders) connection.destroy();
await bare.sendCommand(['DEL', `${prefix}bare`, bareLog]);
bare.destroy();
for (const node of nodes) await node.close();
await services.stop();

const middle = (of: keyof Round): number => median(rounds.map((one) => one[of]));
const result = {
  benchmark: 'bus',
  envelopes_one_shard_per_s: round(middle('oneShard'), 0),
  envelopes_all_shards_per_s: round(middle('allShards'), 0),
  bare_envelopes_per_s: round(middle('bareEnvelopes'), 0),
  frames_to_3_nodes_per_s: round(middle('frames'), 0),
  bare_frames_per_s: round(middle('bareFrames'), 0),
  bare_frames_read_by_3_per_s: round(middle('bareFramesRead'), 0),
  frame_bytes: frameBytes,
  repeats: rounds,
};
if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
else {
  const ratio = (of: keyof Round, beside: keyof Round): number =>
    round(median(rounds.map((one) => one[of] / one[beside])), 2);
  const line = (what: string, of: keyof Round, beside: keyof Round) => {
    const each = rounds.map((one) => round(one[of], 0)).join(', ');
    process.stdout.write(
      `  ${what}: ${round(middle(of), 0)}/s (${each}), ${ratio(of, beside)} of bare XADD and XDEL\n`,
    );
  };
  process.stdout.write(`${count} envelopes or frames a repeat, ${inFlight} at once\n`);
  line('envelopes to one shard, acknowledged', 'oneShard', 'bareEnvelopes');
  line(`envelopes to ${shardCount} shards, acknowledged`, 'allShards', 'bareEnvelopes');
  line(`frames of ${frameBytes} bytes to three nodes`, 'frames', 'bareFrames');
  process.stdout.write(
    `    and ${ratio('frames', 'bareFramesRead')} of bare XADD read by three connections (${round(middle('bareFramesRead'), 0)}/s)\n`,
  );
}
