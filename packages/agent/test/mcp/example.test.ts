// The example of docs/integrations.md before the real file server: its sandbox covers each tool that takes a path.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Guard } from '../../src/index.ts';

const root = join(import.meta.dirname, '../../../..');
const client = new Client({ name: 'test', version: '1.0.0' });
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-mcp-example-'));
  const server = join(root, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [server, folder], stderr: 'ignore' }),
  );
});
afterAll(async () => {
  await client.close();
  await rm(folder, { recursive: true, force: true });
});

it('is refused paths outside by every tool of the file server that takes one', async () => {
  const page = await readFile(join(root, 'docs/integrations.md'), 'utf8');
  const yaml = /```yaml\n(apiVersion: service\/v1[\s\S]*?)```/.exec(page)?.[1] ?? '';
  const guard = Guard.fromYaml(yaml, { openTelemetry: null });
  const { tools } = await client.listTools();
  const outside = {
    path: '/etc/passwd',
    paths: ['/etc/passwd'],
    source: '/etc/passwd',
    destination: 'inside',
  };
  const verdicts: { [name: string]: string } = {};
  for (const { name, inputSchema } of tools) {
    const properties = Object.keys(inputSchema.properties ?? {});
    const args = Object.fromEntries(Object.entries(outside).filter(([key]) => properties.includes(key)));
    if (Object.keys(args).length === 0) continue;
    verdicts[name] = await guard.run(name, args, () => 'ran').catch((failure: Error) => failure.message);
  }
  await guard.close();
  expect(Object.keys(verdicts)).toHaveLength(13);
  expect(Object.values(verdicts).every((verdict) => verdict.includes('outside of the project'))).toBe(true);
});
