// The state of the connection: Live, Reconnecting, or Stale with its time. A bar shows the time of the next attempt.
import type { JSX } from 'react';
import { now } from '../lib/browser.ts';
import { usePrefs } from '../lib/prefs.ts';
import { useStore } from '../lib/store.ts';
import { duration, minuteTime } from '../lib/text.ts';
import { useNow } from '../lib/ticker.ts';
import { liveStatus, retryLive } from '../live/live.ts';
import { Button } from '../ui/parts.tsx';

export function LiveState(): JSX.Element {
  const { state, since } = useStore(liveStatus);
  const { utc } = usePrefs();
  const word =
    state === 'live'
      ? 'Live'
      : state === 'stale' || state === 'signed_out'
        ? `Stale since ${minuteTime(since ?? now(), utc)}`
        : state === 'reconnecting'
          ? 'Reconnecting'
          : 'Connecting';
  return (
    <div role="status" aria-label={word} className={`live live-${state}`}>
      <span className="live-dot" aria-hidden="true" />
      {word}
    </div>
  );
}

export function ConnectionBar(): JSX.Element | null {
  const { state, since, nextTry } = useStore(liveStatus);
  const { utc } = usePrefs();
  useNow(1_000);
  if (state !== 'reconnecting' && state !== 'stale') return null;
  const wait = nextTry === null ? null : Math.max(0, nextTry - now());
  return (
    <aside className="connection-bar row apart" aria-label="Connection">
      <p>
        The hub has not responded since {minuteTime(since ?? now(), utc)}. Data shown may be out of date.{' '}
        {wait === null || wait < 1_000 ? 'Reconnecting now.' : `Next attempt in ${duration(wait)}.`}
      </p>
      <Button onClick={retryLive}>Reconnect now</Button>
    </aside>
  );
}
