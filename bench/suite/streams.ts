// A client process that holds many raw streams: it counts what each reads and keeps nothing.
import net from 'node:net';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { ClientProcess, serveOrders } from './client-process.ts';
import { CannotRun } from './failure.ts';
import { newHistogram } from './histogram.ts';
import { descriptorLimit } from './machine.ts';
import { answerLimitMs, limitText } from './time-limit.ts';

export interface OpenStreams {
  readonly port: number;
  readonly count: number;
  /** The bytes that open a stream; `{agent}` becomes `agent-N`. */
  readonly request: string;
  /** N of the first agent. Default: 0 */
  readonly from?: number;
  /** Streams that may wait for their greeting. Default: 100; `count` opens all in one turn of the event loop. */
  readonly atOnce?: number;
  /** A stream is open when it has read this text. Default: the end of the first frame. */
  readonly marker?: string;
  /** Milliseconds without a further open stream, after which the order fails. Default: 60,000 */
  readonly limitMs?: number;
}

export interface OpenedStreams {
  /** From the first connection's start until the last stream is open. */
  readonly elapsedMs: number;
  /** Answers other than a stream, and connections that failed; each is tried again after half a second. */
  readonly refused: number;
}

type Order =
  | ({ readonly type: 'open' } & OpenStreams)
  | { readonly type: 'expect'; readonly bytes: number }
  | { readonly type: 'await'; readonly limitMs: number }
  | { readonly type: 'latencies'; readonly since: string }
  | { readonly type: 'tally' | 'opened' | 'resume' | 'check' | 'close' }
  | { readonly type: 'stall'; readonly count: number };

export interface Delivery {
  /** When the last stream had the frame; with lost frames, when the last of the others had it. */
  readonly at: bigint;
  /** Streams that have not read the frame within the limit. */
  readonly lost: number;
}

/** A frame that a stream has not read by then is lost. */
const lossMs = 120_000;

/** For files and connections that are no streams. */
const otherDescriptors = 50;

/** Hub and client need a descriptor for each stream; both have the limit of the suite. */
function checkDescriptors(count: number): void {
  const limit = descriptorLimit();
  const needed = count + otherDescriptors;
  if (limit === null || needed <= limit) return;
  throw new CannotRun(
    `${count} streams need ${needed} file descriptors in a process, and the limit is ${limit}. ` +
      `Raise it with ulimit -n ${needed}, or choose fewer --agents.`,
  );
}

/** Times are of the machine's monotonic clock, nanoseconds, which all processes share. */
export class StreamClient extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'stream client');
  }

  /**
   * @throws CannotRun if no further stream opens within the limit, and for more streams than the process can have
   */
  async open(streams: OpenStreams): Promise<OpenedStreams> {
    checkDescriptors(streams.count);
    return this.request({ type: 'open', ...streams });
  }

  /** Streams that the last `open` has opened so far. */
  async opened(): Promise<number> {
    return Number(await this.request({ type: 'opened' }));
  }

  /** Counts from now on. @returns a call for the delivery of `bytes` to each stream */
  async expectWithin(bytes: number, limitMs: number): Promise<() => Promise<Delivery>> {
    await this.request({ type: 'expect', bytes });
    return async () => {
      const { at, lost } = await this.request<{ at: string; lost: number }>({ type: 'await', limitMs });
      return { at: BigInt(at), lost };
    };
  }

  /**
   * As `expectWithin`, for servers that may lose nothing.
   * @returns a call for the time when the last stream has read `bytes`; it throws CannotRun for a lost frame
   */
  async expect(bytes: number): Promise<() => Promise<bigint>> {
    const awaitDelivery = await this.expectWithin(bytes, lossMs);
    return async () => {
      const { at, lost } = await awaitDelivery();
      if (lost > 0) throw new CannotRun(`${lost} streams did not get a frame.`);
      return at;
    };
  }

  /** Delivery of each stream since a time, microseconds: HdrHistogram V2, base64. */
  async latencies(since: bigint): Promise<string> {
    return String(await this.request({ type: 'latencies', since: String(since) }));
  }

  /** Bytes that all streams have read since the last `expect`. */
  async tally(): Promise<number> {
    return Number(await this.request({ type: 'tally' }));
  }

  /** Stops reading from as many streams, which no delivery waits for until `resume`. */
  async stall(count: number): Promise<void> {
    await this.request({ type: 'stall', count });
  }

  async resume(): Promise<void> {
    await this.request({ type: 'resume' });
  }

  /** @throws CannotRun if a stream that was open has ended */
  async checkOpen(): Promise<void> {
    await this.request({ type: 'check' });
  }

  async close(): Promise<void> {
    await this.request({ type: 'close' });
  }
}

const retryMs = 500;
const maxTries = 40;
const scratch = Buffer.alloc(256 * 1024);
const firstBytes = 4096;

interface Stream {
  readonly socket: net.Socket;
  read: number;
  deliveredAt: bigint;
  isStalled: boolean;
}

const streams = new Set<Stream>();
let expectedBytes = Number.POSITIVE_INFINITY;
let missing = 0;
let lastAt = 0n;
let onDelivered: (() => void) | null = null;
let failure: Error | null = null;
/** Of the last order to open streams. */
let openedStreams = 0;

function count(stream: Stream, bytes: number): void {
  const before = stream.read;
  stream.read += bytes;
  if (before >= expectedBytes || stream.read < expectedBytes) return;
  stream.deliveredAt = process.hrtime.bigint();
  if (stream.isStalled || --missing > 0) return;
  lastAt = stream.deliveredAt;
  onDelivered?.();
}

/** Resolves with true when the stream is open, with false when it is refused. */
function connect(port: number, request: string, marker: string): Promise<boolean> {
  return new Promise((resolve) => {
    let first: string | null = '';
    const readFirst = (bytes: number): void => {
      first += scratch.toString('latin1', 0, Math.min(bytes, firstBytes));
      if (!/^HTTP\/1\.1 (?:200|101) /.test(first ?? '')) socket.destroy();
      else if (first?.includes(marker)) {
        first = null;
        resolve(true);
      }
    };
    const socket = net.connect({
      port,
      host: '127.0.0.1',
      onread: {
        buffer: scratch,
        callback(bytes) {
          if (first !== null) readFirst(bytes);
          count(stream, bytes);
          return true;
        },
      },
    });
    const stream: Stream = { socket, read: 0, deliveredAt: 0n, isStalled: false };
    streams.add(stream);
    socket.once('connect', () => socket.write(request));
    socket.on('error', () => undefined);
    socket.once('close', () => {
      if (!streams.delete(stream)) return;
      if (first === null) failure = new Error('A stream that was open has ended.');
      else resolve(false);
      onDelivered?.();
    });
  });
}

async function open(order: OpenStreams): Promise<OpenedStreams> {
  const { port, count: total, request, from = 0, atOnce = 100, marker = '\n\n' } = order;
  const { limitMs = answerLimitMs } = order;
  const began = performance.now();
  let refused = 0;
  let lastOpenAt = began;
  let isOver = false;
  openedStreams = 0;
  const openOne = async (n: number): Promise<void> => {
    for (let tries = 0; tries < maxTries && !isOver; tries++) {
      if (await connect(port, request.replace('{agent}', `agent-${from + n}`), marker)) {
        openedStreams++;
        lastOpenAt = performance.now();
        return;
      }
      refused++;
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
    throw new Error(`A stream was refused ${maxTries} times; ${openedStreams} of ${total} streams are open.`);
  };
  const openInTurn = async (lane: number): Promise<void> => {
    for (let n = lane; n < total; n += atOnce) await openOne(n);
  };
  let timer: NodeJS.Timeout | undefined;
  const stalled = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      if (performance.now() - lastOpenAt < limitMs) return;
      const state = `${openedStreams} of ${total} streams are open, ${refused} openings were refused`;
      reject(new Error(`${state}, and no further stream opened ${limitText(limitMs)}.`));
    }, limitMs / 10);
  });
  try {
    const lanes = Array.from({ length: Math.min(atOnce, total) }, (_, lane) => openInTurn(lane));
    await Promise.race([Promise.all(lanes), stalled]);
  } finally {
    isOver = true;
    clearInterval(timer);
  }
  return { elapsedMs: performance.now() - began, refused };
}

function expect(bytes: number): void {
  expectedBytes = bytes;
  missing = 0;
  for (const stream of streams) {
    stream.read = 0;
    stream.deliveredAt = 0n;
    if (!stream.isStalled) missing++;
  }
}

async function awaitDelivery(limitMs: number): Promise<{ readonly at: string; readonly lost: number }> {
  if (missing > 0) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      onDelivered = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
  onDelivered = null;
  if (failure !== null) throw failure;
  const latest = [...streams].reduce((at, { deliveredAt }) => (deliveredAt > at ? deliveredAt : at), 0n);
  return { at: String(missing > 0 ? latest : lastAt), lost: missing };
}

function latenciesSince(since: bigint): string {
  const histogram = newHistogram();
  for (const { deliveredAt, isStalled } of streams) {
    if (!isStalled && deliveredAt > since)
      histogram.recordValue(Math.max(1, Number((deliveredAt - since) / 1000n)));
  }
  return encodeIntoCompressedBase64(histogram);
}

function stall(total: number): void {
  for (const stream of [...streams].slice(0, total)) {
    stream.isStalled = true;
    stream.socket.pause();
  }
}

function resume(): void {
  for (const stream of streams) {
    stream.isStalled = false;
    stream.socket.resume();
  }
}

function check(): void {
  if (failure !== null) throw failure;
}

function close(): void {
  const open = [...streams];
  streams.clear();
  for (const { socket } of open) socket.destroy();
}

async function run(order: Order): Promise<unknown> {
  if (order.type === 'open') return open(order);
  if (order.type === 'expect') return expect(order.bytes);
  if (order.type === 'await') return awaitDelivery(order.limitMs);
  if (order.type === 'latencies') return latenciesSince(BigInt(order.since));
  if (order.type === 'tally') return [...streams].reduce((sum, { read }) => sum + read, 0);
  if (order.type === 'opened') return openedStreams;
  if (order.type === 'stall') return stall(order.count);
  if (order.type === 'resume') return resume();
  return order.type === 'check' ? check() : close();
}

serveOrders(import.meta.url, run);
