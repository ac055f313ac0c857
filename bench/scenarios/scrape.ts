// Scrapes of /metrics on a hub with open streams: how long one takes, and how long it holds the event loop.
import { setTimeout as delay } from 'node:timers/promises';
import { BundleDeployer } from '../suite/bundles.ts';
import { CannotRun } from '../suite/failure.ts';
import { figureOf, maxOtherCores } from '../suite/figures.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { loadOf } from '../suite/load.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, Scenario } from '../suite/results.ts';
import { medianOf } from '../suite/statistics.ts';
import { StreamClient } from '../suite/streams.ts';
import { type RunOptions, slowParameter } from './scenario.ts';

const token = 'a-token-of-the-benchmark-suite';
const frameBytes = 1024;
/** Between two scrapes, milliseconds. */
const restMs = 100;

interface Round {
  /** Milliseconds until the last byte. */
  readonly slowestMs: number;
  readonly medianMs: number;
  /** Longest delay of the event loop, milliseconds: while the hub is scraped, and for as long without a scrape. */
  readonly heldMs: number;
  readonly restingMs: number;
  readonly series: number;
  readonly usage: Usage;
}

/** @returns its length in series */
async function readMetrics(url: string): Promise<number> {
  const response = await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${token}` } });
  const text = await response.text();
  if (response.status !== 200) throw new CannotRun(`GET /metrics: ${response.status} ${text.slice(0, 200)}`);
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
}

interface Operation {
  readonly get?: object;
}

/** Asks each route once without credentials: the hub has the series of a hub that is used in every way. */
async function touchRoutes(url: string): Promise<void> {
  const { paths } = (await (await fetch(`${url}/api/openapi.json`)).json()) as {
    readonly paths: { readonly [path: string]: Operation };
  };
  for (const [path, operations] of Object.entries(paths)) {
    for (const method of Object.keys(operations)) {
      const target = path.replaceAll(/\{[^}]+\}/g, 'none');
      const response = await fetch(url + target, { method: method.toUpperCase() });
      await response.body?.cancel();
    }
  }
}

async function measureRound(hub: Hub, client: StreamClient, { seconds, quiet }: RunOptions): Promise<Round> {
  await waitUntilQuiet(quiet);
  const endUsage = startUsage(hub.pid, [client.pid]);
  const times: number[] = [];
  let series = 0;
  await hub.ask('held');
  const began = performance.now();
  do {
    const at = performance.now();
    series = await readMetrics(hub.url);
    times.push(performance.now() - at);
    await delay(restMs);
  } while (performance.now() - began < seconds * 1000);
  const heldMs = Number(await hub.ask('held'));
  await delay(performance.now() - began);
  const restingMs = Number(await hub.ask('held'));
  const slowestMs = Math.max(...times);
  return { slowestMs, medianMs: medianOf(times), heldMs, restingMs, series, usage: endUsage() };
}

function figuresOf(rounds: readonly Round[], isDisturbed: boolean): Figure[] {
  const form = { unit: 'ms', better: 'lower', isDisturbed } as const;
  return [
    figureOf({
      ...form,
      id: 'scrape.slowest',
      what: 'the slowest scrape of a round',
      rounds: rounds.map(({ slowestMs }) => slowestMs),
      target: { at_most: 100, of: 'value' },
    }),
    figureOf({
      ...form,
      id: 'scrape.median',
      what: 'the median scrape of a round',
      rounds: rounds.map(({ medianMs }) => medianMs),
    }),
    figureOf({
      ...form,
      id: 'scrape.loop_held',
      what: 'the longest delay of the event loop while scrapes run',
      rounds: rounds.map(({ heldMs }) => heldMs),
      bound: { what: 'without a scrape', rounds: rounds.map(({ restingMs }) => restingMs) },
      target: { at_most: 10, of: 'value' },
    }),
    figureOf({
      id: 'scrape.series',
      what: 'series of a scrape',
      unit: 'series',
      better: 'lower',
      rounds: rounds.map(({ series }) => series),
      target: { at_most: 5000, of: 'value' },
    }),
  ];
}

async function runOn(hub: Hub, client: StreamClient, options: RunOptions): Promise<Scenario> {
  const { agents, rounds: count, seconds, report } = options;
  const { admin, keys } = await makeTenants(hub, 1);
  const deployer = new BundleDeployer(admin, keys[0] ?? '');
  await deployer.deploy(frameBytes);
  await touchRoutes(hub.url);
  report(`opening ${agents} streams`, 0);
  await client.open({ port: hub.port, request: deployer.streamRequest(), count: agents });
  for (let n = 0; n < 5; n++) await readMetrics(hub.url);
  const rounds: Round[] = [];
  for (let n = 0; n < count; n++) {
    const round = await measureRound(hub, client, options);
    rounds.push(round);
    const text = `slowest ${Math.round(round.slowestMs)} ms, loop held ${round.heldMs.toFixed(1)} ms`;
    report(`round ${n + 1} of ${count}: ${text}`, (n + 1) / count);
  }
  const load = loadOf(rounds.map(({ usage }) => usage));
  const hasOthers = (load.other_cores ?? 0) > maxOtherCores;
  return {
    name: 'scrape',
    parameters: { agents, seconds, ...slowParameter(options) },
    skipped: null,
    limited_by: hasOthers ? 'others' : 'none',
    load,
    figures: figuresOf(rounds, hasOthers),
    rivals: [],
  };
}

export async function runScrape(options: RunOptions): Promise<Scenario> {
  const hub = await openHub(options, { preloads: ['loop'], settings: { METRICS_TOKEN: token } });
  const client = new StreamClient();
  try {
    return await runOn(hub, client, options);
  } finally {
    client.stop();
    await hub.stop();
  }
}
