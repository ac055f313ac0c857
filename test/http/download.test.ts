// A download: pieces are asked for when the connection has taken those before; it ends, stalls or fails once.
import { expect, it } from 'vitest';
import { Streamed } from '../../src/http/contract/call.ts';
import { createDownload } from '../../src/http/download.ts';
import type { Sink } from '../../src/http/live/session.ts';
import { HubError } from '../../src/shared/error.ts';
import { ManualClock } from '../clock.ts';
import { silentLog } from '../log.ts';
import { asKey, edge, raw } from './fixtures.ts';

/** @param takes how many pieces the connection takes before it is full */
function download(
  source: AsyncIterator<string, unknown, undefined>,
  takes: number,
  keepalive: string | null = null,
  mayContinue?: () => Promise<boolean>,
) {
  const clock = new ManualClock();
  const seen: string[] = [];
  let ended = 0;
  let room = takes;
  const session = createDownload(
    { pieces: source, keepalive, ended: () => ended++, ...(mayContinue ? { mayContinue } : {}) },
    { clock, log: silentLog },
  );
  const sink: Sink = {
    write(piece) {
      seen.push(String(piece));
      return --room > 0;
    },
    end: () => seen.push('end'),
    cut: () => seen.push('cut'),
  };
  return {
    clock,
    session,
    seen,
    sink,
    ended: () => ended,
    drain(more: number) {
      room = more;
      session.writable();
    },
  };
}

async function* letters(count: number) {
  for (let i = 0; i < count; i++) yield String.fromCharCode(97 + i);
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('goes on when the connection has drained, then ends', async () => {
  const d = download(letters(5), 2);
  d.session.attach(d.sink);
  await settled();
  expect(d.seen).toEqual(['a', 'b']);
  d.drain(1);
  await settled();
  expect(d.seen).toEqual(['a', 'b', 'c']);
  d.clock.advance(29_000);
  d.drain(9);
  await settled();
  expect(d.seen).toEqual(['a', 'b', 'c', 'd', 'e', 'end']);
  expect(d.ended()).toBe(1);
  d.clock.advance(60_000);
  d.session.gone();
  expect(d.ended()).toBe(1);
});

it('of a client that takes nothing for 30 s is cut off', async () => {
  const d = download(letters(5), 1);
  d.session.attach(d.sink);
  await settled();
  d.clock.advance(30_000);
  expect(d.seen).toEqual(['a', 'cut']);
  expect(d.ended()).toBe(1);
  d.drain(9);
  await settled();
  expect(d.seen).toEqual(['a', 'cut']);
});

it('whose source fails is cut off, so that nobody takes it for whole', async () => {
  async function* failing() {
    yield 'a';
    throw new Error('the store is away');
  }
  const d = download(failing(), 9);
  d.session.attach(d.sink);
  await settled();
  expect(d.seen).toEqual(['a', 'cut']);
  expect(d.ended()).toBe(1);
});

it('of a client that left reads nothing more, attached or not', async () => {
  let read = 0;
  async function* counting() {
    for (;;) yield String(read++);
  }
  const d = download(counting(), 1);
  d.session.gone();
  d.session.attach(d.sink);
  await settled();
  expect([read, d.ended(), d.seen]).toEqual([0, 1, []]);
});

/** Pieces that a test hands over. */
function handed() {
  const waiting: ((value: string) => void)[] = [];
  const source = {
    next: () =>
      new Promise<IteratorResult<string, undefined>>((resolve) =>
        waiting.push((value) => resolve({ value, done: false })),
      ),
  };
  const hand = async (piece: string): Promise<void> => {
    waiting.shift()?.(piece);
    await settled();
  };
  return { source, hand };
}

it('is cut within a second after its caller lost the right to read, before its next piece', async () => {
  let questions = 0;
  let isAllowed = true;
  const { source, hand } = handed();
  const d = download(source, 9, null, async () => {
    questions++;
    return isAllowed;
  });
  d.session.attach(d.sink);
  await hand('a');
  isAllowed = false;
  d.clock.advance(999);
  await hand('b');
  expect([d.seen, questions]).toEqual([['a', 'b'], 0]);
  d.clock.advance(1);
  await hand('c');
  expect([d.seen, questions, d.ended()]).toEqual([['a', 'b', 'cut'], 1, 1]);
});

it('is asked about once a second, and goes on while the store has no answer', async () => {
  let questions = 0;
  const answers = [true, null, false];
  const { source, hand } = handed();
  const d = download(source, 99, null, async () => {
    const answer = answers[questions++];
    if (answer === null) throw new HubError('unavailable', 'the store is away');
    return answer ?? true;
  });
  d.session.attach(d.sink);
  for (const piece of 'abcdef') {
    await hand(piece);
    d.clock.advance(500);
  }
  expect([d.seen.join(''), questions]).toEqual(['abcdef', 2]);
  await hand('g');
  expect([d.seen.join(''), questions]).toEqual(['abcdefcut', 3]);
});

it('with keepalives sends one every 15 s for which the source has nothing, and none after its end', async () => {
  const waiting: ((value: string | null) => void)[] = [];
  const next = () => new Promise<string | null>((resolve) => waiting.push(resolve));
  async function* slow() {
    for (let piece = await next(); piece !== null; piece = await next()) yield piece;
  }
  const d = download(slow(), 9, ': keepalive');
  d.session.attach(d.sink);
  await settled();
  d.clock.advance(14_999);
  expect(d.seen).toEqual([]);
  d.clock.advance(15_001);
  expect(d.seen).toEqual([': keepalive', ': keepalive']);
  waiting.shift()?.('a');
  await settled();
  d.clock.advance(14_999);
  expect(d.seen).toEqual([': keepalive', ': keepalive', 'a']);
  waiting.shift()?.(null);
  await settled();
  d.clock.advance(60_000);
  expect(d.seen.slice(2)).toEqual(['a', 'end']);
});

it('with keepalives sends no second one into a full connection, and cuts it off when it stays full', async () => {
  const d = download({ next: () => new Promise(() => {}) }, 1, ': keepalive');
  d.session.attach(d.sink);
  await settled();
  d.clock.advance(44_999);
  expect(d.seen).toEqual([': keepalive']);
  d.clock.advance(1);
  expect(d.seen).toEqual([': keepalive', 'cut']);
  expect(d.ended()).toBe(1);
});

it('of a route sends its keepalives', async () => {
  const clock = new ManualClock();
  const pieces = { next: () => new Promise<never>(() => {}) };
  const download = async () => new Streamed(pieces, { headers: {}, keepalive: ': keepalive\n\n' });
  const { pipeline } = edge({ clock, serve: { download } });
  const response = await pipeline.handle(raw('GET', '/api/v1/download', asKey));
  const sent: string[] = [];
  response.live?.attach({ write: (piece) => sent.push(String(piece)) > 0, end() {}, cut() {} });
  clock.advance(14_999);
  expect(sent).toEqual([]);
  clock.advance(1);
  expect(sent).toEqual([': keepalive\n\n']);
  response.live?.gone();
});

it('of a route is cut once its key is revoked', async () => {
  const clock = new ManualClock();
  const { source, hand } = handed();
  const { pipeline, keys, key } = edge({
    clock,
    serve: { download: async () => new Streamed(source, { headers: {} }) },
  });
  const response = await pipeline.handle(raw('GET', '/api/v1/download', asKey));
  const seen: string[] = [];
  const sink = {
    write: (piece: unknown) => seen.push(String(piece)) > 0,
    end() {},
    cut: () => seen.push('cut'),
  };
  response.live?.attach(sink);
  clock.advance(1_000);
  await hand('a');
  keys.set(key.hash, { ...key, revokedAt: clock.now() });
  clock.advance(1_000);
  await hand('b');
  expect(seen).toEqual(['a', 'cut']);
});
