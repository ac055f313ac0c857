// kill -9 at any moment loses nothing acknowledged: one hub under load from agents, senders, deciders and a deployer,
// killed again and again. Statistics, runs and the audit chain are what a recount of the events gives.
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkCounter } from '../cluster/chaos/check/counter.ts';
import { checkChain, checkRuns, checkStatistics, readStored } from '../cluster/chaos/check/derived.ts';
import { checkEvents } from '../cluster/chaos/check/events.ts';
import { checkOrder, checkVersions } from '../cluster/chaos/check/streams.ts';
import { agents, allOn, close, open } from '../cluster/chaos/crowd.ts';
import { killAgain } from '../cluster/chaos/faults.ts';
import { type Fleet, startEmbedded } from '../cluster/chaos/fleet.ts';
import { type Call, History } from '../cluster/chaos/history.ts';
import { event, type IngestInput, ingest } from '../cluster/chaos/load.ts';
import { Tenant } from '../cluster/chaos/tenant.ts';
import { random } from '../random.ts';
import { runsOf } from '../runs.ts';

const seed = process.env.SEED ?? '1';
const kills = runsOf(5, 2);

/** Every third call is denied. Each agent has two sessions, and all have three policy versions. */
function eventOf(callId: string, agentId: string) {
  const n = Number(callId.split('/').at(-1));
  const denial = n % 3 === 0 ? { verdict: 'call_denied' } : {};
  const payload = {
    session_id: `session-${n % 2}`,
    decision_name: n % 3 === 0 ? `contract-${n}` : null,
    policy_version: `policy-${n % 3}`,
  };
  return { ...event(callId, agentId), ...denial, payload };
}

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startEmbedded();
});
afterAll(() => fleet?.close());

it(`loses nothing acknowledged and tells every agent the newest revision (SEED=${seed})`, async () => {
  const chance = random(seed);
  const history = new History();
  const tenant = await Tenant.create(fleet, chance);
  const { key } = await tenant.key();
  const first = await tenant.deploy();
  const crowd = agents(fleet, key, 30, chance.branch('agents'));
  await open(crowd);
  const { caller } = fleet;

  const running = new AbortController();
  const repeat = async (pauseMs: number, task: (n: number) => Promise<unknown>) => {
    for (let n = 0; !running.signal.aborted; n++) {
      await task(n);
      await wait(pauseMs, undefined, { signal: running.signal }).catch(() => {});
    }
  };
  const here = fleet.at(0);
  const load = ingest({
    senders: 10,
    batch: 10,
    pauseMs: 60,
    key,
    caller,
    history,
    random: chance.branch('ingest'),
    route: () => here,
    eventOf,
  });
  const decided = new Map<string, string>();
  const requested = new Set<string>();
  const work = [
    repeat(30, () =>
      caller.note(history, 'increment', 1, here, 'POST', '/api/v1/sessions/count/increment', {
        key,
        body: {},
      }),
    ),
    repeat(400, () => tenant.deploy()),
    repeat(100, async (n) => {
      const body = { tool_name: 'rm', message: 'may I?', timeout: 60 };
      const asked = await caller.send(here, 'POST', '/api/v1/approvals', { key, agent: `asker-${n}`, body });
      if (asked.outcome !== 'ok') return;
      requested.add(asked.output.id);
      const answer = await caller.send(here, 'PUT', `/api/v1/approvals/${asked.output.id}`, {
        cookie: tenant.cookie,
        body: { approved: n % 2 === 0 },
      });
      if (answer.outcome === 'ok') decided.set(asked.output.id, n % 2 === 0 ? 'approved' : 'denied');
    }),
  ];

  await killAgain(fleet, chance.branch('kills'), {
    node: 0,
    times: kills,
    runs: [100, 1500],
    // A busy machine gets less done in the time, and every kill must have something to lose.
    hasWorked: (n) => decided.size > n + 6 - kills && history.count('ingest').ok > 3 * (n + 1),
  });
  running.abort();
  await Promise.all([...work, load.stop()]);
  await fleet.heal();

  const judged = checkEvents(history.of<IngestInput>('ingest'), await tenant.eventIds());
  expect(judged.violations).toEqual([]);
  expect(judged.acknowledged).toBeGreaterThan(100);

  const stored = await readStored(fleet, tenant.cookie);
  const body = { role: 'admin', ttl_seconds: 3600 };
  const token = await fleet.must('POST', '/api/v1/operator-tokens', { cookie: tenant.cookie, body });
  const operator = { bearer: token.output.token };
  expect(await checkStatistics(fleet, tenant.cookie, stored)).toEqual([]);
  expect(await checkRuns(fleet, operator, stored)).toEqual([]);
  expect(await checkChain(fleet, operator, stored)).toEqual([]);

  const { output } = await fleet.must('GET', '/api/v1/sessions/count', { key });
  expect(checkCounter(history.of('increment') as Call[], Number(output.value), fleet.deaths(0))).toEqual([]);

  const approvals = new Map<string, string>();
  for (let offset = 0; approvals.size === offset; offset += 1000) {
    const path = `/api/v1/approvals?limit=1000&offset=${offset}`;
    const list = await fleet.must('GET', path, { cookie: tenant.cookie });
    for (const { id, status } of list.output) approvals.set(id, status);
  }
  expect([...requested].filter((id) => !approvals.has(id))).toEqual([]);
  expect([...decided].filter(([id, status]) => approvals.get(id) !== status)).toEqual([]);
  expect(decided.size).toBeGreaterThan(5);

  const last = tenant.deployed.at(-1) ?? first;
  expect(await tenant.current()).toBe(last.version);
  expect((await allOn(crowd, last.version, 8000)).behind).toEqual([]);
  const versions = tenant.deployed.map(({ version }) => version);
  expect(crowd.flatMap((agent) => [...checkOrder(agent), ...checkVersions(agent, versions)])).toEqual([]);
  close(crowd);
}, 120_000);
