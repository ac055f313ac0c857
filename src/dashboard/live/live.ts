// The live state of this tab: what the stream says goes into the cache, and how it is into a store that the frame
// shows.
import { after } from '../lib/browser.ts';
import { whenAnswered } from '../lib/query.ts';
import { createStore } from '../lib/store.ts';
import { type LiveFrame, refreshAll, refreshShown, take } from './cache.ts';
import { LiveConnection, type LiveStatus } from './connection.ts';
import { fleetByEnv, isFleet, takeFleet } from './fleet.ts';
import type { FromWorker, ToWorker } from './worker.ts';

export const liveStatus = createStore<LiveStatus>({ state: 'connecting', since: null, nextTry: null });

const followers = new Set<(frame: LiveFrame) => void>();
/** Calls back for each frame, in order; returns how to stop. */
export function followFrames(follower: (frame: LiveFrame) => void): () => void {
  followers.add(follower);
  return () => followers.delete(follower);
}

/** How often what a stream of batches makes old is asked for again. */
const batchMs = 1_000;

let waiting: LiveFrame[] = [];
let soon = false;

function heard(frame: LiveFrame): void {
  for (const follower of followers) follower(frame);
  if (isFleet(frame)) takeFleet(frame);
  waiting.push(frame);
  if (soon) return;
  soon = true;
  // One pass a frame of the screen, however many come.
  after(16, () => {
    const frames = waiting;
    waiting = [];
    soon = false;
    take(frames, batchMs);
  });
}

let stop: () => void = () => undefined;
/** Ends it for this tab alone. */
let leave: () => void = () => undefined;
let again: () => void = () => undefined;

/** Begins to listen as this user. The one before, if any, ends. */
export function startLive(userId: string): void {
  leave();
  fleetByEnv.set({});
  let wasLive = false;
  const status = (next: LiveStatus): void => {
    const before = liveStatus.get();
    liveStatus.set(next);
    // A hub that was started again remembers no position: what is shown is read once more.
    if (next.state === 'live' && wasLive && before.state === 'stale') refreshAll();
    // What was asked for before the stream was open: no frame told of a change in between.
    if (next.state === 'live' && !wasLive) void whenAnswered().then(refreshShown);
    if (next.state === 'live') wasLive = true;
  };
  const frame = (next: { readonly type: string }): void => heard(next as LiveFrame);
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
      // Another tab's stream, open since before this one asked for anything.
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
  // A page that the browser kept whole and shows again was told of nothing meanwhile.
  const back = ({ persisted }: PageTransitionEvent): void => {
    if (!persisted) return;
    removeEventListener('pageshow', back);
    startLive(userId);
    refreshAll();
  };
  addEventListener('pageshow', back);
  stop = () => tell({ kind: 'close' });
  again = () => tell({ kind: 'retry' });
}

/** At logout: the connection ends in every tab. */
export function stopLive(): void {
  stop();
  stop = () => undefined;
  leave = stop;
  liveStatus.set({ state: 'connecting', since: null, nextTry: null });
}

export const retryLive = (): void => again();
