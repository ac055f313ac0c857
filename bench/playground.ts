// Time to try one call in the playground over HTTP: 100 contracts that all look at its tool and all pass, one call
// after another as an editor sends them while somebody tries values; and beside it texts that were never compiled
// before. The hub runs in a process of its own. After every fourth call the same client asks for its own user, which
// shows what the machine and the way there cost by themselves. Prints p50 and p99 per round, and whether the p99 of a
// known text is within 5 ms.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { startHub } from '../src/bootstrap/hub.ts';
import { setUp } from './admin.ts';
import { bundleOf } from './contract-bundle.ts';
import { benchFolder } from './folder.ts';
import { isMet, lineOf, median, percentile, round } from './numbers.ts';
import { readOptions } from './options.ts';

const contracts = 100;
const goalMs = 5;
/** A person may send 6,000 requests a minute. */
const bareEvery = 4;

const conditions = [
  'args.path: {matches: "\\\\.(env|pem|key)$"}',
  'args.path: {contains_any: ["/etc/shadow", "/root/.ssh"]}',
  'args.command: {matches: "\\\\brm\\\\s+-[a-z]*[rf]"}',
  'all: [{environment: {equals: production}}, {principal.role: {in: [intern, guest]}}]',
  'args.body: {matches: "(?i)drop\\\\s+table|truncate\\\\s+\\\\w+"}',
  'any: [{args.size: {gt: 1000000}}, {args.path: {starts_with: "/proc/"}}]',
];
const text = (salt: number): string => {
  const whens = Array.from({ length: contracts }, (_, i) => conditions[i % conditions.length] ?? '');
  return `# ${salt}\n${bundleOf(whens)}`;
};

/**
 * The hub, in the process that answers `serve-hub`. Each message asks for the CPU time that it has taken, in
 * microseconds.
 */
async function serveHub(): Promise<void> {
  const folder = benchFolder();
  const hub = await startHub(folder.config);
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.once('disconnect', () => {
    void hub.stop().then(() => {
      folder.remove();
      process.exit(0);
    });
  });
  process.send?.(hub.port);
}

interface Times {
  readonly p50: number;
  readonly p99: number;
}

const timesOf = (times: readonly number[]): Times => ({
  p50: percentile(times, 0.5),
  p99: percentile(times, 0.99),
});

/** One connection of the admin's. Takes nothing of an answer but its bytes: what a client does with them is its own. */
function connectionTo(port: number, cookie: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { Cookie: cookie, 'Content-Type': 'application/json', 'X-Requested-With': 'bench' };

  /** Milliseconds from the request to the last byte of its answer. */
  async function timed(method: string, path: string, body?: string): Promise<{ ms: number; text(): string }> {
    const before = performance.now();
    const sent = request({ agent, host: '127.0.0.1', port, method, path, headers });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part);
    const ms = performance.now() - before;
    const text = (): string => Buffer.concat(parts).toString();
    if (response.statusCode !== 200) throw new Error(`${method} ${path}: ${response.statusCode} ${text()}`);
    return { ms, text };
  }

  return {
    close: () => agent.destroy(),
    bare: async () => (await timed('GET', '/api/v1/auth/me')).ms,
    /** One call of a text. @param read looks whether every contract was asked */
    async tried(yaml_content: string, i: number, read: boolean): Promise<number> {
      const asked = {
        yaml_content,
        tool_name: `write_${i % 7}`,
        tool_args: {
          path: `/workspace/${i}.md`,
          command: `cat ${i}`,
          body: `numbers of ${i}`,
          size: 4096 + i,
        },
        principal: { role: 'analyst' },
      };
      const { ms, text } = await timed('POST', '/api/v1/bundles/evaluate', JSON.stringify(asked));
      if (read) {
        const answer = JSON.parse(text()) as { verdict: string; contracts_evaluated: readonly unknown[] };
        if (answer.verdict !== 'allow' || answer.contracts_evaluated.length !== contracts)
          throw new Error('every call is meant to be looked at, and passed, by every contract');
      }
      return ms;
    },
  };
}

type Connection = ReturnType<typeof connectionTo>;

interface Round {
  readonly known: Times;
  readonly unknown: Times;
  /** GET /auth/me, after every fourth call of a known text. */
  readonly bare: Times;
  /**
   * CPU time of the hub's process, all threads, for one call of a known text and a quarter of a bare request,
   * milliseconds.
   */
  readonly cpu: number;
}

async function measure(
  connection: Connection,
  cpuTime: () => Promise<number>,
  calls: number,
  round: number,
): Promise<Round> {
  const salt = round * 100_000;
  const known = text(salt);
  // A text is compiled by its first call.
  await connection.tried(known, 0, true);
  const times: number[] = [];
  const bare: number[] = [];
  const cpuBefore = await cpuTime();
  for (let i = 0; i < calls; i++) {
    times.push(await connection.tried(known, i, false));
    if (i % bareEvery === 0) bare.push(await connection.bare());
  }
  const cpu = ((await cpuTime()) - cpuBefore) / calls / 1000;
  const unknown: number[] = [];
  for (let i = 1; i <= Math.ceil(calls / 10); i++) {
    const fresh = text(salt + i);
    unknown.push(await connection.tried(fresh, i, true));
  }
  return { known: timesOf(times), unknown: timesOf(unknown), bare: timesOf(bare), cpu };
}

async function main(): Promise<void> {
  const { rounds, calls, json } = readOptions({
    program: 'playground',
    options: {
      rounds: { about: 'rounds, after one that warms up', default: 5, atLeast: 3 },
      calls: { about: 'calls of a known text in a round', default: 500 },
    },
    note: 'Ends with code 1 when the goal is missed.',
  });
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), ['serve-hub']);
  const [port] = (await once(child, 'message')) as [number];
  const admin = await setUp(`http://127.0.0.1:${port}`);
  const connection = connectionTo(port, admin.cookie());
  const cpuTime = async (): Promise<number> => {
    child.send('cpu');
    return ((await once(child, 'message')) as [number])[0];
  };
  const results: Round[] = [];
  // The first round only warms up.
  for (let i = 0; i <= rounds; i++) {
    const made = await measure(connection, cpuTime, calls, i);
    if (i > 0) results.push(made);
  }
  connection.close();
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;

  const verdict = {
    what: `median p99 of a call against ${contracts} contracts of a known text`,
    value: round(median(results.map(({ known }) => known.p99)), 2),
    unit: ' ms',
    atMost: goalMs,
  };
  if (!isMet(verdict)) process.exitCode = 1;
  if (json) {
    process.stdout.write(`${JSON.stringify({ contracts, calls, goalMs, verdict, results })}\n`);
    return;
  }
  const out = (line: string) => process.stdout.write(`${line}\n`);
  const ms = (value: number) => `${value.toFixed(2)} ms`.padStart(10);
  for (const [i, result] of results.entries()) {
    for (const kind of ['known', 'bare', 'unknown'] as const) {
      const { p50, p99 } = result[kind];
      out(`round ${i + 1}  ${kind.padEnd(7)} p50 ${ms(p50)}  p99 ${ms(p99)}`);
    }
    out(`round ${i + 1}  CPU time of the hub for each known call ${ms(result.cpu)}`);
  }
  out(lineOf(verdict));
}

if (process.send && process.argv[2] === 'serve-hub') await serveHub();
else await main();
