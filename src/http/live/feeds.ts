// The feeds of a node by audience. Each is kept while a stream holds it, and follows its audience for that time.
import { type Audience, environmentIn, type Frame, isHosted } from '../../shared/frame.ts';
import { Feed } from './feed.ts';
import type { Stream } from './stream.ts';

export interface StreamCount {
  readonly kind: 'agent' | 'dashboard' | 'events';
  readonly transport: 'sse' | 'websocket';
  readonly api: 'console' | 'hosted';
  readonly streams: number;
}

const agentTransports = [
  ['sse', 'console'],
  ['sse', 'hosted'],
  ['websocket', 'console'],
  ['websocket', 'hosted'],
] as const;

export class Feeds {
  readonly #feeds = new Map<Audience, Feed<Stream>>();
  readonly #resync: (audience: Audience) => Frame;

  /** @param resync makes the frame that stands for those that an audience lost */
  constructor(resync: (audience: Audience) => Frame) {
    this.#resync = resync;
  }

  get size(): number {
    return this.#feeds.size;
  }

  /** The feed of an audience, held once more. Every holder must `release` it. */
  hold(audience: Audience): Feed<Stream> {
    let feed = this.#feeds.get(audience);
    if (!feed) {
      feed = new Feed(audience, () => this.#resync(audience));
      this.#feeds.set(audience, feed);
    }
    feed.holders++;
    return feed;
  }

  /** The last one to release a feed stops it. */
  release(feed: Feed<Stream>): void {
    if (--feed.holders > 0) return;
    this.forget(feed);
    feed.stop();
  }

  /** The next one to hold the feed's audience gets another. */
  forget(feed: Feed<Stream>): void {
    if (this.#feeds.get(feed.audience) === feed) this.#feeds.delete(feed.audience);
  }

  get(audience: Audience): Feed<Stream> | undefined {
    return this.#feeds.get(audience);
  }

  /** Feeds that are held now. */
  all(): readonly Feed<Stream>[] {
    return [...this.#feeds.values()];
  }

  *streams(): Iterable<Stream> {
    for (const feed of this.#feeds.values()) yield* feed.streams;
  }

  /** Ends the streams that `reasonOf` gives a reason for. */
  end(reasonOf: (stream: Stream) => Parameters<Stream['end']>[0] | null): void {
    for (const feed of this.all()) {
      for (let i = feed.streams.length - 1; i >= 0; i--) {
        const stream = feed.streams[i];
        const reason = stream ? reasonOf(stream) : null;
        if (stream && reason) stream.end(reason);
      }
    }
  }

  /**
   * Open streams by kind, transport and API. Agents' are listed without a stream too: an alert compares them with
   * earlier ones.
   */
  byKind(): readonly StreamCount[] {
    const counts = new Map<string, { -readonly [K in keyof StreamCount]: StreamCount[K] }>();
    for (const [transport, api] of agentTransports)
      counts.set(`agent ${transport} ${api}`, { kind: 'agent', transport, api, streams: 0 });
    for (const { audience, streams } of this.#feeds.values()) {
      const kind =
        environmentIn(audience) !== null ? 'agent' : audience.startsWith('events:') ? 'events' : 'dashboard';
      const api = isHosted(audience) ? 'hosted' : 'console';
      let sse = 0;
      for (const { codec } of streams) if (codec === 'sse') sse++;
      for (const [transport, number] of [
        ['sse', sse],
        ['websocket', streams.length - sse],
      ] as const) {
        if (number === 0) continue;
        const id = `${kind} ${transport} ${api}`;
        const count = counts.get(id);
        if (count) count.streams += number;
        else counts.set(id, { kind, transport, api, streams: number });
      }
    }
    return [...counts.values()];
  }

  /** Open streams, by whose they are. */
  counts(): { readonly agentStreams: number; readonly dashboardStreams: number } {
    let agentStreams = 0;
    let dashboardStreams = 0;
    for (const feed of this.#feeds.values()) {
      if (environmentIn(feed.audience) !== null) agentStreams += feed.streams.length;
      else dashboardStreams += feed.streams.length;
    }
    return { agentStreams, dashboardStreams };
  }
}
