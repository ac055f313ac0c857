// The proxy's own list of a server's tools, at a server that announces changes while it is listed.
import { expect, it } from 'vitest';
import type { Id } from '../../src/cli/mcp/message.ts';
import { ToolList } from '../../src/cli/mcp/tool-list.ts';
import { ManualClock } from '../manual-clock.ts';

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

class Listed {
  readonly clock = new ManualClock();
  /** Ids of the requests for a list. */
  readonly requests: Id[] = [];
  readonly cancelled: unknown[] = [];
  onRequest: () => void = () => {};
  readonly list = new ToolList({
    clock: this.clock,
    writeLog: () => {},
    send: (message) => {
      if (message.kind === 'notification') return void this.cancelled.push(message.params.requestId);
      this.requests.push(message.id);
      queueMicrotask(() => this.onRequest());
    },
  });

  answer(...names: readonly string[]): void {
    const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
    this.list.take({ kind: 'response', id: this.requests.at(-1) ?? '', result: { tools } });
  }

  /** Starts a call. @returns its state */
  call(): { isDone: boolean } {
    const call = { isDone: false };
    void this.list.ready().then(() => {
      call.isDone = true;
    });
    return call;
  }
}

it('a server that announces a change before each answer is listed with pauses, and calls go on', async () => {
  const listed = new Listed();
  listed.onRequest = () => {
    listed.list.refresh();
    listed.answer('read');
  };
  listed.list.refresh();
  await turns();
  expect(listed.requests).toHaveLength(8);
  const call = listed.call();
  for (let second = 0; second < 80; second++) {
    listed.clock.advance(1000);
    await turns();
  }
  expect(call.isDone).toBe(true);
  expect(listed.requests.length).toBeGreaterThan(60);
  expect(listed.requests.length).toBeLessThan(100);
  const later = listed.call();
  listed.clock.advance(8000);
  await turns();
  expect(later.isDone).toBe(true);
});

it('a call waits for a list that was requested after the change, and no longer than 15 seconds', async () => {
  const listed = new Listed();
  listed.list.refresh();
  listed.list.refresh();
  const call = listed.call();
  listed.answer('read');
  await turns();
  expect(listed.requests).toHaveLength(2);
  expect(call.isDone).toBe(false);
  listed.answer('write');
  await turns();
  expect(call.isDone).toBe(true);
  expect(listed.list.schemaOf('write')).not.toBe(null);

  listed.list.refresh();
  const late = listed.call();
  for (let second = 0; second < 15; second++) {
    expect(late.isDone).toBe(false);
    listed.list.refresh();
    listed.clock.advance(1000);
    await turns();
  }
  expect(late.isDone).toBe(true);
  // The last whole list stays, and the server knows that nobody waits for the other one.
  expect(listed.list.schemaOf('write')).not.toBe(null);
  expect(listed.cancelled).toEqual([listed.requests[2]]);
});

it('a list from a server that ended is not waited for', async () => {
  const listed = new Listed();
  listed.list.refresh();
  const call = listed.call();
  listed.list.startAnew();
  expect(listed.requests).toHaveLength(2);
  await turns();
  expect(call.isDone).toBe(false);
  listed.answer('read');
  await turns();
  expect(call.isDone).toBe(true);
  expect(listed.clock.pending).toBe(0);
});
