// What the console asks of many events: coverage of the fleet and of one agent, the overview, statistics of contracts,
// facets and a history, over HTTP against the whole hub in this process, at a million stored events of five thousand
// agents.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../adapters/node/clock.ts';
import { openSqlite } from '../adapters/sqlite/index.ts';
import { startHub } from '../src/bootstrap/hub.ts';
import type { EventInput } from '../src/domain/event.ts';
import { benchOperatorToken, setUp } from './admin.ts';
import { makeBatch } from './batch.ts';
import { fillFleet, fleetAgent } from './fleet.ts';
import { benchFolder } from './folder.ts';
import { isMet, lineOf, median, round, type Verdict } from './numbers.ts';
import { readOptions } from './options.ts';

const goals = { fleetMs: 300, overviewMs: 10 };

const { rows, agents, post, repeats, json, say } = readOptions({
  program: 'coverage',
  options: {
    rows: { about: 'stored events, over the last day', default: 1_000_000 },
    agents: { about: 'agents that they are of', default: 5000 },
    post: { about: 'events of a post', default: 5 },
    repeats: { about: 'repeats of each question, whose median is shown', default: 5 },
  },
  note: 'Ends with code 1 when a goal is missed.',
});

/** Five tools, three contracts: the first events of a batch. */
const eventsOf =
  (hash: string) =>
  (_: number, agent: string, at: number): readonly EventInput[] =>
    makeBatch(agent, at)
      .slice(0, post)
      .map((event) => ({
        ...event,
        timestamp: Date.parse(event.timestamp),
        payload: { ...event.payload, policy_version: hash, bundle_name: 'bench' },
      }));

const document = `apiVersion: service/v1
kind: ContractBundle
metadata: { name: bench }
defaults: { mode: enforce }
contracts:
${Array.from(
  { length: 20 },
  (_, i) => `  - id: contract-${i}
    type: pre
    tool: ${i < 3 ? `tool-${i}` : `"other-${i}-*"`}
    when: { args.path: { contains: x${i} } }
    then: { effect: deny, message: no }
`,
).join('')}`;

const { dir, config, remove } = benchFolder({ OPERATOR_TOKEN: benchOperatorToken });
const first = await startHub(config);
const admin = await setUp(`http://127.0.0.1:${first.port}`);
const { tenant_id } = await admin.call<{ readonly tenant_id: string }>('GET', '/api/v1/auth/me');
const { version, revision_hash } = await admin.call<{
  readonly version: number;
  readonly revision_hash: string;
}>('POST', '/api/v1/bundles', { yaml_content: document });
await admin.call('POST', `/api/v1/bundles/bench/${version}/deploy`, { env: 'production' });
await admin.call('POST', '/api/v1/assignment-rules', {
  priority: 1,
  pattern: 'agent-*',
  bundle_name: 'bench',
  env: 'production',
});
await first.stop();

const path = join(dir, 'reeve.db');
const store = await openSqlite({ path, clock: systemClock });
const filling = performance.now();
await fillFleet(store, {
  tenantId: tenant_id,
  rows,
  agents,
  post,
  now: Date.now(),
  bundle: { name: 'bench', revision: revision_hash },
  eventsOf: eventsOf(revision_hash),
});
say(
  `${rows} events of ${agents} agents filled in ${round((performance.now() - filling) / 1000)} s (${statSync(path).size >> 20} MiB)`,
);
await store.close();

const hub = await startHub(config);
const url = `http://127.0.0.1:${hub.port}`;
const headers = { cookie: admin.cookie() };

/** Milliseconds of each repeat: until the answer was here, and of all processors, the client's share included. */
async function timesOf(target: string): Promise<{ readonly times: number[]; readonly cpu: number[] }> {
  const times: number[] = [];
  const cpu: number[] = [];
  for (let i = 0; i <= repeats; i++) {
    const before = process.cpuUsage();
    const began = performance.now();
    const answer = await fetch(`${url}/api/v1${target}`, { headers });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${target}: ${answer.status}`);
    // The first finds nothing warm.
    if (i === 0) continue;
    times.push(performance.now() - began);
    const { user, system } = process.cpuUsage(before);
    cpu.push((user + system) / 1000);
  }
  return { times, cpu };
}

const questions: readonly (readonly [what: string, path: string, atMost?: number])[] = [
  ['fleet coverage, 24h, a page of 1,000', '/agents/fleet-coverage', goals.fleetMs],
  ['fleet coverage, 24h, a page of 5,000', '/agents/fleet-coverage?limit=5000', goals.fleetMs],
  ['fleet coverage, 6h', '/agents/fleet-coverage?since=6h', goals.fleetMs],
  ['fleet coverage, 30d, one environment', '/agents/fleet-coverage?since=30d&env=production', goals.fleetMs],
  ['coverage of an agent, 24h', `/agents/${fleetAgent(7, agents)}/coverage?include_verdicts=true`],
  ['history of an agent', `/agents/${fleetAgent(7, agents)}/history`],
  ['overview', '/stats/overview', goals.overviewMs],
  ['overview of an environment', '/stats/overview?env=production', goals.overviewMs],
  ['statistics of contracts, 24h', '/stats/contracts'],
  ['facets, 1 hour', `/events/facets?since=${new Date(Date.now() - 3_600_000).toISOString()}`],
];
const verdicts: Verdict[] = [];
const others: { readonly what: string; readonly ms: number }[] = [];
for (const [what, target, atMost] of questions) {
  const { times, cpu } = await timesOf(target);
  const ms = round(median(times));
  const busy = `${round(median(cpu))} ms of processors`;
  if (atMost === undefined) {
    others.push({ what, ms });
    say(`  ${what}: ${ms} ms; ${busy}`);
  } else {
    const verdict = { what, value: ms, unit: ' ms', atMost };
    verdicts.push(verdict);
    say(`${lineOf(verdict)}; ${busy}`);
  }
}
await hub.stop();
remove();
if (json) process.stdout.write(`${JSON.stringify({ rows, agents, verdicts, others })}\n`);
process.exit(verdicts.every(isMet) ? 0 : 1);
