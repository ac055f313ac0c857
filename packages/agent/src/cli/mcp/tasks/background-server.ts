// A server for the calls of tasks that an earlier process left: begun when a call runs, and ended after the last one.
import { EraBridge } from '../bridge.ts';
import type { Response } from '../message.ts';
import type { ProxyParts } from '../proxy-parts.ts';
import { McpSession } from '../session.ts';
import type { TaskCall, TaskRunner } from './tasks.ts';

interface Parts {
  readonly session: McpSession;
  readonly server: EraBridge;
}

export class BackgroundServer implements TaskRunner {
  readonly #proxy: ProxyParts;
  #parts: Parts | null = null;
  #running = 0;

  constructor(proxy: ProxyParts) {
    this.#proxy = proxy;
  }

  async runTask(task: TaskCall): Promise<Response> {
    this.#running += 1;
    this.#parts ??= this.#begin();
    try {
      return await this.#parts.session.runTask(task);
    } finally {
      this.#running -= 1;
      if (this.#running === 0) await this.close();
    }
  }

  async close(): Promise<void> {
    const parts = this.#parts;
    this.#parts = null;
    parts?.session.close();
    await parts?.server.close();
  }

  #begin(): Parts {
    const { guard, clock, hide, connect, eras, inputTimeout, pins, rounds, told } = this.#proxy;
    const session: McpSession = new McpSession({
      ...{ guard, clock, hide, rounds, told },
      pins: pins?.session() ?? null,
      place: 'tasks',
      tasks: null,
      toClient: () => {},
    });
    const server = new EraBridge(
      { connect, clock, eras, inputTimeout, isShared: true },
      {
        message: (message, related) => session.fromServer(message, related),
        restarted: () => session.restarted(),
        failed: (reason) => {
          told(`the MCP server ${reason}`);
          this.#parts = null;
          session.close();
        },
        told,
      },
    );
    session.attach(server);
    return { session, server };
  }
}
