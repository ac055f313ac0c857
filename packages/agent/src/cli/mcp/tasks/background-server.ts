// A server for the calls of tasks that an earlier process left: begun when a call runs, and ended after the last one.
import type { Timer } from '../../../clock.ts';
import { fieldsOf } from '../../../fields.ts';
import type { Response } from '../message.ts';
import { type OpenSession, openSession } from '../open-session.ts';
import type { ProxyParts } from '../proxy-parts.ts';
import type { TaskRecord } from './record.ts';
import type { TaskCall, TaskRunner } from './task-call.ts';

export class BackgroundServer implements TaskRunner {
  readonly #proxy: ProxyParts;
  #parts: OpenSession | null = null;
  #running = 0;
  /** Runs while a server may keep calls open whose tools have asked. */
  #timer: Timer | null = null;

  constructor(proxy: ProxyParts) {
    this.#proxy = proxy;
  }

  async runTask(task: TaskCall): Promise<Response> {
    this.#running += 1;
    this.#parts ??= this.#begin();
    try {
      const response = await this.#parts.session.runTask(task);
      if (fieldsOf(response.result).resultType === 'input_required') this.#keep();
      return response;
    } finally {
      this.#running -= 1;
      if (this.#running === 0 && !this.#timer) await this.close();
    }
  }

  cancelTask(record: TaskRecord): void {
    this.#parts ??= this.#begin();
    this.#parts.session.cancelTask(record);
    this.#keep();
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    const parts = this.#parts;
    this.#parts = null;
    parts?.session.close();
    await parts?.server.close();
  }

  #keep(): void {
    const { clock, inputTimeout } = this.#proxy;
    this.#timer?.cancel();
    this.#timer = clock.after(inputTimeout, () => {
      this.#timer = null;
      if (this.#running === 0) void this.close();
    });
  }

  #begin(): OpenSession {
    return openSession(this.#proxy, {
      place: 'tasks',
      tasks: null,
      isShared: true,
      toClient: () => {},
      failed: (_reason, session) => {
        this.#parts = null;
        session.close();
      },
    });
  }
}
