// Decisions: one call against 100 contracts in the library, the same over HTTP in the hub's playground, and a replay of
// stored calls.
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { batchSize } from '../batch.ts';
import { decisionRivalsOf } from '../rivals/index.ts';
import { figureOf } from '../suite/figures.ts';
import type { HttpCall } from '../suite/http-call.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { Loader } from '../suite/loader.ts';
import { minus, processorMsOf } from '../suite/machine.ts';
import { Requester } from '../suite/requester.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { byHandText, contractCount, Engine, type EngineResult, saltedBundle } from './engine.ts';
import {
  latencyFigure,
  measureSample,
  type OpenRound,
  openScenario,
  runOpenRounds,
  samplesAreDisturbed,
} from './open-rounds.ts';
import { measureDecisions } from './rival-decisions.ts';
import type { RunOptions } from './scenario.ts';

/** A person may send 6,000 requests a minute. */
const perSecond = 20;
const newTextsPerSecond = 2;
const warmCalls = 2000;
const replayedCalls = 10_000;
const callsOfSecond = 4000;

interface Clients {
  readonly engine: Engine;
  readonly requester: Requester;
  readonly loader: Loader;
}

interface EngineRound {
  readonly engine: EngineResult;
  readonly byHand: EngineResult;
}

interface Replay {
  readonly elapsedMs: number;
  readonly processorMs: number | null;
}

const playgroundCall = (yaml: string, headers: HttpCall['headers']): HttpCall => ({
  method: 'POST',
  path: '/api/v1/bundles/evaluate',
  headers,
  body: JSON.stringify({
    yaml_content: yaml,
    tool_name: 'write_1',
    tool_args: { path: '/workspace/{n}.md', command: 'cat {n}', body: 'numbers of {n}', size: 4096 },
    principal: { role: 'analyst' },
  }),
});

function engineFigures(rounds: readonly EngineRound[], isDisturbed: boolean): Figure[] {
  const p99 = ({ durations }: EngineResult): number =>
    decodeFromCompressedBase64(durations).getValueAtPercentile(99) / 1000;
  const against = `one call against ${contractCount} contracts in the library`;
  const of = (value: (result: EngineResult) => number) => ({
    rounds: rounds.map(({ engine }) => value(engine)),
    bound: { what: byHandText, rounds: rounds.map(({ byHand }) => value(byHand)) },
  });
  return [
    figureOf({
      id: 'evaluate.library_time',
      what: `processor time of ${against}`,
      unit: 'µs',
      better: 'lower',
      ...of(({ time }) => time),
    }),
    figureOf({
      id: 'evaluate.library_p99',
      what: `${against}, p99`,
      unit: 'µs',
      better: 'lower',
      ...of(p99),
      target: { at_most: 200, of: 'value' },
      isDisturbed,
    }),
  ];
}

function replayFigures(replays: readonly Replay[], calls: number, isDisturbed: boolean): Figure[] {
  if (replays.length === 0) return [];
  const what = `a replay of ${calls} stored calls by two documents with ${contractCount} contracts each`;
  return [
    figureOf({
      id: 'evaluate.replay',
      what: `${what}, over HTTP`,
      unit: 's',
      better: 'lower',
      rounds: replays.map(({ elapsedMs }) => elapsedMs / 1000),
    }),
    figureOf({
      id: 'evaluate.replay_time',
      what: `processor time of the hub for ${what}`,
      unit: 's',
      better: 'lower',
      rounds: replays.map(({ processorMs }) => (processorMs === null ? null : processorMs / 1000)),
      target: { at_most: 2, of: 'value' },
      isDisturbed,
    }),
  ];
}

/** Stores calls and the version that replays compare with. @returns a call that replays them, and their number */
async function prepareReplay(hub: Hub, { loader }: Clients, options: RunOptions, setup: Setup) {
  const calls = Math.min(replayedCalls, Math.max(batchSize, options.rows));
  const order = { type: 'closed', origin: hub.url, keys: setup.keys.slice(0, 1), connections: 8 } as const;
  await loader.load({ ...order, seed: options.seed, seconds: 600, maxBatches: Math.ceil(calls / batchSize) });
  const { version } = await setup.admin.call<{ readonly version: number }>('POST', '/api/v1/bundles', {
    yaml_content: saltedBundle(1),
  });
  const candidate = `${saltedBundle(2)}  - {id: last, type: pre, tool: "*", when: {args.path: {contains: "/7.txt"}},
     then: {effect: deny, message: no}}\n`;
  const replay = async (): Promise<Replay> => {
    const began = performance.now();
    const before = processorMsOf(hub.pid);
    const body = { yaml_content: candidate, env: 'production', base_version: version, calls };
    await setup.admin.call('POST', '/api/v1/bundles/replay', body);
    return {
      elapsedMs: performance.now() - began,
      processorMs: minus(processorMsOf(hub.pid), before),
    };
  };
  return { calls, replay };
}

type Setup = Awaited<ReturnType<typeof makeTenants>>;

interface Measured {
  readonly rounds: readonly OpenRound[];
  readonly engineRounds: readonly EngineRound[];
  readonly replays: readonly Replay[];
  /** Calls of each round that the hub refused. */
  readonly refusals: readonly number[];
}

/** @param replay null: calls are not replayed */
async function measureRounds(
  hub: Hub,
  { engine, requester }: Clients,
  options: RunOptions,
  headers: { readonly [name: string]: string },
  replay: (() => Promise<Replay>) | null,
): Promise<Measured> {
  const { seed } = options;
  const cached = playgroundCall(saltedBundle(1), headers);
  const signedIn: HttpCall = { method: 'GET', path: '/api/v1/auth/me', headers };
  let refused = 0;
  const refusals: number[] = [];
  const ask = async (call: HttpCall, n: number, rate = perSecond, seconds = options.seconds) => {
    const load = { origin: hub.url, calls: [call], seed: seed + n, seconds, perSecond: rate } as const;
    const result = await requester.open({ ...load, onRefusal: 'accept' });
    refused += result.refused;
    return result;
  };
  await ask(cached, 0, perSecond, 1);
  for (const subject of ['engine', 'byHand'] as const) await engine.measure({ subject, calls: warmCalls });
  const engineRounds: EngineRound[] = [];
  const replays: Replay[] = [];
  const measure = (subject: keyof EngineRound) =>
    engine.measure({ subject, calls: Math.ceil(options.seconds * callsOfSecond) });
  const rounds = await runOpenRounds(options, {
    async measureHub(n) {
      engineRounds.push({ engine: await measure('engine'), byHand: await measure('byHand') });
      if (replay) replays.push(await replay());
      const pids = [requester.pid];
      refused = 0;
      const samples = {
        playground: await measureSample(hub.pid, pids, () => ask(cached, n)),
        new_text: await measureSample(hub.pid, pids, () =>
          ask(playgroundCall(`# ${n} {n}\n${saltedBundle(3)}`, headers), n, newTextsPerSecond),
        ),
      };
      refusals.push(refused);
      return samples;
    },
    measureBound: async (n) => ({ playground: await ask(signedIn, n) }),
  });
  return { rounds, engineRounds, replays, refusals };
}

function figuresOf({ rounds, engineRounds, replays, refusals }: Measured, calls: number): Figure[] {
  const isDisturbed = samplesAreDisturbed(rounds);
  const against = `one call against a text with ${contractCount} contracts in the playground`;
  return [
    ...engineFigures(engineRounds, isDisturbed),
    latencyFigure(rounds, {
      id: 'evaluate.playground_p99',
      what: `${against}, cached`,
      sample: 'playground',
      bound: { name: 'playground', what: 'a request for the signed-in user' },
      target: { at_most: 5, of: 'value' },
    }),
    latencyFigure(rounds, { id: 'evaluate.new_text_p99', what: `${against}, new`, sample: 'new_text' }),
    figureOf({
      id: 'evaluate.refused',
      what: 'calls in the playground that the hub refused, because too many waited',
      unit: 'calls',
      better: 'lower',
      rounds: refusals,
      target: { at_most: 0, of: 'value' },
      isDisturbed,
    }),
    ...replayFigures(replays, calls, isDisturbed),
  ];
}

async function runOn(hub: Hub, clients: Clients, options: RunOptions) {
  const { rounds, seconds, seed, report } = options;
  const setup = await makeTenants(hub, 1);
  const headers = {
    Cookie: setup.admin.cookie(),
    'Content-Type': 'application/json',
    'X-Requested-With': 'bench',
  };
  report('warming up', 0);
  // Others' hubs keep no calls and no bundle of this.
  const stored = hub.access === null ? await prepareReplay(hub, clients, options, setup) : null;
  const measured = await measureRounds(hub, clients, options, headers, stored?.replay ?? null);
  const form = { rounds, seconds, perSecond, seed };
  const rivals = await measureDecisions(decisionRivalsOf(options.rivals), clients.requester, form);
  const calls = stored?.calls ?? 0;
  const scenario = openScenario(options, measured.rounds, {
    name: 'evaluate',
    parameters: { seconds, per_second: perSecond, replayed_calls: calls },
    figures: figuresOf(measured, calls),
  });
  return { ...scenario, rivals };
}

export async function runEvaluate(options: RunOptions): Promise<Scenario> {
  const hub = await openHub(options);
  const clients: Clients = { engine: new Engine(), requester: new Requester(), loader: new Loader() };
  try {
    return await runOn(hub, clients, options);
  } finally {
    for (const client of Object.values(clients)) client.stop();
    await hub.stop();
  }
}
