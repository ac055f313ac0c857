// Who is here: asked once, kept in the cache. A session that ends while a page is open asks for the password over the
// page.
import { useQuery } from '@tanstack/react-query';
import { liveStatus, startLive, stopLive } from '../live/live.ts';
import { type ApiError, call, type Reply, whenSignedOut } from './api.ts';
import { forgetDrafts } from './drafts.ts';
import { loadPrefs } from './prefs.ts';
import { keyOf, queries } from './query.ts';
import { createStore } from './store.ts';

export type Me = Reply<'me'>;

/** True while the page waits for the password again. */
export const signedOut = createStore(false);
whenSignedOut(() => {
  if (known !== null) signedOut.set(true);
});

// The stream hears of the end of a session before anybody presses anything, and another tab may sign in again for all.
liveStatus.follow(() => {
  const { state } = liveStatus.get();
  if (state === 'signed_out' && known !== null && !isLeaving) signedOut.set(true);
  if (state !== 'live' || !signedOut.get()) return;
  signedOut.set(false);
  void queries.invalidateQueries();
});

let known: Me | null = null;
let isLeaving = false;

/** Tabs of one browser share one session: they tell each other who signed in, and null for a logout. */
const tabs = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('reeve-session');
tabs?.addEventListener('message', ({ data: userId }: MessageEvent<string | null>) => {
  // What this tab shows is somebody else's now.
  if (known !== null && known.user_id !== userId) location.reload();
});

async function ask(): Promise<Me> {
  const me = await call('me');
  if (known?.user_id !== me.user_id) {
    // Somebody else: nothing of the one before may stay on the screen.
    if (known !== null) location.reload();
    known = me;
    tabs?.postMessage(me.user_id);
    loadPrefs(me.user_id);
    startLive(me.user_id);
  } else if (signedOut.get()) startLive(me.user_id);
  signedOut.set(false);
  return me;
}

const options = {
  queryKey: keyOf('me'),
  queryFn: ask,
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
} as const;

/** Asks ahead of the first paint. */
export function askWho(): void {
  void queries.prefetchQuery(options);
  void queries.prefetchQuery({ queryKey: keyOf('health'), queryFn: () => call('health') });
}

export const useMe = () => useQuery<Me, ApiError>(options);

/** The e-mail of who is signed in, for what is no component; null before. */
export const signedInEmail = (): string | null => known?.email ?? null;

/** For what stands behind the sign-in. */
export function useSignedIn(): Me {
  const { data } = useMe();
  if (!data) throw new Error('No user is signed in. This page requires a session. Sign in to continue.');
  return data;
}

/** @throws ApiError */
export async function signIn(email: string, password: string): Promise<void> {
  await call('login', { body: { email, password } });
  const wasOut = signedOut.get();
  await queries.fetchQuery({ ...options, staleTime: 0 });
  if (wasOut) void queries.invalidateQueries();
}

/** @throws ApiError when the link was used, is too old, or names nobody */
export async function signInByLink(token: string): Promise<void> {
  await call('loginByLink', { body: { token } });
  if (known !== null) {
    // Nothing of who was here before may stay.
    stopLive();
    location.replace('/dashboard/');
    return;
  }
  await queries.fetchQuery({ ...options, staleTime: 0 });
}

/** @throws ApiError */
export async function signOut(): Promise<void> {
  isLeaving = true;
  await call('logout').finally(() => {
    isLeaving = false;
  });
  forgetDrafts();
  stopLive();
  known = null;
  tabs?.postMessage(null);
  location.assign('/dashboard/');
}
