// A TCP forwarder: an address that may move from one server to another, or hold back what a server answers.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Forwarder {
  readonly port: number;
  /** Where new connections lead; open ones stay where they are. */
  target: number;
  /** Called with each piece that clients send; what it returns is awaited before the server's next piece goes back. */
  delay: ((sent: Buffer) => Promise<void> | null) | null;
  close(): void;
}

export async function startForwarder(target: number): Promise<Forwarder> {
  const sockets = new Set<Socket>();
  const forwarder: { target: number; delay: Forwarder['delay'] } = { target, delay: null };
  const server = createServer((client) => {
    const upstream = connect(forwarder.target, '127.0.0.1');
    let held: Promise<void> = Promise.resolve();
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    client.on('data', (bytes) => {
      held = forwarder.delay?.(bytes) ?? held;
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      held = held.then(() => void client.write(bytes));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(forwarder, {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  });
}
