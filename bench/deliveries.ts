// Notifications to webhooks, against the whole hub in this process: how long a request for an approval takes to reach a
// receiver when nothing else goes on, and whether one receiver of twenty that never answers delays the other nineteen.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startHub } from '../src/bootstrap/hub.ts';
import { setUp } from './admin.ts';
import { benchFolder } from './folder.ts';
import { isMet, lineOf, median, percentile, round, type Verdict } from './numbers.ts';
import { readOptions } from './options.ts';

const goals = { idleMs: 50, besideDead: 1.2 };
const receiverCount = 20;
const askedPerRound = 50;

const { requests, rounds, json, say } = readOptions({
  program: 'deliveries',
  options: {
    requests: { about: 'approvals that are asked for one after another', default: 100 },
    rounds: { about: 'rounds of 50 approvals, each told to every receiver', default: 5 },
  },
  note: 'Ends with code 1 when a goal is missed.',
});

/** What a receiver does with a notification, by the approval's id, and whether it answers. */
interface Receiver {
  readonly server: Server;
  heard: (id: string) => void;
  dead: boolean;
}

async function receive(): Promise<Receiver> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      if (receiver.dead) return;
      const { approval_id } = JSON.parse(Buffer.concat(pieces).toString()) as { approval_id: string };
      receiver.heard(approval_id);
      response.writeHead(200).end('{}');
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const receiver: Receiver = { server, heard: () => undefined, dead: false };
  return receiver;
}

const { config, remove } = benchFolder({ ALLOW_PRIVATE_OUTBOUND: 'true', APPROVALS_PER_MINUTE: '1000000' });
const hub = await startHub(config);
const url = `http://127.0.0.1:${hub.port}`;
const admin = await setUp(url);
const key = await admin.newKey();

async function addChannel({ server }: Receiver, name: string, agents: string): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const { id } = await admin.call<{ readonly id: string }>('POST', '/api/v1/notifications/channels', {
    name,
    channel_type: 'webhook',
    config: { url: `http://127.0.0.1:${port}/hook` },
    filters: { agent_patterns: [agents] },
  });
  return id;
}

let agents = 0;
/** An agent may ask for ten a minute: each asks once. */
async function ask(kind: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/approvals`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'X-Service-Agent-Id': `${kind}-${++agents}`,
    },
    body: JSON.stringify({ tool_name: 'deploy', message: 'May I?', timeout: 3600 }),
  });
  const body = (await response.json()) as { readonly id?: string };
  if (!body.id) throw new Error(`no approval: ${response.status} ${JSON.stringify(body)}`);
  return body.id;
}

/** From the call that asks to the receiver that hears, one after another, in milliseconds. */
async function idle(receiver: Receiver, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const heard = new Promise<number>((resolve) => {
      receiver.heard = () => resolve(performance.now());
    });
    const began = performance.now();
    await ask('idle');
    times.push((await heard) - began);
  }
  return times;
}

/**
 * Of 50 approvals, asked for five at a time: from the first call to each receiver that hears of each, the slowest but 1
 * %.
 */
async function crowd(receivers: readonly Receiver[]): Promise<number> {
  const times: number[] = [];
  const began = performance.now();
  const all = new Promise<void>((resolve) => {
    for (const receiver of receivers) {
      receiver.heard = () => {
        times.push(performance.now() - began);
        if (times.length === receivers.length * askedPerRound) resolve();
      };
    }
  });
  for (let i = 0; i < askedPerRound; i += 5) await Promise.all(Array.from({ length: 5 }, () => ask('crowd')));
  await all;
  return percentile(times, 0.99);
}

const alone = await receive();
await addChannel(alone, 'alone', 'idle-*');
await idle(alone, 20);
const waits = await idle(alone, requests);
const others: Receiver[] = [];
for (let i = 1; i < receiverCount; i++) {
  const one = await receive();
  others.push(one);
  await addChannel(one, `crowd-${i}`, 'crowd-*');
}
await crowd(others);
// Rounds take turns, so that what else the machine does falls on both.
const dead = await receive();
dead.dead = true;
const without: number[] = [];
const beside: number[] = [];
for (let round = 0; round < rounds; round++) {
  without.push(await crowd(others));
  const channel = await addChannel(dead, `dead-${round}`, 'crowd-*');
  beside.push(await crowd(others));
  await admin.call('DELETE', `/api/v1/notifications/channels/${channel}`);
  dead.server.closeAllConnections();
}
const verdicts: readonly Verdict[] = [
  {
    what: 'request to receiver, idle, p99',
    value: round(percentile(waits, 0.99)),
    unit: ' ms',
    atMost: goals.idleMs,
  },
  {
    what: `${receiverCount * askedPerRound} deliveries, one receiver dead: p99 of the others ÷ without it`,
    value: round(median(beside) / median(without), 2),
    unit: '',
    atMost: goals.besideDead,
  },
];
for (const verdict of verdicts) say(lineOf(verdict));
const list = (times: readonly number[]): string => times.map((ms) => round(ms, 0)).join(', ');
say(`  idle p50 ${round(median(waits))} ms; without it ${list(without)} ms; beside it ${list(beside)} ms`);
await hub.stop();
for (const { server } of [alone, dead, ...others]) {
  server.closeAllConnections();
  server.close();
}
remove();
if (json) process.stdout.write(`${JSON.stringify({ verdicts, without, beside })}\n`);
process.exit(verdicts.every(isMet) ? 0 : 1);
