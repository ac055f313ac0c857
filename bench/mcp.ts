// What the MCP proxy adds to a call: the same calls of the same real server and client, one after another, without and
// with the proxy between them, in turns, so that the machine's noise falls on both. Contracts: a hundred that all look
// at the call.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { isMet, lineOf, median, percentile, printer, round, type Verdict } from './numbers.ts';

const usage = `Usage: npm run build && node dist/bench/mcp.js [options]
  --calls N     calls of each repeat (2000)
  --repeats N   repeats (3)
  --json        one line of JSON instead of text
`;

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '2000' },
    repeats: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
printer(usage, values);
const calls = Number(values.calls);
const turn = 100;

const resolve = (name: string): string => fileURLToPath(import.meta.resolve(name));
const program = join(dirname(resolve('reeve-agent/package.json')), 'dist/esm/cli/main.js');
const serverEntry = resolve('@modelcontextprotocol/server-everything/dist/index.js');
const server = [process.execPath, serverEntry, 'stdio'] as const;

const folder = mkdtempSync(join(tmpdir(), 'reeve-bench-'));
const contracts = join(folder, 'contracts.yaml');
writeFileSync(
  contracts,
  `apiVersion: service/v1\nkind: ContractBundle\nmetadata: { name: bench }\ndefaults: { mode: enforce }\ncontracts:
  - { id: many, type: session, limits: { max_tool_calls: 100000000 }, then: { effect: deny, message: enough } }
${Array.from(
  { length: 100 },
  (_, i) =>
    `  - { id: no-${i}, type: pre, tool: "*", when: { args.message: { contains: "secret ${i}" } }, then: { effect: deny, message: no } }\n`,
).join('')}`,
);

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
for (let i = 0; i < Number(values.repeats); i++) {
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
const report = values.json
  ? JSON.stringify({ ...verdict, repeats: added })
  : [...lines, lineOf(verdict)].join('\n');
process.stdout.write(`${report}\n`);
process.exitCode = isMet(verdict) ? 0 : 1;
