// Actions without an answer from the hub. After 10 s the console displays a notice, and after 60 s it stops waiting, as
// proxies do (docs/cluster.md). In both cases the hub may have performed the action.
import { after } from './browser.ts';
import { createStore } from './store.ts';

export const unansweredMs = 10_000;
export const maxActionMs = 60_000;

/** Number of actions without an answer for 10 s or more. */
export const unansweredActions = createStore(0);

/** Routes that change nothing although they are no GET, and routes whose page displays its own notice. */
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

/** Methods of routes with changes. Without an answer, their outcome is unknown. */
export const isAction = (operation: string, method: string): boolean =>
  method !== 'GET' && (operation === 'decideApproval' || !quiet.has(operation));

/**
 * Waits for the answer to an action. After 10 s, `unansweredActions` counts the action.
 * @param send receives a signal that aborts after 60 s
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
