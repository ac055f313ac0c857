// Retention at work: the rate of ingest beside it, and the time that one of its slices holds the store. The hub stores
// the old events itself, with a clock of ten days ago.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { systemClock } from '../../adapters/node/clock.ts';
import { createSecrets } from '../../adapters/node/secrets.ts';
import { openSqlite } from '../../adapters/sqlite/index.ts';
import { createRetention } from '../../src/tenant/use-cases/retention.ts';
import { type Admin, adminOf, benchEmail } from '../admin.ts';
import { batchSize } from '../batch.ts';
import { figureOf, maxLoaderShare, maxOtherCores } from '../suite/figures.ts';
import { makeTemporaryFolder } from '../suite/folder.ts';
import { mergeLatencies, newHistogram } from '../suite/histogram.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { coresOf, loadOf, medianOrNull } from '../suite/load.ts';
import { Loader } from '../suite/loader.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, Histogram, Scenario } from '../suite/results.ts';
import { type RunOptions, slowParameter } from './scenario.ts';

const connections = 32;
const ageMs = 10 * 86_400_000;
const keptDays = 5;
/** Agents that send nothing any more: their runs have ended. */
const oldPrefix = 'old';
/** Of slices, for the percentiles of one round. */
const slicesOfRound = 200;

interface Phase {
  /** Events a second. */
  readonly rate: number;
  readonly usage: Usage;
}

interface Round {
  readonly alone: Phase;
  readonly beside: Phase;
  /** Removed a second; null: nothing was left before the end, so that retention was not at work all the time. */
  readonly removed: number | null;
}

/** Settings of a hub whose clock is `ageMs` behind. */
function pastClock(): { readonly NODE_OPTIONS: string } {
  const code = `const R=Date,now=()=>R.now()-${ageMs};globalThis.Date=class extends R{constructor(...a){a.length?super(...a):super(now())}static now(){return now()}}`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** Old events of ended runs. @returns an API key */
async function fillFolder(keptFolder: string, loader: Loader, options: RunOptions): Promise<string> {
  const hub = await openHub(options, { keptFolder, settings: pastClock() });
  try {
    const { keys } = await makeTenants(hub, 1);
    const maxBatches = Math.max(1, Math.ceil(options.rows / batchSize));
    const order = { type: 'closed', origin: hub.url, keys, seed: options.seed, connections } as const;
    await loader.load({ ...order, seconds: 36_000, agentPrefix: oldPrefix, agentsInTurn: true, maxBatches });
    return keys[0] ?? '';
  } finally {
    await hub.stop();
  }
}

class RetentionRun {
  readonly #hub: Hub;
  readonly #admin: Admin;
  readonly #loader: Loader;
  readonly #key: string;
  readonly #options: RunOptions;
  #orders = 0;

  constructor(hub: Hub, admin: Admin, loader: Loader, key: string, options: RunOptions) {
    this.#hub = hub;
    this.#admin = admin;
    this.#loader = loader;
    this.#key = key;
    this.#options = options;
  }

  async keepDays(events_days: number): Promise<void> {
    await this.#admin.call('PUT', '/api/v1/settings/retention', { events_days });
  }

  /** Events that retention has not removed yet. */
  async #countOld(): Promise<number> {
    const body = { events_days: keptDays };
    const path = '/api/v1/settings/retention/preview';
    return (await this.#admin.call<{ readonly events: number }>('POST', path, body)).events;
  }

  async ingest(seconds = this.#options.seconds): Promise<Phase> {
    const endUsage = startUsage(this.#hub.pid, [this.#loader.pid]);
    const { events, elapsedMs } = await this.#loader.load({
      type: 'closed',
      origin: this.#hub.url,
      keys: [this.#key],
      // Other ids than those of every order before.
      seed: this.#options.seed * 1_000_003 + 7919 * ++this.#orders,
      connections,
      seconds,
    });
    return { rate: (events * 1000) / elapsedMs, usage: endUsage() };
  }

  /** Odd rounds measure ingest alone first, even ones last. */
  async measureRound(n: number): Promise<Round> {
    await waitUntilQuiet(this.#options.quiet);
    const early = n % 2 === 1 ? await this.ingest() : null;
    const before = await this.#countOld();
    await this.keepDays(keptDays);
    const began = performance.now();
    const beside = await this.ingest();
    await this.keepDays(0);
    const seconds = (performance.now() - began) / 1000;
    const after = await this.#countOld();
    const removed = after === 0 ? null : (before - after) / seconds;
    return { alone: early ?? (await this.ingest()), beside, removed };
  }
}

const refuseJob = (): never => {
  throw new Error('Slices make no jobs.');
};
const noJobs = { add: refuseJob, find: refuseJob, remove: refuseJob, dead: refuseJob, retry: refuseJob };

/** Milliseconds of slices on the folder of a stopped hub, by the sizes that retention chooses. */
async function measureSlices(folder: string, tenantId: string): Promise<readonly number[]> {
  const store = await openSqlite({ path: join(folder, 'reeve.db'), clock: systemClock });
  const durations: number[] = [];
  const stop = new AbortController();
  const remove: typeof store.retention.remove = async (...args) => {
    const began = performance.now();
    const slice = await store.retention.remove(...args);
    durations.push(performance.now() - began);
    if (durations.length >= slicesOfRound) stop.abort();
    return slice;
  };
  // Without the rests between slices.
  const clock = { ...systemClock, after: (_: number, task: () => void) => systemClock.after(0, task) };
  const retention = { ...store.retention, remove };
  try {
    const secrets = createSecrets(randomUUID());
    const ports = { store: { ...store, retention }, jobs: noJobs, clock, secrets };
    await createRetention(ports).apply(tenantId, stop.signal);
    return durations;
  } finally {
    await store.close();
  }
}

const percentile = (values: readonly number[], share: number): number | null =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? null;

function histogramOf(milliseconds: readonly number[]): Histogram {
  const histogram = newHistogram();
  for (const value of milliseconds) histogram.recordValue(Math.max(1, Math.round(value * 1000)));
  return mergeLatencies([encodeIntoCompressedBase64(histogram)]);
}

function figuresOf(
  rounds: readonly Round[],
  slices: readonly (readonly number[])[],
  isDisturbed: boolean,
): Figure[] {
  const slice = { unit: 'ms', better: 'lower', isDisturbed } as const;
  return [
    figureOf({
      id: 'retention.ingest_rate',
      what: 'durable events beside a running retention',
      unit: 'events/s',
      better: 'higher',
      // Not measured if retention ended before the round.
      rounds: rounds.map(({ beside, removed }) => (removed === null ? null : beside.rate)),
      bound: { what: 'the same without retention', rounds: rounds.map(({ alone }) => alone.rate) },
      target: { at_least: 0.9, of: 'ratio' },
      isDisturbed,
    }),
    figureOf({
      id: 'retention.removed',
      what: 'old events removed meanwhile',
      unit: 'events/s',
      better: 'higher',
      rounds: rounds.map(({ removed }) => removed),
      isDisturbed,
    }),
    figureOf({
      ...slice,
      id: 'retention.slice_p99',
      what: 'time of a slice, p99',
      rounds: slices.map((durations) => percentile(durations, 0.99)),
      target: { at_most: 25, of: 'value' },
      histogram: histogramOf(slices.flat()),
    }),
    figureOf({
      ...slice,
      id: 'retention.slice_max',
      what: 'time of the longest slice',
      rounds: slices.map((durations) => percentile(durations, 1)),
    }),
  ];
}

/** The rounds on a running hub, and the id of the tenant. */
async function runOn(hub: Hub, loader: Loader, key: string, options: RunOptions) {
  const { rounds: count, seconds, report } = options;
  const admin = adminOf(hub.url);
  await admin.login(benchEmail);
  const { tenant_id } = await admin.call<{ readonly tenant_id: string }>('GET', '/api/v1/auth/me');
  const run = new RetentionRun(hub, admin, loader, key, options);
  report('warming up', 0);
  await run.ingest(Math.min(3, seconds));
  const rounds: Round[] = [];
  for (let n = 0; n < count; n++) {
    const round = await run.measureRound(n);
    rounds.push(round);
    report(`round ${n + 1} of ${count}: ${Math.round(round.beside.rate)} events/s`, (n + 1) / count);
  }
  // The slices are timed with the remaining old events.
  await run.keepDays(keptDays);
  return { rounds, tenantId: tenant_id };
}

export async function runRetention(options: RunOptions): Promise<Scenario> {
  const { rows, seconds, report, rounds: count } = options;
  const temporary = makeTemporaryFolder();
  const folder = temporary.path;
  const loader = new Loader();
  try {
    report(`storing ${rows} events`, 0);
    const key = await fillFolder(folder, loader, options);
    const hub = await openHub(options, { keptFolder: folder });
    const { rounds, tenantId } = await runOn(hub, loader, key, options).finally(() => hub.stop());
    const slices: (readonly number[])[] = [];
    for (let n = 0; n < count; n++) slices.push(await measureSlices(folder, tenantId));
    const usages = rounds.flatMap(({ alone, beside }) => [alone.usage, beside.usage]);
    const others = medianOrNull(usages.map((usage) => coresOf(usage.otherMs, usage)));
    const client = medianOrNull(usages.map((usage) => coresOf(usage.busiestClientMs, usage)));
    const hasOthers = others !== null && others > maxOtherCores;
    const isClientBusy = client !== null && client > maxLoaderShare;
    return {
      name: 'retention',
      parameters: { rows, seconds, connections, ...slowParameter(options) },
      skipped: null,
      limited_by: hasOthers ? 'others' : isClientBusy ? 'client' : 'hub',
      load: loadOf(usages),
      figures: figuresOf(rounds, slices, hasOthers || isClientBusy),
      rivals: [],
    };
  } finally {
    loader.stop();
    temporary.remove();
  }
}
