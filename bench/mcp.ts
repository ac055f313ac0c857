// What the MCP proxy adds to a call: the same calls of the same real server and client, one after another, without and
// with the proxy between them, in turns, so that the machine's noise falls on both. Contracts: a hundred that all look
// at the call.
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { agentProgram, contractsFolder } from './library.ts';
import { isMet, lineOf, median, percentile, round, type Verdict } from './numbers.ts';
import { readOptions } from './options.ts';

const { calls, repeats, json } = readOptions({
  program: 'mcp',
  options: {
    calls: { about: 'calls of each repeat', default: 2000 },
    repeats: { about: 'repeats', default: 3 },
  },
});
const turn = 100;

const resolve = (name: string): string => fileURLToPath(import.meta.resolve(name));
const program = agentProgram();
const serverEntry = resolve('@modelcontextprotocol/server-everything/dist/index.js');
const server = [process.execPath, serverEntry, 'stdio'] as const;

const { folder, contracts } = contractsFolder((i) => `args.message: { contains: "secret ${i}" }`);

async function connected(...[command = '', ...args]: readonly string[]): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
  return client;
}

/** Milliseconds of each of so many calls. */
async function times(client: Client, count: number): Promise<number[]> {
  const list: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    await client.callTool({ name: 'echo', arguments: { message: `hello ${i}` } });
    list.push(performance.now() - start);
  }
  return list;
}

async function repeat(): Promise<{ readonly bare: readonly number[]; readonly governed: readonly number[] }> {
  const bare = await connected(...server);
  const governed = await connected(
    process.execPath,
    program,
    'mcp',
    '--contracts',
    contracts,
    '--',
    ...server,
  );
  for (const client of [bare, governed]) await times(client, 200);
  const lists = { bare: [] as number[], governed: [] as number[] };
  for (let done = 0; done < calls; done += turn) {
    lists.bare.push(...(await times(bare, turn)));
    lists.governed.push(...(await times(governed, turn)));
  }
  await Promise.all([bare.close(), governed.close()]);
  return lists;
}

const added: number[] = [];
const lines: string[] = [];
for (let i = 0; i < repeats; i++) {
  const { bare, governed } = await repeat();
  added.push(median(governed) - median(bare));
  const words = (list: readonly number[]) =>
    `median ${round(median(list), 2)} ms, p99 ${round(percentile(list, 0.99), 2)} ms`;
  lines.push(`  without: ${words(bare)}; with: ${words(governed)}`);
}
rmSync(folder, { recursive: true });
const verdict: Verdict = {
  what: 'added to a call, median',
  value: round(median(added), 2),
  unit: ' ms',
  atMost: 2,
};
const report = json ? JSON.stringify({ ...verdict, repeats: added }) : [...lines, lineOf(verdict)].join('\n');
process.stdout.write(`${report}\n`);
process.exitCode = isMet(verdict) ? 0 : 1;
