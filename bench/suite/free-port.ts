// A free port for a server that can start again on the same port.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to outgoing connections: one of those could be taken before the server has it.
 * Above the ports that `fetch` refuses (Fetch standard, "port blocking"), of which 10080 is the last.
 */
const [from, below] = [10_081, 32_000];
const tries = 20;

/** @param preferred the port of an earlier server, if it is still free */
export async function freePort(preferred?: number): Promise<number> {
  for (let i = 0; i < tries; i++) {
    const port = i === 0 && preferred !== undefined ? preferred : randomInt(from, below);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error(`None of ${tries} ports from ${from} on is free.`);
}
