// Announcing the open streams of an audience again, in slices, when an environment actor was activated and asks for its roster,
// or may have asked while this node did not hear.
import { type Clock, pause } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Feed } from './feed.ts';
import type { Stream } from './stream.ts';

type StreamFeed = Feed<Stream>;

/** Under way at once, per audience and node: each costs the owner a write and a read of the store, which others need as well. */
const sliceSize = 32;
const attempts = 12;
const firstWaitMs = 250;
/** All attempts together last about 45 s: longer than it takes until a store or a bus that came back has caught up. */
const longestWaitMs = 5000;

/** Audiences at a time, when all are announced again. */
const feedsAtOnce = 4;

const running = new WeakMap<StreamFeed, { again: boolean }>();

/** Announces every stream of the feed that is open; those that fail are tried again, 12 times in all. A request meanwhile repeats it once. */
export async function announceAll(feed: StreamFeed, clock: Clock, log: Log): Promise<void> {
  const already = running.get(feed);
  if (already) {
    already.again = true;
    return;
  }
  const run = { again: true };
  running.set(feed, run);
  try {
    while (run.again) {
      run.again = false;
      await announceOnce(feed, clock, log);
    }
  } finally {
    running.delete(feed);
  }
}

/** As `announceAll`, for many feeds: a few at a time. */
export async function announceEach(feeds: readonly StreamFeed[], clock: Clock, log: Log): Promise<void> {
  const left = feeds.values();
  const work = async (): Promise<void> => {
    for (const feed of left) await announceAll(feed, clock, log);
  };
  await Promise.all(Array.from({ length: feedsAtOnce }, work));
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
      log.warn(
        { audience: feed.audience, streams: left.length },
        'streams could not be announced and were ended',
      );
      return;
    }
    await pause(clock, Math.min(firstWaitMs * 2 ** attempt, longestWaitMs));
  }
}
