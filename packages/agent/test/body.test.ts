// Answers that fall silent after their headers, read through a fetch that forgets its signal: nothing of the library
// waits for them for ever.
import { describe, expect, it } from 'vitest';
import { bodyParts } from '../src/body.ts';
import { HubConnectionError } from '../src/failure.ts';
import { HttpConnection } from '../src/http.ts';
import { sseTransport } from '../src/stream/transport.ts';

/** Answers with a few bytes, then nothing; tells when it was let go. */
const silent = (type: string) => {
  const state = { cancelled: 0 };
  const fetch = async (): Promise<Response> =>
    new Response(
      new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from(': \n')),
        cancel: () => {
          state.cancelled += 1;
        },
      }),
      { headers: { 'Content-Type': type } },
    );
  return { fetch: fetch as typeof globalThis.fetch, state };
};

describe('an answer that falls silent', () => {
  it('ends with its stream, and lets go of the connection', async () => {
    const { fetch, state } = silent('text/event-stream');
    const stop = new AbortController();
    const running = sseTransport(fetch)({
      url: 'http://hub/stream',
      headers: {},
      lastEventId: null,
      signal: stop.signal,
      opened() {},
      alive: () => stop.abort(new Error('enough')),
      frame() {},
    });
    await expect(running).rejects.toThrow('enough');
    expect(state.cancelled).toBe(1);
  });

  it('ends with the time of its request', async () => {
    const { fetch, state } = silent('application/json');
    const options = { url: 'http://127.0.0.1:1', apiKey: 'k', timeout: 20, fetch };
    await expect(new HttpConnection(options).request('GET', '/x')).rejects.toThrow(HubConnectionError);
    expect(state.cancelled).toBe(3);
  });

  it('is not begun under a signal that has aborted, and is let go by a reader that leaves', async () => {
    const { fetch, state } = silent('text/plain');
    const body = async () => (await fetch('')).body as ReadableStream<Uint8Array>;
    const parts = bodyParts(await body(), AbortSignal.abort(new Error('over')));
    await expect(parts.next()).rejects.toThrow('over');
    for await (const _ of bodyParts(await body(), new AbortController().signal)) break;
    expect(state.cancelled).toBe(2);
  });
});
