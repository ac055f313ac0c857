// A storm: N agents open their stream at the same moment, as after a network came back. The hub runs in a process of
// its own; the bound beside it, in the same run, is a bare uWebSockets.js loop that sends as many bytes from one
// buffer. Printed: how many were refused, how long until every agent has its document, connections a second, the
// server's processor time per opening (which a busy machine changes least), and resident memory per stream a minute
// later without a forced collection.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../adapters/node/clock.ts';
import { loadUws } from '../adapters/uws/load.ts';
import { median } from './numbers.ts';
import { readOptions } from './options.ts';
import { startHub } from './stream-hub.ts';

/** Connections a second beside the bare loop's; bytes of resident memory per stream. */
const goals = { ratio: 0.5, bytes: 10_240 };
const retryMs = 500;
/** How long a fresh server rests before its memory is read. */
const idleMs = 10_000;
const self = fileURLToPath(import.meta.url);

interface Server {
  readonly port: number;
  /** What opens the stream of `{agent}`. */
  readonly request: string;
}

interface Storm {
  /** From the first connection's start until the last has its document. */
  readonly ms: number;
  /** Answers other than 200, and connections that failed. */
  readonly refused: number;
}

/**
 * The hub, in the process that answers `serve-hub`. No stream says which version it runs, so each is sent the document.
 */
async function serveHub(): Promise<void> {
  const hub = await startHub();
  const request = hub.request('{agent}').replace(/&policy_version=[^ ]*/, '');
  process.send?.({ port: hub.port, request } satisfies Server);
  process.once('disconnect', () => void hub.close().then(() => process.exit(0)));
}

/** The bound: one buffer, one cork and one write for each connection. */
async function serveBare(): Promise<void> {
  const uws = await loadUws();
  const app = uws.App();
  const bytes = Buffer.from(
    `: connected\nretry: 1000\n\nid: 1700000000000-1\nevent: contract_update\ndata: ${'x'.repeat(2048)}\n\n`,
  );
  app.get('/*', (res) => {
    res.onAborted(() => {});
    res.cork(() => res.writeHeader('Content-Type', 'text/event-stream').write(bytes));
  });
  app.listen('127.0.0.1', 0, (socket) => {
    if (!socket) throw new Error('no port for the bare loop');
    const port = uws.us_socket_local_port(socket);
    process.send?.({ port, request: 'GET / HTTP/1.1\r\nHost: a\r\n\r\n' } satisfies Server);
  });
  process.once('disconnect', () => process.exit(0));
}

/** The agents, in a third process: all connections begin in one turn of the event loop. */
function runClient(): void {
  const scratch = Buffer.alloc(256 * 1024);
  const sockets = new Set<net.Socket>();
  function storm({ port, request }: Server, count: number): void {
    const started = performance.now();
    let left = count;
    let refused = 0;
    const open = (text: string): void => {
      let seen = '';
      let ready = false;
      const socket = net.connect({
        port,
        host: '127.0.0.1',
        onread: {
          buffer: scratch,
          callback(length) {
            if (ready) return true;
            // The document may come in pieces; its first line is what tells that it is on its way.
            seen += scratch.toString('latin1', 0, Math.min(length, 2048));
            if (seen.startsWith('HTTP/1.1 200') && seen.includes('event: contract_update')) {
              ready = true;
              seen = '';
              if (--left === 0) process.send?.({ ms: performance.now() - started, refused } satisfies Storm);
            } else if (!seen.startsWith('HTTP/1.1 200')) socket.destroy();
            return true;
          },
        },
      });
      sockets.add(socket);
      socket.once('connect', () => socket.write(text));
      socket.on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        if (ready) return;
        refused++;
        setTimeout(() => open(text), retryMs);
      });
    };
    for (let i = 0; i < count; i++) open(request.replace('{agent}', `agent-${i}`));
  }
  process.on('message', (order: { readonly server: Server; readonly count: number } | 'end') => {
    if (order !== 'end') return storm(order.server, order.count);
    for (const socket of sockets) {
      socket.removeAllListeners('close');
      socket.destroy();
    }
    sockets.clear();
    process.send?.('ended');
  });
}

/** Resident bytes of a process (Linux). */
const rssOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
/** Microseconds of processor time that all threads of a process have had (Linux, where a tick is 10 ms). */
function cpuOf(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = rest.split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * 10_000;
}
const start = (role: string): ChildProcess =>
  fork(self, [role], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
const answer = async <T>(child: ChildProcess): Promise<T> => (await once(child, 'message'))[0] as T;
const pause = (ms: number): Promise<void> => new Promise((resolve) => systemClock.after(ms, resolve));

interface Round extends Storm {
  readonly bytes: number;
  /** Microseconds of processor time per opening, all threads. */
  readonly cpu: number;
}

/** One storm against a fresh server. @param settle seconds before its memory is read */
async function round(role: string, clients: number, settle: number): Promise<Round> {
  const child = start(role);
  const agents = start('client');
  const server = await answer<Server>(child);
  // What making the first password took goes back to the machine some seconds later; read before, it would hide the
  // streams' memory.
  await pause(idleMs);
  const pid = child.pid ?? 0;
  const idle = rssOf(pid);
  const before = cpuOf(pid);
  agents.send({ server, count: clients });
  const storm = await answer<Storm>(agents);
  const cpu = Math.round((cpuOf(pid) - before) / clients);
  await pause(settle * 1000);
  const bytes = Math.round((rssOf(pid) - idle) / clients);
  agents.send('end');
  await answer(agents);
  agents.disconnect();
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
  return { ...storm, bytes, cpu };
}

async function main(): Promise<void> {
  const { clients, repeats, settle, json } = readOptions({
    program: 'storm',
    options: {
      clients: { about: 'agents that connect in one moment', default: 10_000 },
      repeats: { about: 'repeats', default: 3, atLeast: 3 },
      settle: { about: 'seconds until the memory of the streams is read', default: 60, atLeast: 0 },
    },
    note: 'Ends with code 1 when a goal is missed.',
  });
  const rounds: { readonly bare: Round; readonly hub: Round }[] = [];
  for (let i = 0; i < repeats; i++) {
    const bare = await round('serve-bare', clients, 1);
    rounds.push({ bare, hub: await round('serve-hub', clients, settle) });
  }
  const ratio = median(rounds.map(({ bare, hub }) => bare.ms / hub.ms));
  const refused = Math.max(...rounds.map(({ hub }) => hub.refused));
  const bytes = median(rounds.map(({ hub }) => hub.bytes));
  const met = ratio >= goals.ratio && refused === 0 && bytes <= goals.bytes;
  const result = { benchmark: 'storm', clients, ratio, refused, bytes_per_stream: bytes, rounds, goals, met };
  if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else {
    const list = (of: (round: (typeof rounds)[number]) => number): string =>
      rounds.map((one) => Math.round(of(one))).join(', ');
    process.stdout.write(`${clients} agents at once\n`);
    process.stdout.write(`  all have their document after ms: hub ${list(({ hub }) => hub.ms)}; `);
    process.stdout.write(`bare loop ${list(({ bare }) => bare.ms)}\n`);
    process.stdout.write(
      `  connections a second beside the bare loop: ${ratio.toFixed(2)} (goal ${goals.ratio})\n`,
    );
    process.stdout.write(
      `  processor time per opening, µs: hub ${list(({ hub }) => hub.cpu)}; bare loop ${list(({ bare }) => bare.cpu)}\n`,
    );
    process.stdout.write(`  refused: ${list(({ hub }) => hub.refused)} (goal 0)\n`);
    process.stdout.write(
      `  resident bytes per stream: ${list(({ hub }) => hub.bytes)} (goal ${goals.bytes})\n`,
    );
    process.stdout.write(`  ${met ? 'met' : 'MISSED'}\n`);
  }
  process.exitCode = met ? 0 : 1;
}

const role = process.argv[2];
if (process.send && role === 'serve-hub') await serveHub();
else if (process.send && role === 'serve-bare') await serveBare();
else if (process.send && role === 'client') runClient();
else await main();
