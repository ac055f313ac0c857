// Bodies of answers end with their signal, also long after fetch has returned.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { sseTransport } from '../../src/client/stream/transport.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

it('a silent stream ends when told to, although its request was collected as garbage', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(': hello\n\n');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const closing = new AbortController();
  const { promise: alive, resolve: sayAlive } = deferred();
  const ended = sseTransport(fetch)({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/stream`,
    headers: {},
    lastEventId: null,
    signal: AbortSignal.any([closing.signal]),
    opened: () => {},
    alive: sayAlive,
    frame: () => {},
  });
  await alive;
  for (let turn = 0; turn < 4; turn++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
  closing.abort(new Error('closed'));
  await expect(ended).rejects.toThrow('closed');
  server.closeAllConnections();
  server.close();
});

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
