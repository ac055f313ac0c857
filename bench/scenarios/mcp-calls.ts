// Tool calls of MCP clients through the proxy in a process of its own, in every pair of the protocol's eras, in turns
// with the client's own era without the proxy.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';
import { makeTemporaryFolder } from '../suite/folder.ts';
import { newHistogram } from '../suite/histogram.ts';
import { microsecondsSince } from '../suite/open-loop.ts';
import { agentProgram, contractsOf } from './library-calls.ts';
import { connectPlain, plainServerText } from './mcp-plain.ts';

export const eras = ['legacy', 'modern'] as const;
export type Era = (typeof eras)[number];

interface PairOrder {
  readonly client: Era;
  readonly server: Era;
  readonly calls: number;
}
/** Both eras through the proxy, in turns, with clients and servers that use no SDK. */
interface PlainOrder {
  readonly client: 'plain';
  readonly calls: number;
}

/** Of each call: HdrHistogram V2, base64, microseconds. */
export interface PairResult {
  readonly governed: string;
  readonly bare: string;
}
/** The same. */
export type PlainResult = { readonly [era in Era]: string };

export class McpCalls extends ClientProcess<PairOrder | PlainOrder> {
  constructor() {
    super(import.meta.url, 'mcp');
  }

  measure(order: PairOrder): Promise<PairResult> {
    return this.request(order);
  }

  measurePlain(calls: number): Promise<PlainResult> {
    return this.request({ client: 'plain', calls });
  }
}

/** A server of one era: the other one is rejected. */
export function serverText(era: Era): string {
  const zod = JSON.stringify(import.meta.resolve('zod'));
  const tool = "({ message }) => ({ content: [{ type: 'text', text: message }] })";
  if (era === 'modern')
    return `import { McpServer } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/server'))};
import { serveStdio } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/server/stdio'))};
import { z } from ${zod};
serveStdio(() => {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: z.object({ message: z.string() }) }, ${tool});
  return server;
}, { legacy: 'reject' });
`;
  return `import { McpServer } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/server/mcp.js'))};
import { StdioServerTransport } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/server/stdio.js'))};
import { z } from ${zod};
const server = new McpServer({ name: 'bench', version: '1.0.0' });
server.registerTool('echo', { inputSchema: { message: z.string() } }, ${tool});
await server.connect(new StdioServerTransport());
`;
}

export interface Caller {
  call(n: number): Promise<unknown>;
  close(): Promise<void>;
}

const warmUps = 20;
const callOf = (n: number) => ({ name: 'echo', arguments: { message: `hello ${n}` } });

async function connect(era: Era, [command = '', ...args]: readonly string[]): Promise<Caller> {
  const info = { name: 'bench', version: '1.0.0' };
  const options = { command, args, stderr: 'ignore' as const };
  if (era === 'legacy') {
    const client = new LegacyClient(info);
    await client.connect(new LegacyTransport(options));
    return { call: (n) => client.callTool(callOf(n)), close: () => client.close() };
  }
  const client = new ModernClient(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new ModernTransport(options));
  return { call: (n) => client.callTool(callOf(n)), close: () => client.close() };
}

/** Calls of each caller in turns. @returns their times, by the caller's name */
async function inTurns<Name extends string>(
  callers: { readonly [name in Name]: Caller },
  calls: number,
): Promise<{ readonly [name in Name]: string }> {
  const sides = (Object.entries(callers) as [Name, Caller][]).map(([name, caller]) => ({
    ...{ name, caller, times: newHistogram() },
  }));
  for (let n = 0; n < warmUps; n++) await Promise.all(sides.map(({ caller }) => caller.call(n)));
  for (let n = 0; n < calls; n++) {
    for (const { caller, times } of sides) {
      const began = performance.now();
      await caller.call(n);
      times.recordValue(microsecondsSince(began));
    }
  }
  await Promise.all(sides.map(({ caller }) => caller.close()));
  const results = sides.map(({ name, times }) => [name, encodeIntoCompressedBase64(times)] as const);
  return Object.fromEntries(results) as { readonly [name in Name]: string };
}

async function run(order: PairOrder | PlainOrder): Promise<PairResult | PlainResult> {
  const temporary = makeTemporaryFolder();
  const folder = temporary.path;
  const programOf = (era: Era, text: string): string[] => {
    const file = join(folder, `${era}.mjs`);
    writeFileSync(file, text);
    return [process.execPath, file];
  };
  const contracts = join(folder, 'mcp.yaml');
  writeFileSync(
    contracts,
    contractsOf((n) => `args.message: { contains: "secret ${n}" }`),
  );
  const proxy = [process.execPath, agentProgram(), 'mcp', '--contracts', contracts, '--'];
  try {
    if (order.client === 'plain') {
      const through = (era: Era) => connectPlain(era, [...proxy, ...programOf(era, plainServerText(era))]);
      return await inTurns({ legacy: await through('legacy'), modern: await through('modern') }, order.calls);
    }
    const { client, server, calls } = order;
    const bare = await connect(client, programOf(client, serverText(client)));
    const governed = await connect(client, [...proxy, ...programOf(server, serverText(server))]);
    return await inTurns({ bare, governed }, calls);
  } finally {
    temporary.remove();
  }
}

serveOrders(import.meta.url, run);
