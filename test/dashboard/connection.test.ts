// The word for a lost connection: it follows the time of the loss, however long a hub takes to answer.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LiveConnection, type LiveStatus } from '../../src/dashboard/live/connection.ts';
import { ManualClock, settled } from '../clock.ts';

/** A WebSocket that the test opens and closes. */
class TestSocket {
  static all: TestSocket[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((event: { readonly data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  constructor() {
    TestSocket.all.push(this);
  }
  close(): void {}
}

type Answer = (status: number) => void;

let clock: ManualClock;
let statuses: LiveStatus[];
let answers: Answer[];
let connection: LiveConnection;

const newest = (): TestSocket => TestSocket.all.at(-1) as TestSocket;
const states = (): readonly string[] => statuses.map(({ state }) => state);

/** A connection that is open for 10 s. The check of the session waits for `answers`. */
beforeEach(() => {
  TestSocket.all = [];
  clock = new ManualClock();
  statuses = [];
  answers = [];
  vi.stubGlobal('WebSocket', TestSocket);
  vi.stubGlobal(
    'fetch',
    (_: string, { signal }: { readonly signal: AbortSignal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        answers.push((status) => resolve({ status }));
      }),
  );
  const listener = { frame: () => {}, status: (status: LiveStatus) => void statuses.push(status) };
  connection = new LiveConnection('http://hub', listener, clock);
  newest().onopen?.();
  clock.advance(10_000);
});
afterEach(() => {
  connection.close();
  vi.unstubAllGlobals();
});

describe('a lost connection', () => {
  it('reads Reconnecting after 1 s and Stale after 8 s while the check of the session has no answer', async () => {
    const lostAt = clock.now();
    newest().onclose?.();
    await clock.advanceAsync(999);
    expect(states()).toEqual(['live']);
    await clock.advanceAsync(1);
    expect(statuses.at(-1)).toEqual({ state: 'reconnecting', since: lostAt, nextTry: null });
    await clock.advanceAsync(6_999, 500);
    expect(connection.status.state).toBe('reconnecting');
    await clock.advanceAsync(1);
    expect(connection.status).toMatchObject({ state: 'stale', since: lostAt });
  });

  it('reads the same while a new connection does not open, and Live once it does', async () => {
    const lostAt = clock.now();
    newest().onclose?.();
    answers[0]?.(200);
    await settled();
    expect(TestSocket.all).toHaveLength(2);
    await clock.advanceAsync(1_000);
    expect(statuses.at(-1)).toEqual({ state: 'reconnecting', since: lostAt, nextTry: null });
    await clock.advanceAsync(6_500);
    newest().onopen?.();
    expect(connection.status).toEqual({ state: 'live', since: null, nextTry: null });
    await clock.advanceAsync(20_000);
    expect(states()).toEqual(['live', 'reconnecting', 'live']);
  });

  it('keeps the word Live through a change of roles, which ends the connection for less than 1 s', async () => {
    newest().onclose?.();
    await clock.advanceAsync(400);
    answers[0]?.(200);
    await settled();
    await clock.advanceAsync(400);
    newest().onopen?.();
    await clock.advanceAsync(20_000);
    expect(states()).toEqual(['live', 'live']);
  });

  it('stays signed out after the end of the session', async () => {
    newest().onclose?.();
    await clock.advanceAsync(500);
    answers[0]?.(401);
    await settled();
    await clock.advanceAsync(20_000);
    expect(states()).toEqual(['live', 'signed_out']);
  });
});
