// Cost of traces: processor time of ingest per event on three hubs that take the same load in short turns. Two hubs run
// this checkout, with traces off and on. The third runs the checkout from `--hub`, which is older than traces.
import { setTimeout as delay } from 'node:timers/promises';
import { batchSize } from '../batch.ts';
import { ensureBuild } from '../suite/build.ts';
import { figureOf, maxLoaderShare, maxOtherCores } from '../suite/figures.ts';
import { checkReached, type Hub, makeTenants, startBenchHub, withSlowDowns } from '../suite/hub.ts';
import { coresOf, loadOf, medianOrNull } from '../suite/load.ts';
import { Loader } from '../suite/loader.ts';
import { minus, processorMsOf, startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { root } from '../suite/root.ts';
import { SpanCounter } from '../suite/span-counter.ts';
import { type RunOptions, slowParameter } from './scenario.ts';

const connections = 16;
const tenants = 4;
const sampledShare = 0.01;
/** Of a turn: the load then goes to the next hub. */
const turnSeconds = 0.5;
/** Runs, statistics and exports of spans come after the events that they belong to. */
const settleMs = 2_500;

const sides = ['base', 'off', 'on'] as const;
type Side = (typeof sides)[number];

interface LoadedHub {
  readonly hub: Hub;
  readonly keys: readonly string[];
}

/** By side: microseconds of processor time per event. */
type Costs = { readonly [side in Side]: number | null };

interface Round {
  readonly costs: Costs;
  /** Number of spans that the collector received. */
  readonly spans: number;
  readonly usage: Usage;
}

const settingsOf = (side: Side, collector: string): { readonly [name: string]: string } =>
  side === 'on'
    ? {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector,
        OTEL_TRACES_SAMPLER: 'traceidratio',
        OTEL_TRACES_SAMPLER_ARG: String(sampledShare),
      }
    : {};

class TracesRun {
  readonly #hubs: { readonly [side in Side]: LoadedHub };
  readonly #loader: Loader;
  readonly #collector: SpanCounter;
  readonly #options: RunOptions;
  #orders = 0;

  constructor(
    hubs: { readonly [side in Side]: LoadedHub },
    loader: Loader,
    collector: SpanCounter,
    options: RunOptions,
  ) {
    this.#hubs = hubs;
    this.#loader = loader;
    this.#collector = collector;
    this.#options = options;
  }

  /** @returns accepted events */
  async #load(side: Side, seconds: number, maxBatches?: number): Promise<number> {
    const { hub, keys } = this.#hubs[side];
    const limit = maxBatches === undefined ? {} : { maxBatches };
    const seed = this.#options.seed * 1_000_003 + this.#orders++ * 7919;
    const target = { origin: hub.url, keys, seed, connections, seconds, ...limit };
    const { events } = await this.#loader.load({ type: 'closed', ...target });
    return events;
  }

  async fill(rows: number): Promise<void> {
    for (const side of sides) await this.#load(side, 3600, Math.max(1, Math.ceil(rows / batchSize)));
    await delay(settleMs);
  }

  /** All of a hub's time counts from the first turn to the last, so that work after the answers is its own too. */
  async measureRound(n: number): Promise<Round> {
    await waitUntilQuiet(this.#options.quiet);
    const pids = sides.map((side) => this.#hubs[side].hub.pid);
    const endUsage = startUsage(pids, [this.#loader.pid]);
    const before = pids.map(processorMsOf);
    const spansBefore = this.#collector.spans;
    const events = { base: 0, off: 0, on: 0 };
    const turns = Math.max(1, Math.round(this.#options.seconds / turnSeconds));
    for (let turn = 0; turn < turns; turn++) {
      // The first one of a turn is another each time.
      for (let place = 0; place < sides.length; place++) {
        const side = sides[(n + turn + place) % sides.length] ?? 'off';
        events[side] += await this.#load(side, Math.min(turnSeconds, this.#options.seconds));
      }
    }
    await delay(settleMs);
    const after = pids.map(processorMsOf);
    const usage = endUsage();
    const [base, off, on] = sides.map((side, i) => {
      const spent = minus(after[i] ?? null, before[i] ?? null);
      return spent === null ? null : (spent * 1000) / events[side];
    });
    return {
      costs: { base: base ?? null, off: off ?? null, on: on ?? null },
      spans: this.#collector.spans - spansBefore,
      usage,
    };
  }
}

function figuresOf(rounds: readonly Round[], hasBase: boolean, isDisturbed: boolean): Figure[] {
  const costsOf = (side: Side) => rounds.map(({ costs }) => costs[side]);
  const beside = (side: Side, what: string) => ({ what, rounds: costsOf(side) });
  const form = { unit: 'µs', better: 'lower', isDisturbed } as const;
  const ofBase = {
    bound: beside('base', 'the hub of --hub'),
    target: { at_most: 1.01, of: 'ratio' },
  } as const;
  return [
    figureOf({
      ...form,
      id: 'traces.off_time',
      what: 'processor time per event with traces off',
      rounds: costsOf('off'),
      ...(hasBase ? ofBase : {}),
    }),
    figureOf({
      ...form,
      id: 'traces.on_time',
      what: `processor time per event with ${sampledShare * 100} % of the requests traced`,
      rounds: costsOf('on'),
      bound: beside('off', 'traces off'),
      target: { at_most: 1.05, of: 'ratio' },
    }),
    figureOf({
      id: 'traces.spans',
      what: 'spans that the collector received',
      unit: 'spans',
      better: 'higher',
      rounds: rounds.map(({ spans }) => spans),
      target: { at_least: 1, of: 'value' },
    }),
  ];
}

async function runOn(run: TracesRun, options: RunOptions): Promise<Scenario> {
  const { rounds: count, seconds, rows, hub, report } = options;
  report(`storing ${rows} events in each hub`, 0);
  await run.fill(rows);
  const rounds: Round[] = [];
  for (let n = 0; n < count; n++) {
    const round = await run.measureRound(n);
    rounds.push(round);
    const texts = sides.map((side) => `${side} ${round.costs[side]?.toFixed(1)} µs`);
    report(`round ${n + 1} of ${count}: ${texts.join(', ')}`, (n + 1) / count);
  }
  const usages = rounds.map(({ usage }) => usage);
  const others = medianOrNull(usages.map((usage) => coresOf(usage.otherMs, usage)));
  const busiest = medianOrNull(usages.map((usage) => coresOf(usage.busiestClientMs, usage)));
  const hasOthers = others !== null && others > maxOtherCores;
  const isClientBusy = busiest !== null && busiest > maxLoaderShare;
  const sizes = { rows, seconds, connections, tenants, batch_size: batchSize, sampled: sampledShare };
  return {
    name: 'traces',
    parameters: { ...sizes, ...slowParameter(options) },
    skipped: null,
    limited_by: hasOthers ? 'others' : isClientBusy ? 'client' : 'hub',
    load: loadOf(usages),
    figures: figuresOf(rounds, hub !== root, hasOthers || isClientBusy),
    rivals: [],
  };
}

export async function runTraces(options: RunOptions): Promise<Scenario> {
  const { hub: baseFolder, slow, profile, report } = options;
  // With --hub, nothing else builds this checkout.
  if (baseFolder !== root) ensureBuild('build:quick');
  report('starting three hubs', 0);
  const collector = new SpanCounter();
  const loader = new Loader();
  const started: Hub[] = [];
  const start = async (side: Side): Promise<LoadedHub> => {
    const folder = side === 'base' ? baseFolder : root;
    const preloads = withSlowDowns([], slow);
    const hub = await startBenchHub({ folder, preloads, settings: settingsOf(side, url), profile });
    started.push(hub);
    return { hub, keys: (await makeTenants(hub, tenants)).keys };
  };
  const url = await collector.listen();
  try {
    const hubs = { base: await start('base'), off: await start('off'), on: await start('on') };
    const scenario = await runOn(new TracesRun(hubs, loader, collector, options), options);
    await checkReached(started, slow);
    return scenario;
  } finally {
    loader.stop();
    for (const hub of started) await hub.stop();
    collector.close();
  }
}
