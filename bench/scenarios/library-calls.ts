// The agent library in a process of its own, each way in turns with its bound: a guarded call beside a bare one, the
// gate beside Node alone, an MCP client and server with and without the proxy.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { Guard } from 'reeve-agent';
import { ClientProcess, nextTurn, serveOrders } from '../suite/client-process.ts';
import { makeTemporaryFolder } from '../suite/folder.ts';
import { newHistogram } from '../suite/histogram.ts';
import { microsecondsSince } from '../suite/open-loop.ts';

export type LibraryWay = 'guard' | 'gate' | 'mcp';

interface Order {
  readonly way: LibraryWay;
  readonly calls: number;
}

/** Of each call: HdrHistogram V2, base64, microseconds; of `guard`, a hundred calls each. */
export interface WayResult {
  readonly governed: string;
  readonly bare: string;
}

/** Calls that one value of `guard` covers: a single one is too short for a clock. */
export const guardedAtOnce = 100;

export class LibraryCalls extends ClientProcess<Order> {
  constructor() {
    super(import.meta.url, 'library');
  }

  measure(order: Order): Promise<WayResult> {
    return this.request(order);
  }
}

/** A session limit that is never reached, and 100 contracts that every call passes. */
export const contractsOf = (condition: (n: number) => string): string =>
  `apiVersion: service/v1
kind: ContractBundle
metadata: { name: bench }
defaults: { mode: enforce }
contracts:
  - { id: many, type: session, limits: { max_tool_calls: 100000000 }, then: { effect: deny, message: enough } }
${Array.from(
  { length: 100 },
  (_, n) =>
    `  - { id: no-${n}, type: pre, tool: "*", when: { ${condition(n)} }, then: { effect: deny, message: no } }\n`,
).join('')}`;

export const agentProgram = (): string =>
  join(dirname(fileURLToPath(import.meta.resolve('reeve-agent/package.json'))), 'dist/esm/cli/main.js');

class Pair {
  readonly #governed = newHistogram();
  readonly #bare = newHistogram();

  async time(side: 'governed' | 'bare', call: () => unknown): Promise<void> {
    // The end of the suite reaches this process between two calls.
    await nextTurn();
    const began = performance.now();
    await call();
    (side === 'governed' ? this.#governed : this.#bare).recordValue(microsecondsSince(began));
  }

  result(): WayResult {
    return {
      governed: encodeIntoCompressedBase64(this.#governed),
      bare: encodeIntoCompressedBase64(this.#bare),
    };
  }
}

async function measureGuard(calls: number): Promise<WayResult> {
  const guard = Guard.fromYaml(contractsOf((n) => `args.path: { contains: "secret ${n}" }`));
  const tool = async ({ path }: { readonly path: string }): Promise<string> => `contents of ${path}`;
  const governed = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      await guard.run('read_file', { path: `/srv/${n}.txt` }, tool, { sessionId: 'bench' });
    }
  };
  const bare = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await tool({ path: `/srv/${n}.txt` });
  };
  await governed(guardedAtOnce);
  const pair = new Pair();
  for (let n = 0; n < calls; n += guardedAtOnce) {
    await pair.time('governed', () => governed(guardedAtOnce));
    await pair.time('bare', () => bare(guardedAtOnce));
  }
  await guard.close();
  return pair.result();
}

async function measureGate(calls: number, folder: string): Promise<WayResult> {
  const contracts = join(folder, 'gate.yaml');
  writeFileSync(
    contracts,
    contractsOf((n) => `args.command: { matches: "secret ${n}\\\\b" }`),
  );
  const call = {
    hook_event_name: 'PreToolUse',
    session_id: 'bench',
    cwd: folder,
    tool_name: 'Bash',
    tool_input: { command: 'git commit -m "fix: a & b"' },
  };
  const start = (args: readonly string[], input: string): void => {
    const { status, stderr } = spawnSync(process.execPath, [...args], { input });
    if (status !== 0) throw new Error(`The gate ended with code ${status}: ${stderr}`);
  };
  const state = join(folder, 'state');
  const gate = [
    agentProgram(),
    'gate',
    '--format',
    'claude-code',
    '--contracts',
    contracts,
    '--state',
    state,
  ];
  // The first call reads the contracts.
  start(gate, JSON.stringify(call));
  const pair = new Pair();
  for (let n = 0; n < calls; n++) {
    await pair.time('governed', () => start(gate, JSON.stringify(call)));
    await pair.time('bare', () => start(['-e', '0'], ''));
  }
  return pair.result();
}

async function connect([command = '', ...args]: readonly string[]): Promise<Client> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
  return client;
}

async function measureMcp(calls: number, folder: string): Promise<WayResult> {
  const contracts = join(folder, 'mcp.yaml');
  writeFileSync(
    contracts,
    contractsOf((n) => `args.message: { contains: "secret ${n}" }`),
  );
  const entry = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
  const server = [process.execPath, entry, 'stdio'];
  const proxy = [process.execPath, agentProgram(), 'mcp', '--contracts', contracts, '--', ...server];
  const clients = { bare: await connect(server), governed: await connect(proxy) };
  const call = (side: 'bare' | 'governed', n: number) =>
    clients[side].callTool({ name: 'echo', arguments: { message: `hello ${n}` } });
  try {
    for (let n = 0; n < 20; n++) await Promise.all([call('bare', n), call('governed', n)]);
    const pair = new Pair();
    for (let n = 0; n < calls; n++) {
      await pair.time('bare', () => call('bare', n));
      await pair.time('governed', () => call('governed', n));
    }
    return pair.result();
  } finally {
    await Promise.all([clients.bare.close(), clients.governed.close()]);
  }
}

async function run({ way, calls }: Order): Promise<WayResult> {
  if (way === 'guard') return measureGuard(calls);
  const temporary = makeTemporaryFolder();
  const folder = temporary.path;
  try {
    return await (way === 'gate' ? measureGate(calls, folder) : measureMcp(calls, folder));
  } finally {
    temporary.remove();
  }
}

serveOrders(import.meta.url, run);
