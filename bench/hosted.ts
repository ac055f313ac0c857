// The hosted API of the whole hub in this process at a million stored events in 20,000 runs: pages of runs, agents with
// their health; then durable ingest through `/v1/events` beside `/api/v1/events`, in turns: the batches of
// bench/ingest.ts, and the same without a run, of which neither projections nor audit entries are kept.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../adapters/node/clock.ts';
import { openSqlite } from '../adapters/sqlite/index.ts';
import { startHub } from '../src/bootstrap/hub.ts';
import { dayMs } from '../src/domain/duration.ts';
import type { Store } from '../src/ports/store.ts';
import { type Admin, adminOf, benchOperatorToken, setUp } from './admin.ts';
import { agentCount, agentName, makeBatch, runsOfAgent, sessionName } from './batch.ts';
import { benchFolder } from './folder.ts';
import { HttpClient } from './http-client.ts';
import { isMet, lineOf, median, percentile, round, type Verdict } from './numbers.ts';
import { readOptions } from './options.ts';

const goals = { runsMs: 20, agentMs: 10, ingestShare: 0.7 };
const connections = 32;
/** The load comes from several tenants, as in bench/ingest.ts. */
const otherTenants = 4;
/** Events of one post of an agent, and posts that are stored together. */
const post = 10;
const together = 100;
/** Runs that wait for a person. */
const asking = 300;

const {
  rows,
  reads,
  seconds,
  rounds: repeats,
  json,
  say,
} = readOptions({
  program: 'hosted',
  options: {
    rows: {
      about: `stored events, over the last day, in ${agentCount * runsOfAgent} runs of ${agentCount} agents`,
      default: 1_000_000,
    },
    reads: { about: 'repeats of each question, whose median is shown', default: 100 },
    seconds: { about: 'length of each round of ingest', default: 8 },
    rounds: { about: 'rounds of ingest through each API', default: 5, atLeast: 5 },
  },
  note: 'Ends with code 1 when a goal is missed.',
});

const ruleset = `apiVersion: service/v1
kind: Ruleset
metadata: { name: bench }
rules:
  - { id: a, type: pre, tool: "*", when: { args.path: { contains: .env } }, then: { action: block, message: no } }
`;

/** What a run's last post ends with: one in five is refused, one in five is over, one in twenty asks for a person. */
function ending(run: number): { readonly verdict?: string; readonly workflow?: object } {
  const snapshot = { name: 'flow', active_stage: 'review', completed_stages: ['plan', 'build'] };
  if (run % 20 === 7)
    return { workflow: { ...snapshot, pending_approval: { required: true, message: 'May I?' } } };
  if (run % 5 === 1) return { verdict: 'call_blocked' };
  if (run % 5 === 3) return { workflow: { ...snapshot, active_stage: '', pending_approval: {} } };
  return {};
}

/** Stores the events in the order in which agents would send them: each run lasts some minutes of the last day. */
async function fill(store: Store, tenantId: string, hash: string): Promise<void> {
  const runs = agentCount * runsOfAgent;
  const posts = Math.ceil(rows / post);
  const postsOfRun = Math.ceil(posts / runs);
  const start = Date.now() - dayMs + 60_000;
  let next = 0;
  async function sender(): Promise<void> {
    for (let from = next; from < posts; from = next) {
      next = from + together;
      const receivedAt = Math.floor(start + (from / posts) * (dayMs - 60_000));
      const events = Array.from({ length: Math.min(together, posts - from) }, (_, k) => {
        const run = Math.floor((from + k) / postsOfRun);
        const isLast = (from + k) % postsOfRun === postsOfRun - 1;
        const made = makeBatch(agentName(run), receivedAt).slice(0, post);
        return made.map((event, i) => {
          const { workflow, ...said } = isLast && i === post - 1 ? ending(run) : {};
          const session_id = sessionName(Math.floor(run / agentCount));
          const payload = {
            ...event.payload,
            session_id,
            policy_version: hash,
            ...(workflow ? { workflow } : {}),
          };
          return { ...event, ...said, timestamp: Date.parse(event.timestamp), payload };
        });
      }).flat();
      await store.events.ingest({ tenantId, env: 'production', receivedAt, events });
    }
  }
  await Promise.all(Array.from({ length: 8 }, sender));
  for (let n = 0; n < agentCount; n++) {
    await store.agents.seen(tenantId, agentName(n), 'production', Date.now(), crypto.randomUUID());
  }
}

/** A hosted key that is bound to no environment, and a token to read with, of the signed-in admin's tenant. */
async function credentials(url: string, admin: Admin) {
  const { token } = await admin.call<{ readonly token: string }>('POST', '/api/v1/operator-tokens', {
    role: 'admin',
    ttl_seconds: 86_400,
  });
  const send = async (method: string, path: string, type: string, body: string, bearer = token) => {
    const headers = { Authorization: `Bearer ${bearer}`, 'Content-Type': type };
    const answer = await fetch(url + path, { method, headers, body });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { readonly [name: string]: unknown };
  };
  const { key } = await send('POST', '/v1/keys', 'application/json', '{"name":"bench"}');
  return { token, key: String(key), send };
}

const { dir, config, remove } = benchFolder({ OPERATOR_TOKEN: benchOperatorToken });
const first = await startHub(config);
const firstUrl = `http://127.0.0.1:${first.port}`;
const admin = await setUp(firstUrl);
const { tenant_id } = await admin.call<{ readonly tenant_id: string }>('GET', '/api/v1/auth/me');
const main = await credentials(firstUrl, admin);
const { revision_hash } = await main.send('PUT', '/v1/rulesets/bench', 'application/x-yaml', ruleset);
const consoleKeys = [await admin.newKey()];
const hostedKeys = [main.key];
for (let i = 1; i <= otherTenants; i++) {
  const other = adminOf(firstUrl);
  consoleKeys.push(await other.newTenant(`bench-${i}`));
  hostedKeys.push((await credentials(firstUrl, other)).key);
}
await first.stop();

const path = join(dir, 'reeve.db');
const store = await openSqlite({ path, clock: systemClock });
const filling = performance.now();
await fill(store, tenant_id, String(revision_hash));
await store.close();
say(
  `${rows} events in ${agentCount * runsOfAgent} runs filled in ${round((performance.now() - filling) / 1000)} s ` +
    `(${statSync(path).size >> 20} MiB)`,
);

const hub = await startHub(config);
const { port } = hub;
for (let i = 0; i < asking; i++) {
  const body = { agent_id: agentName(i), session_id: sessionName(i), tool_name: 'deploy', message: 'May I?' };
  const response = await fetch(`http://127.0.0.1:${port}/v1/approvals`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${main.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...body, timeout: 86_400 }),
  });
  if (response.status !== 201) throw new Error(`approvals: ${response.status} ${await response.text()}`);
}

const client = new HttpClient();
const reader = { Authorization: `Bearer ${main.token}` };

/** Milliseconds of each answer, and of the hub's processors for one. */
async function timesOf(asked: string) {
  const order = { port, headers: reader, path: asked, pauseMs: 2 };
  // The first find nothing warm.
  await client.read({ ...order, count: 5 });
  const before = process.cpuUsage();
  const times = await client.read({ ...order, count: reads });
  const { user, system } = process.cpuUsage(before);
  return { times, cpu: (user + system) / 1000 / reads };
}

async function cursorOf(asked: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}${asked}`, { headers: reader });
  const { next_cursor } = (await answer.json()) as { readonly next_cursor: string };
  return encodeURIComponent(next_cursor);
}

const questions: readonly (readonly [what: string, path: string, atMost?: number])[] = [
  ['runs, a page of 50', '/v1/runs', goals.runsMs],
  ['runs, a page of 200', '/v1/runs?limit=200', goals.runsMs],
  ['runs, the page behind a cursor', `/v1/runs?cursor=${await cursorOf('/v1/runs?limit=200')}`, goals.runsMs],
  ['runs, offset 10,000', '/v1/runs?offset=10000', goals.runsMs],
  ['runs of an agent', '/v1/runs?agent_id={agent}', goals.runsMs],
  ['runs of a session', '/v1/runs?session_id={session}', goals.runsMs],
  ['one run', '/v1/runs?agent_id={agent}&session_id={session}', goals.runsMs],
  ...['active', 'approval_pending', 'blocked', 'completed', 'stale'].map(
    (status) => [`runs that are ${status}`, `/v1/runs?status=${status}`, goals.runsMs] as const,
  ),
  [
    'runs that are blocked or wait for a person',
    '/v1/runs?status=blocked&status=approval_pending',
    goals.runsMs,
  ],
  ['an agent with its health and newest runs', '/v1/agents/{agent}', goals.agentMs],
  ['agents, a page of 100', '/v1/agents'],
  ['workflow state of a session', `/v1/agents/${agentName(7)}/workflow-state?session_id=${sessionName(0)}`],
];
const verdicts: Verdict[] = [];
const figures: object[] = [];
for (const [what, asked, atMost] of questions) {
  const { times, cpu } = await timesOf(asked);
  const ms = round(median(times), 2);
  const more = `p99 ${round(percentile(times, 0.99))} ms; ${round(cpu, 2)} ms of the hub's processors`;
  figures.push({ what, ms, p99: round(percentile(times, 0.99), 2), cpu: round(cpu, 2) });
  if (atMost === undefined) {
    say(`  ${what}: ${ms} ms; ${more}`);
  } else {
    const verdict = { what, value: ms, unit: ' ms', atMost };
    verdicts.push(verdict);
    say(`${lineOf(verdict)}; ${more}`);
  }
}

interface IngestFigures {
  readonly eventsPerSecond: number;
  /** CPU time of the hub's process per event, microseconds. */
  readonly cpu: number;
}

const forms = ['console', 'hosted', 'consoleWithoutRun'] as const;
type Form = (typeof forms)[number];

async function ingest(form: Form, length: number): Promise<IngestFigures> {
  const before = process.cpuUsage();
  const keys = form === 'hosted' ? hostedKeys : consoleKeys;
  const { events, elapsedMs } = await client.ingest({ port, keys, connections, seconds: length, form });
  const { user, system } = process.cpuUsage(before);
  return { eventsPerSecond: Math.round((events * 1000) / elapsedMs), cpu: round((user + system) / events) };
}

type Round = { readonly [F in Form]: IngestFigures };
const rounds: Round[] = [];
for (const form of forms) await ingest(form, Math.min(3, seconds));
for (let n = 0; n < repeats; n++) {
  const made = new Map<Form, IngestFigures>();
  // Whoever comes later finds the store larger: they change places.
  for (let i = 0; i < forms.length; i++) {
    const form = forms[(n + i) % forms.length] ?? 'console';
    made.set(form, await ingest(form, seconds));
  }
  const figures = Object.fromEntries(made) as Round;
  rounds.push(figures);
  const lines = forms.map((form) => `${form} ${figures[form].eventsPerSecond} (${figures[form].cpu} µs)`);
  say(`round ${n + 1}, events/s and processor time of each: ${lines.join(', ')}`);
}
client.stop();
await hub.stop();
remove();

/** The hosted API's share of the console's, in the median. */
const share = (than: Form, of: (figures: IngestFigures) => number): number =>
  round(median(rounds.map((one) => of(one.hosted) / of(one[than]))), 2);
const rateOf = ({ eventsPerSecond }: IngestFigures): number => eventsPerSecond;
const perProcessor = ({ cpu }: IngestFigures): number => 1 / cpu;
const rate: Verdict = {
  what: 'rate of ingest through /v1 ÷ through /api/v1, median',
  value: share('console', rateOf),
  unit: '',
  atLeast: goals.ingestShare,
};
verdicts.push(rate);
const shares = {
  byProcessor: share('console', perProcessor),
  withoutRun: share('consoleWithoutRun', rateOf),
  withoutRunByProcessor: share('consoleWithoutRun', perProcessor),
};
say(lineOf(rate));
say(`  the same by processor time: ${shares.byProcessor}`);
say(
  `  ÷ events that belong to no run: ${shares.withoutRun}, by processor time ${shares.withoutRunByProcessor}`,
);
const met = verdicts.every(isMet);
if (json) {
  process.stdout.write(
    `${JSON.stringify({ benchmark: 'hosted', rows, figures, rounds, shares, verdicts, met })}\n`,
  );
}
process.exit(met ? 0 : 1);
