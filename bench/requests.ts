// Requests a second of the hub beside a bare server of the same native library that sends the same bytes: the probe of
// health, which asks nothing of anybody, and the deployed bundle as an agent reads it, with its key, its agent's id and
// its limits. Both servers run in processes of their own, in turns, under the same load of autocannon.
import uws from 'uWebSockets.js';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { startHub } from '../src/bootstrap/hub.ts';
import { setUp } from './admin.ts';
import { benchFolder } from './folder.ts';
import { median, percentile, round } from './numbers.ts';
import { readOptions } from './options.ts';

/** A key has 6,000 requests a minute: so many share the load that none is refused. */
const keys = 60;

const bundle = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: bench }
defaults: { mode: enforce }
contracts:
  - { id: a, type: pre, tool: "*", when: { args.path: { contains: .env } }, then: { effect: deny, message: no } }
`;

interface Answer {
  readonly status: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

/** The hub, in the process that answers `hub`. */
async function serveHub(): Promise<void> {
  const folder = benchFolder();
  const hub = await startHub(folder.config);
  process.once('disconnect', () => {
    void hub.stop().then(() => {
      folder.remove();
      process.exit(0);
    });
  });
  process.send?.(hub.port);
}

/** The bare server: sends what it was told to for each path. */
async function serveBare(): Promise<void> {
  const [answers] = (await once(process, 'message')) as [{ readonly [path: string]: Answer }];
  const app = uws.App();
  for (const [path, { status, headers, body }] of Object.entries(answers)) {
    app.get(path, (response) => {
      response.writeStatus(status);
      for (const [name, value] of headers) response.writeHeader(name, value);
      response.end(body);
    });
  }
  app.listen('127.0.0.1', 0, (socket) => {
    if (socket) process.send?.(uws.us_socket_local_port(socket));
  });
  process.once('disconnect', () => process.exit(0));
}

/** What a server answers, byte for byte but for the length, which the native server writes itself. */
async function answerOf(url: string, headers: { readonly [name: string]: string }): Promise<Answer> {
  const [response] = (await once(get(url, { headers: { ...headers } }), 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  const pairs = response.rawHeaders.flatMap((name, i, raw) =>
    i % 2 === 0 ? [[name, raw[i + 1] ?? ''] as const] : [],
  );
  const own = /^(content-length|connection|keep-alive|transfer-encoding|uwebsockets|date)$/i;
  if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode} ${Buffer.concat(parts)}`);
  return {
    status: '200 OK',
    headers: pairs.filter(([name]) => !own.test(name)),
    body: Buffer.concat(parts).toString(),
  };
}

interface Load {
  readonly url: string;
  /** Of the agents that ask in turn. */
  readonly callers: readonly { readonly [name: string]: string }[];
  readonly connections: number;
  readonly seconds: number;
}

/** Requests a second. @throws Error when any was refused or failed */
async function rateOf({ url, callers, connections, seconds }: Load): Promise<number> {
  let next = 0;
  const { requests, errors, non2xx } = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: [{ setupRequest: (request) => ({ ...request, headers: callers[next++ % keys] ?? {} }) }],
  });
  if (errors + non2xx > 0) throw new Error(`${url}: ${errors} failed, ${non2xx} were refused`);
  return requests.average;
}

async function started(
  role: string,
): Promise<{ readonly child: ChildProcess; readonly port: Promise<number> }> {
  const child = fork(fileURLToPath(import.meta.url), [role]);
  return { child, port: once(child, 'message').then(([port]) => port as number) };
}

async function main(): Promise<void> {
  const { connections, seconds, repeats, json, say } = readOptions({
    program: 'requests',
    options: {
      connections: { about: 'that ask one request after another', default: 64 },
      seconds: { about: 'of each measurement', default: 5 },
      repeats: { about: 'repeats of each, in turns', default: 3, atLeast: 3 },
    },
  });

  const hub = await started('hub');
  const hubUrl = `http://127.0.0.1:${await hub.port}`;
  const admin = await setUp(hubUrl);
  await admin.call('POST', '/api/v1/bundles', { yaml_content: bundle });
  await admin.call('POST', '/api/v1/bundles/bench/1/deploy', { env: 'production' });
  const callers: { readonly [name: string]: string }[] = [];
  for (let i = 0; i < keys; i++) {
    callers.push({ Authorization: `Bearer ${await admin.newKey()}`, 'X-Agent-Id': `agent-${i}` });
  }
  const paths = ['/api/v1/health', '/api/v1/bundles/bench/current'];
  const answers = await Promise.all(
    paths.map(async (path) => [path, await answerOf(hubUrl + path, callers[0] ?? {})] as const),
  );
  const bare = await started('bare');
  bare.child.send(Object.fromEntries(answers));
  const bareUrl = `http://127.0.0.1:${await bare.port}`;

  const results = [];
  for (const path of paths) {
    const measure = (server: string, time: number): Promise<number> =>
      rateOf({ url: server + path, callers, connections, seconds: time });
    for (const server of [hubUrl, bareUrl]) await measure(server, 1);
    const rounds = [];
    for (let i = 0; i < repeats; i++) {
      const own = await measure(hubUrl, seconds);
      const peer = await measure(bareUrl, seconds);
      rounds.push({ hub: Math.round(own), bare: Math.round(peer), ratio: round(own / peer, 2) });
    }
    const ratios = rounds.map(({ ratio }) => ratio);
    results.push({ path, rounds, ratio: median(ratios), least: percentile(ratios, 0) });
    say(`GET ${path}`);
    for (const one of rounds) say(`  hub ${one.hub}/s, bare server ${one.bare}/s: ${one.ratio}`);
    say(`  median of ${repeats}: ${median(ratios)} of the bare server`);
  }
  if (json) process.stdout.write(`${JSON.stringify({ connections, seconds, results })}\n`);
  for (const { child } of [hub, bare]) {
    const ended = once(child, 'exit');
    child.disconnect();
    await ended;
  }
}

if (process.send && process.argv[2] === 'hub') await serveHub();
else if (process.send && process.argv[2] === 'bare') await serveBare();
else await main();
