// The live state of this tab: passes frames to the cache, and the state of the connection to a store that the page's
// frame displays.
import { after } from '../lib/browser.ts';
import { whenAnswered } from '../lib/query.ts';
import { createStore } from '../lib/store.ts';
import { type LiveFrame, refreshAll, refreshShown, take } from './cache.ts';
import { LiveConnection, type LiveStatus } from './connection.ts';
import { fleetByEnv, isFleet, takeFleet } from './fleet.ts';
import type { FromWorker, ToWorker } from './worker.ts';

export const liveStatus = createStore<LiveStatus>({ state: 'connecting', since: null, nextTry: null });

const followers = new Set<(frame: LiveFrame) => void>();
/** Calls the follower for each frame, in order. Returns a function that stops it. */
export function followFrames(follower: (frame: LiveFrame) => void): () => void {
  followers.add(follower);
  return () => followers.delete(follower);
}

/** Minimum time between two reloads of an answer, in milliseconds. */
const batchMs = 1_000;

let waiting: LiveFrame[] = [];
let soon = false;

function receive(frame: LiveFrame): void {
  for (const follower of followers) follower(frame);
  if (isFleet(frame)) takeFleet(frame);
  waiting.push(frame);
  if (soon) return;
  soon = true;
  // One pass for each frame of the screen, however many frames arrive.
  after(16, () => {
    const frames = waiting;
    waiting = [];
    soon = false;
    take(frames, batchMs);
  });
}

let stop: () => void = () => undefined;
/** Ends the connection for this tab only. */
let leave: () => void = () => undefined;
let again: () => void = () => undefined;

/**
 * Connects as this user. An earlier connection ends.
 * @param opened called once, if the stream opens after this call, when the page's first requests are answered
 */
export function startLive(userId: string, opened: () => void): void {
  leave();
  fleetByEnv.set({});
  let wasLive = false;
  const status = (next: LiveStatus): void => {
    const before = liveStatus.get();
    // A stream begins with all figures that the person's roles permit, which may be fewer than before.
    if (next.state === 'live') fleetByEnv.set({});
    liveStatus.set(next);
    if (next.state !== 'live') return;
    // A restarted hub remembers no positions, so visible data reloads.
    if (wasLive && before.state === 'stale') refreshAll();
    // No frame announced changes between the first requests and the open stream.
    if (!wasLive) {
      void whenAnswered().then(() => {
        refreshShown();
        opened();
      });
    }
    wasLive = true;
  };
  const frame = (next: { readonly type: string }): void => receive(next as LiveFrame);
  if (typeof SharedWorker === 'undefined') {
    const connection = new LiveConnection(location.origin, { frame, status });
    stop = () => connection.close();
    leave = stop;
    again = () => connection.retry();
    return;
  }
  const worker = new SharedWorker(new URL('./worker.ts', import.meta.url), {
    type: 'module',
    name: `reeve-live-${userId}`,
  });
  const { port } = worker;
  let isFirst = true;
  port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if (data.kind === 'frame') frame(data.frame);
    else {
      // Another tab opened the stream before the first request of this tab.
      if (isFirst && data.status.state === 'live') wasLive = true;
      isFirst = false;
      status(data.status);
    }
  };
  port.start();
  const tell = (message: ToWorker): void => port.postMessage(message);
  leave = () => {
    port.onmessage = null;
    tell({ kind: 'leave' });
  };
  addEventListener('pagehide', leave, { once: true });
  startAgainFromCache(userId, opened);
  stop = () => tell({ kind: 'close' });
  again = () => tell({ kind: 'retry' });
}

/** Connects again when the page comes from the browser's back-forward cache, where it has missed frames. */
function startAgainFromCache(userId: string, opened: () => void): void {
  const back = ({ persisted }: PageTransitionEvent): void => {
    if (!persisted) return;
    removeEventListener('pageshow', back);
    startLive(userId, opened);
    refreshAll();
  };
  addEventListener('pageshow', back);
}

/** Ends the connection in all tabs, at a logout. */
export function stopLive(): void {
  stop();
  stop = () => undefined;
  leave = stop;
  liveStatus.set({ state: 'connecting', since: null, nextTry: null });
}

export const retryLive = (): void => again();
