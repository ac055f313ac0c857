// The bound of a deployment to several nodes: as many bare loops, each with a client process of its own.
import { StreamClient } from '../suite/streams.ts';
import { BareServer, bareRequest } from './streams-bound.ts';

export const bareFleetText = 'as many bare corked uWebSockets.js loops with as many clients';

export class BareFleet {
  readonly #servers: readonly BareServer[];
  readonly #clients: readonly StreamClient[];

  constructor(count: number) {
    this.#servers = Array.from({ length: count }, () => new BareServer());
    this.#clients = this.#servers.map(() => new StreamClient());
  }

  get pids(): readonly number[] {
    return [...this.#servers, ...this.#clients].map(({ pid }) => pid);
  }

  /** @param count streams of each loop */
  async open(count: number): Promise<void> {
    for (const [n, server] of this.#servers.entries()) {
      const port = await server.start();
      await this.#clients[n]?.open({ port, count, request: bareRequest });
    }
  }

  /** Sends a frame to all streams. @returns milliseconds until the last delivery */
  async measure(frameBytes: number): Promise<number> {
    const awaits = await Promise.all(this.#clients.map((client) => client.expect(frameBytes)));
    const began = process.hrtime.bigint();
    const sent = Promise.all(this.#servers.map((server) => server.broadcast(frameBytes)));
    const [times] = await Promise.all([Promise.all(awaits.map((awaitLast) => awaitLast())), sent]);
    return Math.max(...times.map((at) => Number(at - began) / 1e6));
  }

  stop(): void {
    for (const one of [...this.#servers, ...this.#clients]) one.stop();
  }
}
