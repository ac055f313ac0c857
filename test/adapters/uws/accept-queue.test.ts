// Connections that arrive while the event loop is busy, as when a whole fleet comes back at once.
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { freePort } from '../../../bench/suite/free-port.ts';
import { eventually, serve } from './fixtures.ts';

const connections = 1_500;

/** Opens the connections on a thread of its own and notifies when the kernel has completed each handshake. */
const clientCode = `
  const { connect } = require('node:net');
  const { port, connections, shared } = require('node:worker_threads').workerData;
  const connected = new Int32Array(shared);
  for (let i = 0; i < connections; i++)
    connect({ port, host: '127.0.0.1' }, () => {
      Atomics.add(connected, 0, 1);
      Atomics.notify(connected, 0);
    }).on('error', () => {});
  setInterval(() => {}, 1000);
`;

it('are complete before the hub accepts one of them', async () => {
  await using hub = await serve({ port: await freePort() });
  const shared = new SharedArrayBuffer(4);
  const connected = new Int32Array(shared);
  const client = new Worker(clientCode, {
    eval: true,
    workerData: { port: hub.server.port, connections, shared },
  });
  try {
    // Nothing is accepted in between, because this thread does not return to its event loop.
    for (let count = 0; count < connections; count = Atomics.load(connected, 0))
      if (Atomics.wait(connected, 0, count, 20_000) === 'timed-out') break;
    expect(Atomics.load(connected, 0)).toBe(connections);
    await eventually(() => hub.server.connections() === connections);
  } finally {
    await client.terminate();
  }
});
