// Durable ingest: the rate in a closed loop, the time until an answer in an open loop at 70 % of that rate, and the
// cost per event, in turns with the bounds. Runs, statistics and audit are counted by the hub as for any event.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { batchSize } from '../batch.ts';
import { figureOf, maxLagMs, maxLoaderShare, maxOtherCores } from '../suite/figures.ts';
import { mergeLatencies, newHistogram } from '../suite/histogram.ts';
import { type Hub, makeKeys, openHub } from '../suite/hub.ts';
import { coresOf, describeUsage, loadOf, medianOrNull } from '../suite/load.ts';
import { Loader, type LoadResult } from '../suite/loader.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { medianOf } from '../suite/statistics.ts';
import { type BoundName, boundTexts } from './ingest-bounds.ts';
import { type RunOptions, slowParameter } from './scenario.ts';

const connections = 32;
/** Connections take the keys of the tenants in turn. Each tenant may send 6,000,000 events a minute. */
const tenants = 8;
const openShare = 0.7;
/** Time between two samples of event-loop delays. */
const loopSampleMs = 1;
const boundNames: readonly BoundName[] = ['insert', 'append', 'parse'];

interface Phase extends LoadResult {
  readonly usage: Usage;
}

export interface Round {
  /** Event-loop delay, p99, milliseconds: of the hub's main thread, and of the suite, which rests meanwhile. */
  readonly loop: { readonly hub: number | null; readonly idle: number };
  readonly closed: Phase;
  readonly open: Phase;
  readonly bounds: { readonly [name in BoundName]: number };
}

class IngestRun {
  readonly #options: RunOptions;
  readonly #hub: Hub;
  readonly #keys: readonly string[];
  readonly #loaders: readonly Loader[];
  #orders = 0;

  constructor(options: RunOptions, hub: Hub, keys: readonly string[], loaders: readonly Loader[]) {
    this.#options = options;
    this.#hub = hub;
    this.#keys = keys;
    this.#loaders = loaders;
  }

  get #target() {
    const { url: origin, runName } = this.#hub;
    const { ids } = this.#options;
    return { origin, keys: this.#keys, ids, ...(runName === null ? {} : { agentPrefix: runName }) };
  }

  /** No two orders have a seed in common: the hub stores a call id once. */
  #nextSeed = (): number => this.#options.seed * 1_000_003 + this.#orders++ * 7919;

  async #measure(load: (loader: Loader, seed: number) => Promise<LoadResult>): Promise<Phase> {
    const pids = this.#loaders.map(({ pid }) => pid);
    const endUsage = startUsage(this.#hub.pid, pids);
    const results = await Promise.all(this.#loaders.map((loader) => load(loader, this.#nextSeed())));
    const usage = endUsage();
    const merged = newHistogram();
    for (const { latencies } of results) merged.add(decodeFromCompressedBase64(latencies));
    return {
      events: results.reduce((sum, { events }) => sum + events, 0),
      elapsedMs: Math.max(...results.map(({ elapsedMs }) => elapsedMs)),
      latencies: encodeIntoCompressedBase64(merged),
      lagMs: Math.max(...results.map(({ lagMs }) => lagMs)),
      usage,
    };
  }

  measureClosed(seconds: number, maxBatches?: number): Promise<Phase> {
    const share = this.#loaders.length;
    const limit = maxBatches === undefined ? {} : { maxBatches: Math.ceil(maxBatches / share) };
    return this.#measure((loader, seed) =>
      loader.load({
        type: 'closed',
        ...this.#target,
        seed,
        connections: Math.max(1, Math.round(connections / share)),
        seconds,
        ...limit,
      }),
    );
  }

  #measureOpen(batchesPerSecond: number): Promise<Phase> {
    const target = { ...this.#target, seconds: this.#options.seconds };
    const rate = batchesPerSecond / this.#loaders.length;
    return this.#measure((loader, seed) =>
      loader.load({ type: 'open', ...target, seed, batchesPerSecond: rate }),
    );
  }

  async #measureBounds(): Promise<Round['bounds']> {
    const [loader] = this.#loaders;
    const { seconds, ids } = this.#options;
    const order = { seconds: seconds / boundNames.length, folder: this.#hub.dataFolder, ids };
    const rates = { insert: 0, append: 0, parse: 0 };
    for (const bound of boundNames) rates[bound] = (await loader?.measureBound({ bound, ...order })) ?? 0;
    return rates;
  }

  async #startLoop(): Promise<() => Promise<Round['loop']>> {
    const ask = async (): Promise<number | null> =>
      this.#hub.access === null ? Number(await this.#hub.ask('loop')) : null;
    const delays = monitorEventLoopDelay({ resolution: loopSampleMs });
    await ask();
    delays.enable();
    return async () => {
      delays.disable();
      return { hub: await ask(), idle: Math.max(0, delays.percentile(99) / 1e6 - loopSampleMs) };
    };
  }

  /** Odd rounds measure the bounds first, even ones last. */
  async measureRound(n: number): Promise<Round> {
    await waitUntilQuiet(this.#options.quiet);
    const early = n % 2 === 1 ? await this.#measureBounds() : null;
    const endLoop = await this.#startLoop();
    const closed = await this.measureClosed(this.#options.seconds);
    const loop = await endLoop();
    const batches = closed.events / batchSize / (closed.elapsedMs / 1000);
    const open = await this.#measureOpen(batches * openShare);
    return { loop, closed, open, bounds: early ?? (await this.#measureBounds()) };
  }
}

/** The limits of the closed and the open loops: client, other work on the machine, or none of both. */
export function findDisturbances(rounds: readonly Round[]) {
  const others = medianOrNull(
    rounds.flatMap(({ closed, open }) => [closed, open].map(({ usage }) => coresOf(usage.otherMs, usage))),
  );
  const loader = medianOrNull(rounds.map(({ closed: { usage } }) => coresOf(usage.busiestClientMs, usage)));
  const lagMs = medianOf(rounds.map(({ open }) => open.lagMs));
  const hasOthers = others !== null && others > maxOtherCores;
  return {
    hasOthers,
    isClientBusy: loader !== null && loader > maxLoaderShare,
    isLoaderLate: lagMs > maxLagMs,
    others,
  };
}

type Disturbances = ReturnType<typeof findDisturbances>;

const delayFigures = (
  rounds: readonly Round[],
  { hasOthers, isLoaderLate }: Disturbances,
): readonly Figure[] => [
  figureOf({
    id: 'ingest.loop_p99',
    what: "event-loop delay of the hub's main thread at the full rate, p99",
    unit: 'ms',
    better: 'lower',
    rounds: rounds.map(({ loop }) => loop.hub),
    bound: { what: 'an idle process at the same time', rounds: rounds.map(({ loop }) => loop.idle) },
    target: { at_most: 5, of: 'value' },
    isDisturbed: hasOthers,
  }),
  figureOf({
    id: 'ingest.answer_p99',
    what: `answers at ${openShare * 100} % of the rate, p99 from the due times`,
    unit: 'ms',
    better: 'lower',
    rounds: rounds.map(
      ({ open }) => decodeFromCompressedBase64(open.latencies).getValueAtPercentile(99) / 1000,
    ),
    target: { at_most: 100, of: 'value' },
    isDisturbed: hasOthers || isLoaderLate,
    histogram: mergeLatencies(rounds.map(({ open }) => open.latencies)),
  }),
];

export function ingestFigures(rounds: readonly Round[], disturbances: Disturbances): Figure[] {
  const { hasOthers, isClientBusy } = disturbances;
  const isRateDisturbed = hasOthers || isClientBusy;
  const rates = rounds.map(({ closed }) => (closed.events * 1000) / closed.elapsedMs);
  const perEvent = (value: (usage: Usage) => number | null): (number | null)[] =>
    rounds.map(({ closed: { usage, events } }) => {
      const total = value(usage);
      return total === null ? null : total / events;
    });
  const beside = (name: BoundName) => ({
    what: boundTexts[name],
    rounds: rounds.map(({ bounds }) => bounds[name]),
  });
  const rate = { what: 'durable events', unit: 'events/s', better: 'higher', rounds: rates } as const;
  return [
    figureOf({
      ...rate,
      id: 'ingest.rate',
      bound: beside('insert'),
      target: { at_least: 3, of: 'ratio' },
      isDisturbed: isRateDisturbed,
    }),
    figureOf({ ...rate, id: 'ingest.rate_of_append', bound: beside('append') }),
    figureOf({
      id: 'ingest.processor_time',
      what: "processor time of the hub's process per event",
      unit: 'µs',
      better: 'lower',
      rounds: perEvent(({ hubMs }) => (hubMs === null ? null : hubMs * 1000)),
      bound: { what: boundTexts.parse, rounds: rounds.map(({ bounds }) => 1e6 / bounds.parse) },
      target: { at_most: 36, of: 'value' },
      isDisturbed: isRateDisturbed,
    }),
    figureOf({
      id: 'ingest.written_bytes',
      what: "bytes written by the hub's process per event",
      unit: 'bytes',
      better: 'lower',
      rounds: perEvent(({ writtenBytes }) => writtenBytes),
      target: { at_most: 3000, of: 'value' },
      // At a lower rate, each commit has fewer events.
      isDisturbed: isRateDisturbed,
    }),
    figureOf({
      id: 'ingest.disk_wait',
      what: 'processors that were idle while the disk had requests, at the full rate',
      unit: 'cores',
      better: 'lower',
      rounds: rounds.map(({ closed: { usage } }) => coresOf(usage.diskWaitMs, usage)),
    }),
    ...delayFigures(rounds, disturbances),
  ];
}

export function limitOf({ hasOthers, isClientBusy, isLoaderLate }: Disturbances): Scenario['limited_by'] {
  if (hasOthers) return 'others';
  return isClientBusy || isLoaderLate ? 'client' : 'hub';
}

async function runOn(hub: Hub, loaders: readonly Loader[], options: RunOptions): Promise<Scenario> {
  const { rounds: count, seconds, rows, report } = options;
  const keys = await makeKeys(hub, tenants);
  const run = new IngestRun(options, hub, keys, loaders);
  if (rows > 0) {
    report(`storing ${rows} events`, 0);
    await run.measureClosed(3600, Math.ceil(rows / batchSize));
  }
  report('warming up', 0);
  await run.measureClosed(Math.min(3, seconds));
  const rounds: Round[] = [];
  for (let n = 0; n < count; n++) {
    const round = await run.measureRound(n);
    rounds.push(round);
    const { events, elapsedMs, usage } = round.closed;
    report(
      `round ${n + 1} of ${count}: ${Math.round((events * 1000) / elapsedMs)} events/s; ${describeUsage(usage)}`,
      (n + 1) / count,
    );
  }
  const disturbances = findDisturbances(rounds);
  return {
    name: 'ingest',
    parameters: {
      rows,
      seconds,
      loaders: loaders.length,
      connections,
      ...(hub.access === null ? { tenants } : { keys: keys.length }),
      batch_size: batchSize,
      open_share: openShare,
      ...(options.ids === 'random' ? {} : { ids: options.ids }),
      ...slowParameter(options),
    },
    skipped: null,
    limited_by: limitOf(disturbances),
    load: { ...loadOf(rounds.map(({ closed }) => closed.usage)), other_cores: disturbances.others },
    figures: ingestFigures(rounds, disturbances),
    rivals: [],
  };
}

export async function runIngest(options: RunOptions): Promise<Scenario> {
  const hub = await openHub(options, { preloads: ['loop'] });
  const loaders = Array.from({ length: options.loaders }, () => new Loader());
  try {
    return await runOn(hub, loaders, options);
  } finally {
    for (const loader of loaders) loader.stop();
    await hub.stop();
  }
}
