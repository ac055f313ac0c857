// Guarded tools of the oldest version of each major of the MCP SDK; the newest ones have files of their own. The old
// packages come from the registry, at night.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isNightly } from '../../../../test/runs.ts';
import { Guard, guardServer } from '../../src/index.ts';

const oldest = ['@modelcontextprotocol/sdk@1.0.0', '@modelcontextprotocol/server@2.0.0'];
const folder = join(import.meta.dirname, '../../../../node_modules/.cache/mcp-oldest');

/** True if the old packages are here. */
function install(): boolean {
  try {
    if (existsSync(join(folder, 'node_modules/@modelcontextprotocol/server'))) return true;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    const options = ['install', '--no-save', '--no-audit', '--no-fund', ...oldest];
    execFileSync('npm', options, { cwd: folder, stdio: 'pipe', timeout: 300_000 });
    return true;
  } catch (failure) {
    console.warn(`The oldest SDKs are left out: ${failure instanceof Error ? failure.message : failure}`);
    return false;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the old packages have other types than the new ones
type Any = any;
const require = createRequire(join(folder, 'package.json'));
const load = (name: string): Promise<Any> => import(pathToFileURL(require.resolve(name)).href);

const guard = Guard.fromYaml(
  `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - id: no-rm
    type: pre
    tool: "*"
    when: { args.command: { contains: "rm -rf" } }
    then: { effect: deny, message: nothing is deleted }
`,
  { openTelemetry: null },
);
afterAll(() => guard.close());
const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const denied = { isError: true, content: [{ type: 'text', text: 'Denied: nothing is deleted' }] };

describe.skipIf(!isNightly || !install())('a guarded server', () => {
  it('of SDK 1.0.0 runs what is allowed, and answers a denial', async () => {
    const { Server } = await load('@modelcontextprotocol/sdk/server/index.js');
    const { CallToolRequestSchema } = await load('@modelcontextprotocol/sdk/types.js');
    const info = { name: 'shell', version: '1.0.0' };
    const server = guardServer(guard, new Server(info, { capabilities: { tools: {} } }) as Any) as Any;
    server.setRequestHandler(CallToolRequestSchema, async ({ params }: Any) =>
      text(`ran ${params.arguments.command}`),
    );
    const [one, other] = InMemoryTransport.createLinkedPair();
    const client = new LegacyClient(info);
    await Promise.all([server.connect(one), client.connect(other)]);
    const call = (command: string) => client.callTool({ name: 'shell', arguments: { command } });
    expect(await call('ls')).toMatchObject(text('ran ls'));
    expect(await call('rm -rf /')).toMatchObject(denied);
    await client.close();
  });

  it('of SDK 2.0.0 does so too, and a tool that asks its user is one call', async () => {
    const sdk = await load('@modelcontextprotocol/server');
    const handler = sdk.createMcpHandler(() => {
      const server = guardServer(guard, new sdk.McpServer({ name: 'shell', version: '1.0.0' })) as Any;
      const inputSchema = z.object({ command: z.string() });
      server.registerTool('shell', { inputSchema }, ({ command }: Any) => text(`ran ${command}`));
      server.registerTool('ask', {}, ({ mcpReq }: Any) => {
        if (sdk.acceptedContent(mcpReq.inputResponses, 'sure')) return text('sure');
        const properties = { sure: { type: 'boolean' } };
        const sure = sdk.inputRequired.elicit({
          message: 'sure?',
          requestedSchema: { type: 'object', properties },
        });
        return sdk.inputRequired({ inputRequests: { sure }, requestState: 'own' });
      });
      return server;
    });
    const fetch = (url: string | URL, init?: RequestInit) => handler.fetch(new Request(url, init));
    const client = new ModernClient(
      { name: 'test', version: '1.0.0' },
      {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: { pin: '2026-07-28' } },
        inputRequired: { autoFulfill: false },
      },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL('http://shell.test/mcp'), { fetch }));
    const call = (name: string, args: object, more: object = {}): Promise<Any> =>
      client.request(
        { method: 'tools/call', params: { name, arguments: args, ...more } } as never,
        { allowInputRequired: true } as never,
      );
    expect(await call('shell', { command: 'ls' })).toMatchObject(text('ran ls'));
    expect(await call('shell', { command: 'rm -rf /' })).toMatchObject(denied);
    const { requestState } = await call('ask', {});
    expect(requestState).not.toBe('own');
    const inputResponses = { sure: { action: 'accept', content: { sure: true } } };
    expect(await call('ask', {}, { inputResponses, requestState })).toMatchObject(text('sure'));
    expect(guard.events.events.at(-1)).toMatchObject({ action: 'call_executed', rounds: 2 });
    await client.close();
  });
});
