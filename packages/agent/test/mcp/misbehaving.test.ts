// Servers that break the protocol: each call still gets its answer, or an error with the cause.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { childServer } from '../../src/cli/mcp/child.ts';
import { type Connect, type ConnectionEvents, McpServer } from '../../src/cli/mcp/connection.ts';
import type { Id, Message, Request } from '../../src/cli/mcp/message.ts';
import { remoteServer } from '../../src/cli/mcp/remote.ts';
import { systemClock as clock } from '../../src/clock.ts';
import { fieldsOf } from '../../src/fields.ts';
import { until } from '../manual-clock.ts';
import type { Json } from './setting.ts';

const introduction = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  serverInfo: { name: 's', version: '1' },
};

class Connected {
  readonly got: Message[] = [];
  readonly log: string[] = [];
  readonly server: McpServer;

  constructor(connect: (writeLog: (text: string) => void) => Connect) {
    const writeLog = (text: string): void => void this.log.push(text);
    this.server = new McpServer(connect(writeLog), clock, {
      message: (message) => this.got.push(message),
      restarted: () => {},
      failed: writeLog,
      writeLog,
    });
  }

  async greet(): Promise<void> {
    this.server.send({ kind: 'request', id: 'hello', method: 'initialize', params: {} });
    await this.answered('hello');
    this.server.send({ kind: 'notification', method: 'notifications/initialized', params: {} });
  }

  call(id: Id, name: string): void {
    this.server.send({ kind: 'request', id, method: 'tools/call', params: { name } });
  }

  async answered(id: Id) {
    const find = () => this.got.find((one) => one.kind === 'response' && one.id === id);
    await until(() => find() !== undefined, `an answer to ${id}`);
    const response = find();
    return response?.kind === 'response' ? response : null;
  }
}

/** Also true while nobody has collected the process's exit code. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const open: Connected[] = [];
const connected = (connect: ConstructorParameters<typeof Connected>[0]): Connected => {
  const one = new Connected(connect);
  open.push(one);
  return one;
};
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.server.close()));
});

describe('a process', () => {
  const program = `
    const write = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === 'initialize') write(id, ${JSON.stringify(introduction)});
      if (params?.name === 'huge') process.stdout.write('x'.repeat(17 * 1024 * 1024));
      if (params?.name === 'last') { write(id, { content: [] }); process.exit(0); }
      if (params?.name === 'pid') write(id, { pid: process.pid });
      if (params?.name === 'hold') {
        const args = ['-e', 'setTimeout(() => {}, 15000)'];
        const stdio = ['ignore', 'inherit', 'ignore'];
        const holder = require('node:child_process').spawn(process.execPath, args, { stdio, detached: true });
        holder.unref();
        holder.once('spawn', () => write(id, { pid: holder.pid }));
      }
      if (params?.name === 'leave') {
        const args = ['-e', 'setTimeout(() => {}, 5000)'];
        const stdio = ['ignore', 'inherit', 'ignore'];
        const left = require('node:child_process').spawn(process.execPath, args, { stdio, detached: true });
        left.once('spawn', () => process.exit(1));
      }
    });`;
  const child = () =>
    connected((writeLog) => childServer(process.execPath, ['-e', program], { clock, writeLog }));

  it('that writes a message over the bound is stopped, and the reason is named', async () => {
    const one = child();
    await one.greet();
    one.call(1, 'huge');
    const answer = await one.answered(1);
    expect(answer?.error?.message).toContain(
      'was stopped, because it wrote a message larger than 16777216 bytes before it answered',
    );
    expect(one.log).toEqual([expect.stringContaining('larger than 16777216 bytes; restarting it')]);
  });

  it('that ends after its answer has answered, also while its output waits for a slow client', async () => {
    const one = child();
    await one.greet();
    one.server.output?.pause();
    one.call(1, 'last');
    setTimeout(() => one.server.output?.resume(), 500);
    expect(await one.answered(1)).toMatchObject({ result: { content: [] } });
    await until(() => one.log.length > 0, 'the end of the process');
    expect(one.log).toEqual(['the MCP server ended (exit code 0); restarting it']);
  });

  it('that ends, its output held open, fails only the calls before its end: later ones wait for the next', async () => {
    const one = child();
    await one.greet();
    one.call(1, 'pid');
    const pidOf = async (id: Id) => Number(fieldsOf((await one.answered(id))?.result).pid);
    const pid = await pidOf(1);
    one.call(2, 'leave');
    await until(() => !isRunning(pid), 'the end of the process');
    expect(one.log).toEqual([]);
    one.call(3, 'pid');
    expect(await pidOf(3)).toBeGreaterThan(0);
    expect((await one.answered(2))?.error?.message).toContain('ended (exit code 1) before it answered');
    expect(one.log).toEqual(['the MCP server ended (exit code 1); restarting it']);
  });

  it('whose descendant holds its output open can be closed', async () => {
    const one = child();
    await one.greet();
    one.call(1, 'hold');
    const pid = Number(fieldsOf((await one.answered(1))?.result).pid);
    const before = performance.now();
    await one.server.close();
    process.kill(pid, 'SIGKILL');
    expect(performance.now() - before).toBeLessThan(10_000);
  });

  it('that ends does not fail a request that its client has cancelled', async () => {
    const started: ConnectionEvents[] = [];
    const one = connected(() => (events) => {
      started.push(events);
      return { send: () => {}, close: async () => {} };
    });
    one.server.send({ kind: 'request', id: 'hello', method: 'initialize', params: {} });
    started[0]?.message({ kind: 'response', id: 'hello', result: introduction });
    one.call(1, 'slow');
    one.call(2, 'slow');
    const params = { requestId: 1 };
    one.server.send({ kind: 'notification', method: 'notifications/cancelled', params });
    started[0]?.ended('ended');
    expect(one.got.map((message) => message.kind === 'response' && message.id)).toEqual(['hello', 2]);
  });

  it('that accepts the session after its restart and has ended by then gets no call', async () => {
    const sent: Message[][] = [];
    const started: ConnectionEvents[] = [];
    const one = connected(() => (events) => {
      const messages: Message[] = [];
      sent.push(messages);
      started.push(events);
      return { send: (message) => void messages.push(message), close: async () => {} };
    });
    const accept = (at: number, id: Id): void =>
      started[at]?.message({ kind: 'response', id, result: introduction });
    const methods = (at: number) =>
      sent[at]?.map((message) => (message.kind === 'response' ? '' : message.method));
    one.server.send({ kind: 'request', id: 'hello', method: 'initialize', params: {} });
    accept(0, 'hello');
    started[0]?.ended('ended');
    one.call(1, 'late');
    await until(() => started.length === 2, 'the restart');
    started[1]?.inputEnd();
    accept(1, 'reeve:initialize:1');
    started[1]?.ended('ended');
    await until(() => started.length === 3, 'the second restart');
    accept(2, 'reeve:initialize:2');
    expect(methods(1)).toEqual(['initialize']);
    expect(methods(2)).toEqual(['initialize', 'notifications/initialized', 'tools/call']);
    expect(one.got).toHaveLength(1);
  });
});

describe('a server over HTTP', () => {
  const streams: ServerResponse[] = [];
  let isLost = false;
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(Buffer.concat(parts).toString('utf8')) as Request;
    const answer = (result: Json, of: unknown = id) => JSON.stringify({ jsonrpc: '2.0', id: of, result });
    const stream = (...data: string[]) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Mcp-Session-Id': 'one' });
      for (const one of data) response.write(`data: ${one}\n\n`);
      streams.push(response);
    };
    if (method === 'initialize') return stream(answer({ ...introduction }));
    if (id === undefined) return void response.writeHead(202).end();
    if (isLost) return void response.writeHead(404).end();
    if (params.name === 'noisy') stream('ping', '{"jsonrpc":"2.0","method":5}', answer({ content: [] }));
    else if (params.name === 'open') stream();
    else response.writeHead(200, { 'Content-Type': 'application/json' }).end(answer({}, 'another'));
  });
  const remote = async (): Promise<Connected> => {
    if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    return connected((writeLog) => remoteServer({ url, headers: {}, clock, writeLog }));
  };
  afterEach(() => {
    isLost = false;
    streams.length = 0;
    server.closeAllConnections();
    server.close();
  });

  it('that keeps the stream of the introduction open gets what follows', async () => {
    const one = await remote();
    await one.greet();
    one.call(1, 'noisy');
    expect(await one.answered(1)).toMatchObject({ result: { content: [] } });
  });

  it('may send what is no message before an answer', async () => {
    const one = await remote();
    await one.greet();
    one.call(1, 'noisy');
    expect(await one.answered(1)).toMatchObject({ result: { content: [] } });
    expect(one.log).toEqual([
      'the MCP server sent an invalid message: ping',
      'the MCP server sent an invalid message: {"jsonrpc":"2.0","method":5}',
    ]);
  });

  it('that answers another request has not answered this one', async () => {
    const one = await remote();
    await one.greet();
    one.call(1, 'astray');
    expect((await one.answered(1))?.error?.message).toContain('it answered another request');
  });

  it('that loses the session keeps no stream of it', async () => {
    const one = await remote();
    await one.greet();
    one.call(1, 'open');
    await until(() => streams.length === 2, 'the stream');
    isLost = true;
    one.call(2, 'noisy');
    expect((await one.answered(1))?.error?.message).toContain('lost the session before it answered');
    await until(() => streams[1]?.destroyed === true, 'the end of the stream');
  });
});
