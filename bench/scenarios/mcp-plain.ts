// MCP clients and servers of lines of JSON, without an SDK: what a call takes between them is the proxy's own.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Caller, Era } from './mcp-calls.ts';

const info = { name: 'bench', version: '1.0.0' };
const handshake = { protocolVersion: '2025-11-25', capabilities: {} };
const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': info,
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A server of one era, over standard input and output: the other one is rejected. */
export function plainServerText(era: Era): string {
  const inputSchema = { type: 'object', properties: { message: { type: 'string' } } };
  const capabilities = { tools: {} };
  const complete = era === 'modern' ? { resultType: 'complete' } : {};
  const kept = era === 'modern' ? { ttlMs: 0, cacheScope: 'private' } : {};
  const unsupported = { code: -32022, message: 'unsupported', data: { supported: ['2026-07-28'] } };
  const answers = {
    'tools/list': { result: { ...complete, ...kept, tools: [{ name: 'echo', inputSchema }] } },
    ...(era === 'legacy'
      ? { initialize: { result: { ...handshake, capabilities, serverInfo: info } } }
      : {
          initialize: { error: unsupported },
          'server/discover': {
            result: {
              ...{ ...complete, ...kept, supportedVersions: ['2026-07-28'], capabilities },
              _meta: { 'io.modelcontextprotocol/serverInfo': info },
            },
          },
        }),
  };
  return `import { createInterface } from 'node:readline';
const answers = ${JSON.stringify(answers)};
const missing = { error: { code: -32601, message: 'Method not found' } };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = method === 'tools/call'
    ? { result: { ...${JSON.stringify(complete)}, content: [{ type: 'text', text: params.arguments.message }] } }
    : answers[method] ?? missing;
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
}
`;
}

type Answer = { readonly id?: number; readonly result?: unknown };

/** Starts the program, and introduces the client as its era does. */
export async function connectPlain(era: Era, [command = '', ...args]: readonly string[]): Promise<Caller> {
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const waiting = new Map<number, (answer: Answer) => void>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as Answer;
    waiting.get(answer.id ?? 0)?.(answer);
    waiting.delete(answer.id ?? 0);
  });
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  let count = 0;
  const request = async (method: string, params: object): Promise<void> => {
    count += 1;
    const id = count;
    const whole = era === 'modern' ? { ...params, _meta: modernMeta } : params;
    const answer = await new Promise<Answer>((resolve) => {
      waiting.set(id, resolve);
      send({ jsonrpc: '2.0', id, method, params: whole });
    });
    if (answer.result === undefined) throw new Error(`${method} failed: ${JSON.stringify(answer)}`);
  };
  if (era === 'modern') await request('server/discover', {});
  else {
    await request('initialize', { ...handshake, clientInfo: info });
    send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }
  return {
    call: (n) => request('tools/call', { name: 'echo', arguments: { message: `hello ${n}` } }),
    close: async () => {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}
