// Tool calls of MCP clients through the proxy in a process of its own, in every pair of the protocol's eras, in turns
// with the client's own era without the proxy.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { ClientProcess, serveOrders } from '../suite/client-process.ts';
import { newHistogram } from '../suite/histogram.ts';
import { microsecondsSince } from '../suite/open-loop.ts';
import { agentProgram, contractsOf } from './library-calls.ts';

export const eras = ['legacy', 'modern'] as const;
export type Era = (typeof eras)[number];

interface Order {
  readonly client: Era;
  readonly server: Era;
  readonly calls: number;
}

/** Of each call: HdrHistogram V2, base64, microseconds. */
export interface PairResult {
  readonly governed: string;
  readonly bare: string;
}

export class McpCalls extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'mcp');
  }

  measure(order: Order): Promise<PairResult> {
    return this.request(order);
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

interface Caller {
  call(n: number): Promise<unknown>;
  close(): Promise<void>;
}

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

async function run({ client, server, calls }: Order): Promise<PairResult> {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-bench-'));
  const programOf = (era: Era): string[] => {
    const file = join(folder, `${era}.mjs`);
    writeFileSync(file, serverText(era));
    return [process.execPath, file];
  };
  const contracts = join(folder, 'mcp.yaml');
  writeFileSync(
    contracts,
    contractsOf((n) => `args.message: { contains: "secret ${n}" }`),
  );
  const proxy = [process.execPath, agentProgram(), 'mcp', '--contracts', contracts, '--'];
  try {
    const bare = await connect(client, programOf(client));
    const governed = await connect(client, [...proxy, ...programOf(server)]);
    const times = { bare: newHistogram(), governed: newHistogram() };
    for (let n = 0; n < 20; n++) await Promise.all([bare.call(n), governed.call(n)]);
    for (let n = 0; n < calls; n++) {
      for (const [side, caller] of [['bare', bare] as const, ['governed', governed] as const]) {
        const began = performance.now();
        await caller.call(n);
        times[side].recordValue(microsecondsSince(began));
      }
    }
    await Promise.all([bare.close(), governed.close()]);
    return {
      governed: encodeIntoCompressedBase64(times.governed),
      bare: encodeIntoCompressedBase64(times.bare),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

serveOrders(import.meta.url, run);
