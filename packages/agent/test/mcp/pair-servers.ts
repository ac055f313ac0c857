// A server of each era with the same tools, as its SDK makes it, over standard input and output and over HTTP.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport as LegacyStdio } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  acceptedContent,
  createMcpHandler,
  inputRequired,
  type McpHttpHandler,
  McpServer as ModernServer,
} from '@modelcontextprotocol/server';
import { StdioServerTransport as ModernStdio, serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import type { Connect } from '../../src/cli/mcp/connection.ts';
import { lineWriter, readLines } from '../../src/cli/mcp/lines.ts';
import { readServerMessages, textOf } from '../../src/cli/mcp/message.ts';

export type ServerEra = 'legacy' | 'modern';

/** Work of the servers of a test, and the clients that they notify of a change. */
export class ServerLog {
  /** One line for each execution and cancellation. */
  readonly lines: string[] = [];
  hasGrown = false;
  /** Announces a changed list of tools. */
  readonly announce: (() => void)[] = [];
}

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
const form = {
  type: 'object' as const,
  properties: {
    sure: { type: 'boolean' as const },
    password: { type: 'string' as const, default: 'hunter2' },
  },
  required: ['sure'],
};
const path = { path: z.string() };
const about = { about: z.string().optional() };
const resource = { uri: 'file:///notes', text: 'buy milk', mimeType: 'text/plain' };
const greeting = (who: string) => ({
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: `greet ${who}` } }],
});

interface SlowCall {
  readonly signal: AbortSignal;
  readonly token: string | number | undefined;
  notify(notification: { method: string; params: { [name: string]: unknown } }): Promise<void>;
}

/** Tells progress, then waits until the client cancels. */
async function slow(log: ServerLog, { signal, token, notify }: SlowCall) {
  log.lines.push('slow');
  if (token !== undefined)
    await notify({
      method: 'notifications/progress',
      params: { progressToken: token, progress: 1, total: 2 },
    });
  await new Promise<void>((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  log.lines.push('slow was cancelled');
  return text('late');
}

export function legacyServer(log: ServerLog): LegacyServer {
  const server = new LegacyServer({ name: 'pair', version: '1.0.0' }, { instructions: 'be kind' });
  server.registerTool('read', { inputSchema: path }, ({ path }) => {
    log.lines.push(`read ${path}`);
    return text(`contents of ${path}`);
  });
  server.registerTool('ask', { inputSchema: about }, async ({ about = 'sure?' }, extra) => {
    log.lines.push('ask');
    const { content } = await server.server.elicitInput(
      { message: about, requestedSchema: form },
      { relatedRequestId: extra.requestId },
    );
    log.lines.push(`answered ${content?.sure}`);
    return text(content?.sure === true ? 'sure' : 'not sure');
  });
  server.registerTool('slow', {}, ({ signal, _meta, sendNotification }) =>
    slow(log, { signal, token: _meta?.progressToken, notify: (one) => sendNotification(one as never) }),
  );
  const more = server.registerTool('more', {}, () => text('more'));
  if (!log.hasGrown) more.disable();
  server.registerResource('notes', resource.uri, {}, () => ({ contents: [resource] }));
  server.registerPrompt('greet', { argsSchema: { who: z.string() } }, ({ who }) => greeting(who));
  log.announce.push(() => more.enable());
  return server;
}

export function modernServer(log: ServerLog): ModernServer {
  const server = new ModernServer(
    { name: 'pair', version: '1.0.0' },
    { instructions: 'be kind', capabilities: { tools: { listChanged: true } } },
  );
  server.registerTool('read', { inputSchema: z.object(path) }, ({ path }) => {
    log.lines.push(`read ${path}`);
    return text(`contents of ${path}`);
  });
  server.registerTool('ask', { inputSchema: z.object(about) }, ({ about = 'sure?' }, context) => {
    const answer = acceptedContent<{ sure: boolean }>(context.mcpReq.inputResponses, 'sure');
    log.lines.push(answer ? `answered ${answer.sure}` : 'ask');
    if (answer) return text(answer.sure ? 'sure' : 'not sure');
    const sure = inputRequired.elicit({ message: about, requestedSchema: form });
    return inputRequired({ inputRequests: { sure }, requestState: 'a state' });
  });
  server.registerTool('slow', {}, ({ mcpReq: { signal, _meta, notify } }) =>
    slow(log, { signal, token: _meta?.progressToken, notify: (one) => notify(one as never) }),
  );
  if (log.hasGrown) server.registerTool('more', {}, () => text('more'));
  server.registerResource('notes', resource.uri, {}, () => ({ contents: [resource] }));
  server.registerPrompt('greet', { argsSchema: z.object({ who: z.string() }) }, ({ who }) => greeting(who));
  return server;
}

/** A server as the proxy reaches it, and its end: a process that dies, or a session that is forgotten. */
export interface RunningServer {
  readonly connect: Connect | { readonly url: string };
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** A process of its own, but for the process. */
export function pipedServer(era: ServerEra, log: ServerLog): RunningServer {
  const running = new Set<() => void>();
  const connect: Connect = (events) => {
    const input = new PassThrough();
    const output = new PassThrough();
    const isLegacy = era === 'legacy';
    if (isLegacy) void legacyServer(log).connect(new LegacyStdio(input, output));
    else serveStdio(() => modernPiped(log), { legacy: 'reject', transport: new ModernStdio(input, output) });
    const write = lineWriter(input, () => null);
    readLines(output, {
      line: (line) => {
        for (const message of readServerMessages(line)) events.message(message);
      },
      ended: () => {},
    });
    const end = (): void => {
      running.delete(end);
      input.end();
      output.destroy();
      events.ended('ended (SIGKILL)');
    };
    running.add(end);
    return {
      send: (message) => write(textOf(message)),
      close: async () => {
        running.delete(end);
        input.end();
      },
    };
  };
  return {
    connect,
    restart: async () => {
      for (const end of [...running]) end();
    },
    close: async () => {},
  };
}

function modernPiped(log: ServerLog): ModernServer {
  const server = modernServer(log);
  log.announce.push(() => {
    if (!log.hasGrown) return;
    server.registerTool('more', {}, () => text('more'));
    server.sendToolListChanged();
  });
  return server;
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
};

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const closing = (server: Server) => async (): Promise<void> => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
};

/** Serves sessions, each with a server of its own. */
export async function legacyHttp(
  begin: () => LegacyServer,
): Promise<RunningServer & { readonly connect: { readonly url: string } }> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const server = createServer(async (request, response) => {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (typeof id === 'string' && !known) return void response.writeHead(404).end();
    const body = request.method === 'POST' ? JSON.parse(await bodyOf(request)) : undefined;
    const transport =
      known ??
      new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => void sessions.set(session, transport),
      });
    if (!known) await begin().connect(transport as never);
    await transport.handleRequest(request, response, body);
  });
  const url = await listening(server);
  return {
    connect: { url },
    restart: async () => {
      sessions.clear();
      server.closeAllConnections();
    },
    close: closing(server),
  };
}

/** Serves requests, each with a server of its own. */
export async function modernHttp(
  handler: McpHttpHandler,
): Promise<RunningServer & { readonly connect: { readonly url: string } }> {
  const server = createServer(async (request, response) => {
    const left = new AbortController();
    response.once('close', () => left.abort());
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? 'GET',
        headers: Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
          typeof value === 'string' ? [[name, value]] : [],
        ),
        ...(request.method === 'POST' ? { body: await bodyOf(request) } : {}),
        signal: left.signal,
      }),
    );
    await sendOn(answer, response);
  });
  const url = await listening(server);
  return { connect: { url }, restart: async () => server.closeAllConnections(), close: closing(server) };
}

async function sendOn(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  try {
    for await (const part of answer.body ?? []) response.write(part);
    response.end();
  } catch {
    response.destroy();
  }
}

export function httpServer(era: ServerEra, log: ServerLog): Promise<RunningServer> {
  if (era === 'legacy') return legacyHttp(() => legacyServer(log));
  const handler = createMcpHandler(() => modernServer(log), { legacy: 'reject' });
  log.announce.push(() => handler.notify.toolsChanged());
  return modernHttp(handler);
}
