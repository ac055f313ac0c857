// One agent or dashboard on a stream: notes every connection and frame, comes back after every end as the hub asked it
// to, with the last id it has. Judges nothing: check/streams.ts does.
import http from 'node:http';
import type { Random } from '../../random.ts';

export interface Connection {
  readonly node: string;
  /** When it was asked for, and when the hub answered 200; epoch ms. */
  readonly askedAt: number;
  readonly openedAt: number;
  /** The Last-Event-ID that was sent. */
  readonly after: string | null;
  endedAt: number | null;
}

export interface SeenFrame {
  readonly id: string;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: frames of many shapes
  readonly data: any;
  /** Epoch ms. */
  readonly at: number;
  /** Index into `connections`. */
  readonly connection: number;
}

/** The part of a follower that check/ reads. */
export interface Followed {
  readonly name: string;
  readonly connections: readonly Connection[];
  readonly frames: readonly SeenFrame[];
}

export interface FollowerOptions {
  readonly name: string;
  /** Path and query; asked for anew at every connection, so that it may carry the version that runs. */
  readonly path: (follower: Follower) => string;
  readonly headers: { readonly [name: string]: string };
  /** The node for the next connection, as a load balancer would choose; null: none can be reached now. */
  readonly route: () => { readonly name: string; readonly port: number } | null;
  readonly random: Random;
  readonly onFrame?: (frame: SeenFrame, follower: Follower) => void;
}

const answerMs = 5000;
/** A node that cannot be reached is tried again, or another is, after about this long. */
const againMs = 250;

export class Follower implements Followed {
  readonly name: string;
  readonly connections: Connection[] = [];
  readonly frames: SeenFrame[] = [];
  /** When each connection was asked for, granted or not; epoch ms. */
  readonly attempts: number[] = [];
  /** Refusals by status; 0: no answer. */
  readonly refused: number[] = [];
  /** Version number and revision of the last contract_update. */
  version = 0;
  revision: string | null = null;
  /** True while the hub answers 401 or 403: it does not come back. */
  rejected = false;
  readonly #options: FollowerOptions;
  #lastId: string | null = null;
  /** As the hub asked; the hub itself spreads it. */
  #retryMs = 1000;
  #call: http.ClientRequest | null = null;
  #timer: NodeJS.Timeout | null = null;
  #current: Connection | null = null;
  #stopped = true;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.name = options.name;
  }

  get open(): boolean {
    return this.#current !== null;
  }

  get node(): string | null {
    return this.#current?.node ?? null;
  }

  start(): void {
    this.#stopped = false;
    this.#connect();
  }

  /** Ends the connection as a broken network would; it comes back by itself. */
  cut(): void {
    this.#call?.destroy();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#call?.destroy();
    this.#ended();
  }

  #later(ms: number): void {
    if (this.#stopped || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#connect();
    }, ms);
  }

  #connect(): void {
    if (this.#stopped) return;
    const { route, path, headers, random } = this.#options;
    const node = route();
    if (!node) {
      this.#later(againMs * random.between(0.5, 1.5));
      return;
    }
    const after = this.#lastId;
    const askedAt = Date.now();
    this.attempts.push(askedAt);
    const call = http.request({
      host: '127.0.0.1',
      port: node.port,
      path: path(this),
      agent: false,
      headers: { ...headers, ...(after === null ? {} : { 'Last-Event-ID': after }) },
    });
    this.#call = call;
    const patience = setTimeout(() => call.destroy(), answerMs);
    let over = false;
    const end = (waitMs: number) => {
      clearTimeout(patience);
      if (over) return;
      over = true;
      if (this.#call === call) this.#ended();
      this.#later(waitMs);
    };
    call.on('error', () => {
      if (!this.#current) this.refused.push(0);
      end(this.#current ? this.#retryMs : againMs * random.between(0.5, 1.5));
    });
    call.on('response', (response) => {
      clearTimeout(patience);
      if (response.statusCode !== 200) {
        this.refused.push(response.statusCode ?? 0);
        response.resume();
        if (response.statusCode === 401 || response.statusCode === 403) {
          this.rejected = true;
          this.#stopped = true;
        }
        const asked = Number(response.headers['retry-after'] ?? 0) * 1000;
        return end(Math.max(againMs, asked) * random.between(1, 1.3));
      }
      const openedAt = Date.now();
      const connection: Connection = { node: node.name, askedAt, openedAt, after, endedAt: null };
      this.connections.push(connection);
      this.#current = connection;
      const index = this.connections.length - 1;
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const blocks = (rest + chunk).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) this.#take(block, index);
      });
      response.on('error', () => end(this.#retryMs));
      response.on('close', () => end(this.#retryMs));
    });
    call.end();
  }

  #ended(): void {
    if (this.#current) this.#current.endedAt = Date.now();
    this.#current = null;
    this.#call = null;
  }

  #take(block: string, connection: number): void {
    let id = '';
    let type = '';
    let data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith('id: ')) id = line.slice(4);
      else if (line.startsWith('event: ')) type = line.slice(7);
      else if (line.startsWith('data: ')) data += line.slice(6);
      else if (line.startsWith('retry: ')) this.#retryMs = Number(line.slice(7));
    }
    if (type === '') return;
    const frame: SeenFrame = { id, type, data: JSON.parse(data), at: Date.now(), connection };
    this.#lastId = id;
    this.frames.push(frame);
    if (type === 'contract_update') {
      this.version = frame.data.version;
      this.revision = frame.data.revision_hash;
      frame.data.yaml_bytes = null;
    }
    this.#options.onFrame?.(frame, this);
  }
}
