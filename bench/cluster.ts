// Three real nodes: how long a decision on one takes to an agent on another, and how many entries a deployment to a
// fleet adds in Redis.
import { createClient } from 'redis';
import type { Env } from '../src/domain/ids.ts';
import { bareHops, decisions } from './decisions.ts';
import { type BenchNodes, startNodes } from './nodes.ts';
import { isMet, lineOf, median, percentile, round, type Verdict } from './numbers.ts';
import { readOptions } from './options.ts';
import { type BenchServices, startServices } from './services.ts';
import { StreamClient, streamRequest } from './stream-client.ts';

/** Milliseconds, 99th percentile. */
const decisionGoal = 40;
const entriesGoal = 10;
const deployments = 3;
const bundleBytes = 4096;
/** Agents that connect side by side: each is written to the store. */
const openAtOnce = 32;

const {
  decisions: count,
  repeats,
  agents,
  json,
} = readOptions({
  program: 'cluster',
  options: {
    decisions: { about: 'decisions, one after another', default: 200 },
    repeats: { about: 'repeats', default: 3, atLeast: 3 },
    agents: { about: 'agents that hold a stream each', default: 3000 },
  },
});

const bundle = (n: number): string => `apiVersion: service/v1
kind: ContractBundle
metadata: {name: bench}
defaults: {mode: enforce}
contracts:
  - {id: a, type: pre, tool: t${n}, when: {args.a: {exists: true}}, then: {effect: deny, message: no}}
# ${'x'.repeat(bundleBytes)}
`;

/** Entries that Redis was given so far, in all streams: XADD counted by Redis itself, inside scripts too. */
async function entriesAdded(ask: (command: string[]) => Promise<unknown>): Promise<number> {
  const info = String(await ask(['INFO', 'commandstats']));
  return Number(/cmdstat_xadd:calls=(\d+)/.exec(info)?.[1] ?? 0);
}

/**
 * Deploys to agents that are spread over the nodes, some times; entries and milliseconds until the last agent has it,
 * of each.
 */
async function deploys({ ports, admin }: BenchNodes, { redisUrl }: BenchServices, env: Env) {
  const redis = createClient({ url: redisUrl });
  await redis.connect();
  const ask = (command: string[]): Promise<unknown> => redis.sendCommand(command);
  const key = await admin.newKey(env);
  const save = async (n: number) =>
    admin.call<{ readonly version: number; readonly revision_hash: string }>('POST', '/api/v1/bundles', {
      yaml_content: bundle(n),
    });
  const deploy = (version: number) => admin.call('POST', `/api/v1/bundles/bench/${version}/deploy`, { env });
  const first = await save(0);
  await deploy(first.version);
  const clients = ports.map(() => new StreamClient());
  const share = Math.ceil(agents / ports.length);
  const opening = performance.now();
  for (const [i, client] of clients.entries()) {
    const request = (agent: string) =>
      streamRequest({ env, key, revision: first.revision_hash, agent: `n${i}-${agent}` });
    await client.connect(ports[i] ?? 0, share, request, openAtOnce);
  }
  const openedPerSecond = (share * ports.length) / ((performance.now() - opening) / 1000);
  const rounds: { entries: number; ms: number }[] = [];
  for (let n = 1; n <= deployments; n++) {
    const { version } = await save(n);
    // What the announcement of the saving left behind must not count.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const counted = await Promise.all(clients.map((client) => client.expect(bundleBytes)));
    const before = await entriesAdded(ask);
    const begun = process.hrtime.bigint();
    await deploy(version);
    const last = (await Promise.all(counted.map(({ last: at }) => at))).sort((x, y) => Number(x - y)).at(-1);
    // What follows from it at once counts too.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    rounds.push({ entries: (await entriesAdded(ask)) - before, ms: Number((last ?? begun) - begun) / 1e6 });
  }
  for (const client of clients) await client.disconnect();
  for (const client of clients) client.stop();
  redis.destroy();
  return { agents: share * ports.length, openedPerSecond, rounds };
}

const services = await startServices();
const nodes = await startNodes(services);
const { env } = await nodes.ownedBy(2);
// The first decisions warm up.
await decisions(nodes, env, 20);
const spans: { hub: readonly number[]; bare: readonly number[] }[] = [];
for (let i = 0; i < repeats; i++) {
  if (i % 2 === 0) {
    const hub = await decisions(nodes, env, count);
    spans.push({ hub, bare: await bareHops(services, count) });
  } else {
    const bare = await bareHops(services, count);
    spans.push({ hub: await decisions(nodes, env, count), bare });
  }
}
const fleet = await deploys(nodes, services, env);
await nodes.stop();
await services.stop();

const both = (list: readonly number[]) => ({ p50: round(median(list)), p99: round(percentile(list, 0.99)) });
const rounds = spans.map(({ hub, bare }) => ({ hub: both(hub), bare: both(bare) }));
const verdicts: readonly Verdict[] = [
  {
    what: 'decided on A, owned by C, heard on B: p99, median of the repeats',
    value: median(rounds.map(({ hub }) => hub.p99)),
    unit: ' ms',
    atMost: decisionGoal,
  },
  {
    what: `entries in Redis of a deployment to ${fleet.agents} agents on 3 nodes, at most`,
    value: Math.max(...fleet.rounds.map(({ entries }) => entries)),
    unit: '',
    atMost: entriesGoal,
  },
];
const met = verdicts.every(isMet);
if (json) {
  const result = {
    benchmark: 'cluster',
    decisions: rounds,
    deployments: fleet.rounds,
    agents: fleet.agents,
    opened_per_s: round(fleet.openedPerSecond, 0),
  };
  process.stdout.write(`${JSON.stringify({ ...result, verdicts, met })}\n`);
} else {
  process.stdout.write(
    `${count} decisions a repeat on 3 nodes; bare: one compare-and-set in the store, one hop through Redis\n`,
  );
  for (const { hub, bare } of rounds) {
    process.stdout.write(
      `  hub p50 ${hub.p50} ms, p99 ${hub.p99} ms; bare p50 ${bare.p50} ms, p99 ${bare.p99} ms; p50 ratio ${round(hub.p50 / bare.p50)}\n`,
    );
  }
  process.stdout.write(
    `  streams of one environment opened, ${openAtOnce} at once: ${round(fleet.openedPerSecond, 0)}/s\n`,
  );
  for (const { entries, ms } of fleet.rounds) {
    process.stdout.write(
      `  deployment to ${fleet.agents} agents: ${entries} entries, last agent after ${round(ms)} ms\n`,
    );
  }
  for (const verdict of verdicts) process.stdout.write(`${lineOf(verdict)}\n`);
}
process.exitCode = met ? 0 : 1;
