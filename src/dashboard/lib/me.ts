// The signed-in person, loaded once and cached. If the session ends while a page is open, a sign-in form opens over it.
import { useQuery } from '@tanstack/react-query';
import { roleIn } from '../../shared/env-roles.ts';
import { liveStatus, startLive, stopLive } from '../live/live.ts';
import { type ApiError, call, type Reply, whenSignedOut } from './api.ts';
import { forgetDrafts } from './drafts.ts';
import { loadPrefs } from './prefs.ts';
import { keyOf, queries } from './query.ts';
import { type Env, envs, useEnv } from './search.ts';
import { createStore } from './store.ts';

export type Me = Reply<'me'>;

/** True while the sign-in form is over the page. */
export const signedOut = createStore(false);
whenSignedOut(() => {
  if (currentUser !== null) signedOut.set(true);
});

// The stream reports an ended session before any request fails. Another tab can sign in for all tabs.
let wasLive = false;
liveStatus.follow(() => {
  const { state } = liveStatus.get();
  // The hub ends streams when roles change, and takes them again with the new ones. Often no other state is between.
  if (state === 'live' && wasLive) void checkRoles();
  wasLive ||= state === 'live';
  if (state === 'signed_out' && currentUser !== null && !isLeaving) signedOut.set(true);
  if (state !== 'live' || !signedOut.get()) return;
  signedOut.set(false);
  void queries.invalidateQueries();
});

let currentUser: Me | null = null;
let isLeaving = false;

async function checkRoles(): Promise<void> {
  const before = currentUser;
  if (before === null || signedOut.get()) return;
  const me = await queries.fetchQuery({ ...options, staleTime: 0 }).catch(() => null);
  if (me && JSON.stringify(me.roles) !== JSON.stringify(before.roles)) void queries.invalidateQueries();
}

function connect(userId: string): void {
  wasLive = false;
  // No ended stream announces a change of roles between the answer and the first open stream.
  startLive(userId, () => void checkRoles());
}

/** The tabs of a browser share a session and announce sign-ins to each other. Null: a logout. */
const tabs = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('reeve-session');
tabs?.addEventListener('message', ({ data: userId }: MessageEvent<string | null>) => {
  // Another person signed in: the content of this tab belongs to the previous one.
  if (currentUser !== null && currentUser.user_id !== userId) location.reload();
});

async function ask(): Promise<Me> {
  const me = await call('me');
  if (currentUser?.user_id !== me.user_id) {
    // Another person: nothing from the previous one may stay on the screen.
    if (currentUser !== null) location.reload();
    tabs?.postMessage(me.user_id);
    loadPrefs(me.user_id);
    connect(me.user_id);
  } else if (signedOut.get()) connect(me.user_id);
  currentUser = me;
  signedOut.set(false);
  return me;
}

const options = {
  queryKey: keyOf('me'),
  queryFn: ask,
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
} as const;

/** Loads the person before the first paint. */
export function askWho(): void {
  void queries.prefetchQuery(options);
  void queries.prefetchQuery({ queryKey: keyOf('health'), queryFn: () => call('health') });
}

export const useMe = () => useQuery<Me, ApiError>(options);

/** E-mail of the signed-in person, for code outside of components; null before the sign-in. */
export const signedInEmail = (): string | null => currentUser?.email ?? null;

/** The signed-in person, for components behind the sign-in. */
export function useSignedIn(): Me {
  const { data } = useMe();
  if (!data) throw new Error('No user is signed in. This page requires a session. Sign in to continue.');
  return data;
}

/** The environment of the top bar. With all of them: production, or else the first one with a role of the person. */
export function useOneEnv(): Env {
  const env = useEnv();
  const { roles } = useSignedIn();
  return env ?? envs.find((one) => roleIn(roles, one) !== null) ?? 'production';
}

/** The environment of the top bar. With all of them: those with a role of the person. */
export function useEnvs(): readonly Env[] {
  const env = useEnv();
  const { roles } = useSignedIn();
  return env ? [env] : envs.filter((one) => roleIn(roles, one) !== null);
}

/** @throws ApiError */
export async function signIn(email: string, password: string): Promise<void> {
  await call('login', { body: { email, password } });
  const wasOut = signedOut.get();
  await queries.fetchQuery({ ...options, staleTime: 0 });
  if (wasOut) void queries.invalidateQueries();
}

/** @throws ApiError if the link was used before, has expired, or belongs to no user */
export async function signInByLink(token: string): Promise<void> {
  await call('loginByLink', { body: { token } });
  await takeLogin();
}

/** @throws ApiError if the invitation was used before, was replaced, or has expired */
export async function acceptInvite(token: string, password: string): Promise<void> {
  await call('loginByInvite', { body: { token, password } });
  await takeLogin();
}

/** After a sign-in in the place of whoever was signed in. */
async function takeLogin(): Promise<void> {
  if (currentUser !== null) {
    // No data of the previous person may stay.
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
  currentUser = null;
  tabs?.postMessage(null);
  location.assign('/dashboard/');
}
