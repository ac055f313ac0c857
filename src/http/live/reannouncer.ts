// Announces the open streams of an audience again, in slices. An environment actor was activated and asks for its
// roster, or may have asked while this node received nothing.
import { type Clock, pause } from '../../shared/ports/clock.ts';
import type { Log } from '../../shared/ports/log.ts';
import type { Feed } from './feed.ts';
import type { Stream } from './stream.ts';

type StreamFeed = Feed<Stream>;

/**
 * Under way at once, per audience and node: each costs the owner a write and a read of the store, which others need as
 * well.
 */
const sliceSize = 32;
const attempts = 12;
const firstWaitMs = 250;
/** All attempts together last about 45 s: longer than it takes until a store or a bus that came back has caught up. */
const longestWaitMs = 5000;

/** Audiences at a time, when all are announced again. */
const feedsAtOnce = 4;

export interface Reannouncer {
  /**
   * Announces every stream of the feed that is open; those that fail are tried again, 12 times in all. A request in
   * between repeats it once.
   */
  all(feed: StreamFeed): Promise<void>;
  /** The same for many feeds: a few at a time. */
  each(feeds: readonly StreamFeed[]): Promise<void>;
}

export function createReannouncer(clock: Clock, log: Log): Reannouncer {
  /** The feeds that are being announced; true: once more afterwards. */
  const running = new Map<StreamFeed, boolean>();

  async function all(feed: StreamFeed): Promise<void> {
    if (running.has(feed)) {
      running.set(feed, true);
      return;
    }
    try {
      do {
        running.set(feed, false);
        await announceOnce(feed, clock, log);
      } while (running.get(feed));
    } finally {
      running.delete(feed);
    }
  }

  return {
    all,
    async each(feeds) {
      const left = feeds.values();
      const work = async (): Promise<void> => {
        for (const feed of left) await all(feed);
      };
      await Promise.all(Array.from({ length: feedsAtOnce }, work));
    },
  };
}

async function announceOnce(feed: StreamFeed, clock: Clock, log: Log): Promise<void> {
  let left: readonly Stream[] = [...feed.streams];
  for (let attempt = 1; left.length > 0; attempt++) {
    const failed: Stream[] = [];
    for (let i = 0; i < left.length; i += sliceSize) {
      const slice = left.slice(i, i + sliceSize).filter((stream) => !stream.ended);
      await Promise.all(
        slice.map((stream) =>
          stream.admitted.announce(stream.bundleName).catch(() => {
            failed.push(stream);
          }),
        ),
      );
    }
    left = failed;
    if (left.length === 0) return;
    if (attempt === attempts) {
      // An agent that the roster misses would look offline: it reconnects and is announced then.
      for (const stream of left) stream.end('failed');
      log.warn({ audience: feed.audience, streams: left.length }, 'cannot announce streams; they are ended');
      return;
    }
    await pause(clock, Math.min(firstWaitMs * 2 ** attempt, longestWaitMs));
  }
}
