// Actions that the hub does not answer: after 10 s the console says so, and after 60 s it gives the answer up, as
// proxies do (docs/cluster.md). In both cases the action may have been done.
import { after } from './browser.ts';
import { createStore } from './store.ts';

export const unansweredMs = 10_000;
export const maxActionMs = 60_000;

/** The number of actions that are unanswered for 10 s or more. */
export const unansweredActions = createStore(0);

/** Routes that change nothing although they are no GET, and routes whose page itself says that it waits. */
const quiet: ReadonlySet<string> = new Set([
  'assistContracts',
  'bundleImpact',
  'decideApproval',
  'evaluateBundle',
  'exchangeLogin',
  'generateDescription',
  'hostedReplayVersions',
  'previewComposition',
  'readSessions',
  'replayBundle',
  'replayComposition',
  'testAiSettings',
]);

/** Routes that change something, by method: their silence leaves the outcome unknown. */
export const isAction = (operation: string, method: string): boolean =>
  method !== 'GET' && (operation === 'decideApproval' || !quiet.has(operation));

/**
 * Waits for the answer to an action, counted in `unansweredActions` from 10 s on.
 * @param send gets a signal that gives the answer up after 60 s
 */
export async function awaitAnswer<R>(
  operation: string,
  send: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const stop = new AbortController();
  let isCounted = false;
  const late = after(unansweredMs, () => {
    if (quiet.has(operation)) return;
    isCounted = true;
    unansweredActions.set((count) => count + 1);
  });
  const limit = after(maxActionMs, () => stop.abort());
  try {
    return await send(stop.signal);
  } finally {
    late.cancel();
    limit.cancel();
    if (isCounted) unansweredActions.set((count) => count - 1);
  }
}
