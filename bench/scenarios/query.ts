// Reads of a store with many events, each in an open loop of its own: events, statistics, coverage and the pages of the
// web console in the console's API, runs and agents in the hosted one.
import { randomUUID } from 'node:crypto';
import { agentCount, batchSize, makeBatch } from '../batch.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { Loader } from '../suite/loader.ts';
import { Requester } from '../suite/requester.ts';
import type { Scenario, Target } from '../suite/results.ts';
import { newHostedKey } from './hosted.ts';
import {
  latencyFigure,
  measureSample,
  openScenario,
  runOpenRounds,
  type Samples,
  secondsOfTail,
} from './open-rounds.ts';
import { NewestRows, newestRowsText } from './query-bound.ts';
import { consoleReads, fillConsole } from './query-console.ts';
import type { RunOptions } from './scenario.ts';

const rareVerdict = 'call_rare';
const connections = 32;
const fastPerSecond = 20;
/** Of reads that count many events, or whose page has one event from each of a hundred batches. */
const slowPerSecond = 2;
/** The 99th percentile of fewer is that of the first ones: they run code that V8 has not compiled yet. */
const leastCalls = 400;
/**
 * An agent's newest events are read for so long in a closed loop before the rounds: V8 compiles their code after some
 * 2,000 calls.
 */
const warmSeconds = 5;
/** The same for the 95th percentile. */
const leastCallsOf95 = 20;
/** Of reads that one page of the web console sends, some of which have few places at once for a person. */
const pagesPerSecond = 5;

interface Question {
  /** Part of the figure's id. */
  readonly name: string;
  readonly what: string;
  readonly path: string;
  readonly isSlow?: boolean;
  /** Default: by `isSlow` and `percentile` */
  readonly perSecond?: number;
  /** Milliseconds. */
  readonly atMost?: number;
  readonly percentile?: 50 | 95 | 99;
}

const newestPath = '/api/v1/events?agent_id={agent}';
const boundPath = '/?agent={agent}';

const questions: readonly Question[] = [
  {
    name: 'newest',
    what: "an agent's newest 100 events",
    path: newestPath,
    atMost: 5,
  },
  // The page has events of up to a hundred batches. Rounds took 7 to 10 ms without the waits for a processor.
  { name: 'newest_of_all', what: 'the newest 100 events', path: '/api/v1/events', atMost: 15 },
  {
    name: 'filtered',
    what: '100 denied events of one tool',
    path: '/api/v1/events?tool_name=tool-2&verdict=call_denied',
    isSlow: true,
  },
  {
    name: 'unmatched',
    what: 'denied events of a tool that has none, through all events',
    path: '/api/v1/events?tool_name=tool-3&verdict=call_denied',
    isSlow: true,
  },
  {
    name: 'rare',
    what: `${batchSize} events with a verdict that one batch has`,
    path: `/api/v1/events?verdict=${rareVerdict}`,
    perSecond: pagesPerSecond,
    atMost: 500,
  },
  { name: 'overview', what: 'the overview', path: '/api/v1/stats/overview', percentile: 50, atMost: 10 },
  {
    name: 'coverage',
    what: 'coverage of all agents',
    path: '/api/v1/agents/fleet-coverage',
    isSlow: true,
    percentile: 50,
    atMost: 300,
  },
  { name: 'contracts', what: 'statistics of contracts', path: '/api/v1/stats/contracts', isSlow: true },
  { name: 'facets', what: 'facets of an hour', path: '/api/v1/events/facets?since={hour}', isSlow: true },
];

const hostedQuestions: readonly Question[] = [
  { name: 'runs', what: 'a page of 50 runs', path: '/v1/runs', percentile: 50, atMost: 20 },
  {
    name: 'runs_of_agent',
    what: 'runs of an agent',
    path: '/v1/runs?agent_id={agent}',
    percentile: 50,
    atMost: 20,
  },
  {
    name: 'runs_blocked',
    what: 'blocked runs',
    path: '/v1/runs?status=blocked',
    percentile: 50,
    atMost: 20,
  },
  {
    name: 'agent',
    what: 'an agent with its health and newest runs',
    path: '/v1/agents/{agent}',
    percentile: 50,
    atMost: 10,
  },
];

interface Clients {
  readonly loader: Loader;
  readonly requester: Requester;
  readonly bound: NewestRows;
}

const rateOf = ({ isSlow, percentile, perSecond }: Question): number =>
  perSecond ?? (isSlow ? slowPerSecond : percentile === 95 ? pagesPerSecond : fastPerSecond);

const secondsOf = (question: Question, seconds: number): number => {
  const { isSlow, percentile = 99, perSecond } = question;
  if (perSecond !== undefined) return secondsOfTail(perSecond, seconds);
  const least = isSlow || percentile === 50 ? 0 : percentile === 95 ? leastCallsOf95 : leastCalls;
  return Math.max(seconds, least / rateOf(question));
};

/** Of each API. */
const batchesOf = (rows: number): number => Math.max(1, Math.ceil(rows / 2 / batchSize));

/** The rare batch first, then half of the rows by each API, all of one tenant. */
async function fillHub(hub: Hub, { loader }: Clients, key: string, hostedKey: string, rows: number) {
  const response = await fetch(`${hub.url}/api/v1/events`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ events: makeBatch(`bench-${randomUUID()}`, Date.now(), rareVerdict) }),
  });
  if (!response.ok)
    throw new Error(`The rare batch was refused: ${response.status} ${await response.text()}`);
  const order = {
    type: 'closed',
    origin: hub.url,
    connections,
    seconds: 36_000,
    agentsInTurn: true,
  } as const;
  for (const [seed, form, keyOfForm] of [
    [11, 'console', key],
    [13, 'hosted', hostedKey],
  ] as const) {
    const maxBatches = batchesOf(rows);
    await loader.load({ ...order, seed, form, keys: [keyOfForm], maxBatches });
  }
}

async function runOn(hub: Hub, clients: Clients, options: RunOptions) {
  const { rows, seconds, seed, report } = options;
  const { admin, keys } = await makeTenants(hub, 1);
  const token = await admin.newToken();
  report(`storing ${rows} events`, 0);
  await fillHub(hub, clients, keys[0] ?? '', await newHostedKey(hub.url, admin), rows);
  const explained = await fillConsole(hub, admin, keys[0] ?? '');
  const pathOf = ({ path }: Question): string =>
    path
      .replace('{hour}', new Date(Date.now() - 3.6e6).toISOString())
      .replace('{now}', new Date().toISOString())
      .replace('{event}', explained);
  const boundOrigin = await clients.bound.serve(hub.dataFolder, rows);
  const { requester } = clients;
  const agents = Math.min(agentCount, batchesOf(rows));
  const ask = (question: Question, headers: { readonly [name: string]: string }, n: number) =>
    measureSample(hub.pid, [requester.pid], () =>
      requester.open({
        agents,
        origin: hub.url,
        calls: [{ method: 'GET', path: pathOf(question), headers }],
        seed: seed + n,
        seconds: secondsOf(question, seconds),
        perSecond: rateOf(question),
        onRefusal: 'retry',
      }),
    );
  report("an agent's newest events until V8 has compiled them", 0);
  for (const [origin, path, headers] of [
    [hub.url, newestPath, { Cookie: admin.cookie() }],
    [boundOrigin, boundPath, {}],
  ] as const) {
    const calls = [{ method: 'GET', path, headers }];
    await requester.closed({ agents, origin, calls, seed, connections: 1, seconds: warmSeconds });
  }
  const measureHub = async (n: number): Promise<Samples> => {
    const samples: [string, Samples[string]][] = [];
    for (const question of [...questions, ...consoleReads]) {
      samples.push([question.name, await ask(question, { Cookie: admin.cookie() }, n)]);
    }
    for (const question of hostedQuestions) {
      samples.push([question.name, await ask(question, { Authorization: `Bearer ${token}` }, n)]);
    }
    return Object.fromEntries(samples);
  };
  const rounds = await runOpenRounds(options, {
    measureHub,
    // The same client at the same rate: at 20 calls a second both processes find cold caches.
    measureBound: async (n) => ({
      newest: await requester.open({
        agents,
        origin: boundOrigin,
        calls: [{ method: 'GET', path: boundPath, headers: {} }],
        seed: seed + n,
        seconds: Math.max(seconds, leastCalls / fastPerSecond),
        perSecond: fastPerSecond,
      }),
    }),
  });
  return openScenario(options, rounds, {
    name: 'query',
    parameters: { rows, seconds, per_second: fastPerSecond, slow_per_second: slowPerSecond },
    figures: [...questions, ...consoleReads, ...hostedQuestions].map(
      ({ name, what, percentile = 99, atMost }) =>
        latencyFigure(rounds, {
          id: `query.${name}_p${percentile}`,
          what,
          sample: name,
          percentile,
          ...(name === 'newest' ? { bound: { name, what: newestRowsText } } : {}),
          ...(atMost === undefined ? {} : { target: { at_most: atMost, of: 'value' } satisfies Target }),
        }),
    ),
  });
}

export async function runQuery(options: RunOptions): Promise<Scenario> {
  const hub = await openHub(options);
  const clients: Clients = { loader: new Loader(), requester: new Requester(), bound: new NewestRows() };
  try {
    return await runOn(hub, clients, options);
  } finally {
    for (const client of Object.values(clients)) client.stop();
    await hub.stop();
  }
}
