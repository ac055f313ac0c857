// A provider of language models for tests: a local server that speaks the two real streaming formats, and fails as
// providers do.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PlayedCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/** One answer. */
export interface Played {
  readonly status?: number;
  readonly text?: readonly string[];
  readonly calls?: readonly PlayedCall[];
  readonly usage?: { readonly input: number; readonly output: number; readonly cost?: number };
  /**
   * After the text: an error inside the stream, the connection cut, the stream ended without its end, or nothing more.
   */
  readonly then?: 'error' | 'rate_limited' | 'cut' | 'short' | 'silence';
  /** The reason for the end of the answer, in the words of the format that is spoken. */
  readonly ending?: string;
  /** The refusal of a chat completion. */
  readonly refusal?: string;
  /** Instead of all that: a body as it is. */
  readonly raw?: { readonly type: string; readonly body: string };
}

export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into what was sent.
  readonly body: any;
  /** Resolves when the client closed the connection, or all was sent. */
  readonly closed: Promise<void>;
}

export interface FakeProvider {
  readonly url: string;
  readonly requests: SeenRequest[];
  /** Answers of the next requests; the last one goes on. */
  play(...answers: readonly Played[]): void;
  close(): Promise<void>;
}

export async function startProvider(): Promise<FakeProvider> {
  let answers: readonly Played[] = [{}];
  const requests: SeenRequest[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const closed = new Promise<void>((resolve) => response.once('close', resolve));
    const path = request.url ?? '';
    requests.push({
      path,
      headers: request.headers,
      body: JSON.parse(Buffer.concat(pieces).toString()),
      closed,
    });
    const played = answers[Math.min(requests.length, answers.length) - 1] ?? {};
    if (played.raw) {
      response.writeHead(played.status ?? 200, { 'Content-Type': played.raw.type }).end(played.raw.body);
      return;
    }
    if (played.status !== undefined && played.status !== 200) {
      const error = { error: { type: 'error', message: 'secret words of the provider' } };
      response.writeHead(played.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(error));
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    const body = path.endsWith('/messages') ? messages(played) : completions(played);
    // In small pieces, so that characters and lines are cut in their middle.
    const bytes = Buffer.from(body);
    for (let i = 0; i < bytes.length; i += 7) response.write(bytes.subarray(i, i + 7));
    if (played.then === 'silence') return;
    if (played.then === 'cut') response.write('', () => response.destroy());
    else response.end();
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    play(...next) {
      answers = next;
      requests.length = 0;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The messages format. */
function messages({ text = [], calls = [], usage = { input: 1, output: 1 }, then, ending }: Played): string {
  const events: object[] = [
    {
      type: 'message_start',
      message: { id: 'm', role: 'assistant', usage: { input_tokens: usage.input, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    ...text.map((piece) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: piece },
    })),
  ];
  if (then === 'error')
    events.push({ type: 'error', error: { type: 'overloaded_error', message: 'secret' } });
  if (then === 'rate_limited')
    events.push({ type: 'error', error: { type: 'rate_limit_error', message: 'secret' } });
  if (then === undefined) {
    events.push({ type: 'content_block_stop', index: 0 });
    calls.forEach(({ id, name, input }, i) => {
      const index = i + 1;
      events.push({
        type: 'content_block_start',
        index,
        content_block: { type: 'tool_use', id, name, input: {} },
      });
      for (const partial_json of ['', input.slice(0, 5), input.slice(5)]) {
        events.push({
          type: 'content_block_delta',
          index,
          delta: { type: 'input_json_delta', partial_json },
        });
      }
      events.push({ type: 'content_block_stop', index });
    });
    const stop_reason = ending ?? (calls.length > 0 ? 'tool_use' : 'end_turn');
    events.push({ type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: usage.output } });
    events.push({ type: 'message_stop' });
  }
  return events
    .map((event) => `event: ${(event as { type: string }).type}\r\ndata: ${JSON.stringify(event)}\r\n\r\n`)
    .join('');
}

/** The chat completions format. */
function completions(played: Played): string {
  const { text = [], calls = [], usage = { input: 1, output: 1 }, then, ending, refusal } = played;
  const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
    ...more,
  });
  const chunks: object[] = [
    chunk({ role: 'assistant', content: '' }),
    ...text.map((content) => chunk({ content })),
  ];
  if (then === 'error') chunks.push({ error: { code: 502, message: 'secret' } });
  if (then === 'rate_limited') chunks.push({ error: { code: 429, message: 'secret' } });
  const isWhole = then === undefined;
  if (isWhole) {
    calls.forEach(({ id, name, input }, index) => {
      chunks.push(
        chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      );
      for (const part of [input.slice(0, 5), input.slice(5)]) {
        chunks.push(chunk({ tool_calls: [{ index, function: { arguments: part } }] }));
      }
    });
    if (refusal !== undefined) chunks.push(chunk({ refusal }));
    chunks.push(chunk({}, ending ?? (calls.length > 0 ? 'tool_calls' : 'stop')));
    const { input, output, cost } = usage;
    chunks.push({
      id: 'c',
      choices: [],
      usage: { prompt_tokens: input, completion_tokens: output, ...(cost === undefined ? {} : { cost }) },
    });
  }
  const lines = chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`);
  return `: PROCESSING\n\n${lines.join('')}${isWhole ? 'data: [DONE]\n\n' : ''}`;
}
