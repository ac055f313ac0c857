// The hosted API: ingest through it beside the console's API, in turns, and the memory that a signed decision bundle
// takes.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Admin } from '../admin.ts';
import { agentName, type BatchForm, batchSize, ReusableBody } from '../batch.ts';
import { figureOf, maxLoaderShare, maxOtherCores } from '../suite/figures.ts';
import { HttpCaller } from '../suite/http-call.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { coresOf, loadOf, medianOrNull } from '../suite/load.ts';
import { Loader } from '../suite/loader.ts';
import {
  addedByEach,
  highestResidentBytes,
  minus,
  residentBytesOf,
  startUsage,
  type Usage,
  waitUntilQuiet,
} from '../suite/machine.ts';
import type { Scenario } from '../suite/results.ts';
import { type RunOptions, slowParameter } from './scenario.ts';

const connections = 32;
/** Events of the run whose bundle is requested; more do not fit in one bundle. */
const bundledEvents = 5000;
const settleMs = 500;

interface Ingest {
  readonly rate: number;
  /** Processor time of the hub per event, microseconds. */
  readonly time: number | null;
  readonly usage: Usage;
}

interface Round {
  readonly console: Ingest;
  readonly hosted: Ingest;
  /** Memory above that before the request, bytes. */
  readonly bundleBytes: number | null;
}

/** A key of the hosted API, of the signed-in user's tenant. */
export async function newHostedKey(url: string, admin: Admin): Promise<string> {
  const caller = new HttpCaller(url);
  const headers = { Authorization: `Bearer ${await admin.newToken()}`, 'Content-Type': 'application/json' };
  try {
    const text = await caller.call({ method: 'POST', path: '/v1/keys', headers, body: '{"name":"bench"}' });
    return (JSON.parse(text) as { readonly key: string }).key;
  } finally {
    caller.close();
  }
}

class HostedRun {
  readonly #options: RunOptions;
  readonly #hub: Hub;
  readonly #loader: Loader;
  readonly #keys: { readonly [form in BatchForm]?: string };
  #orders = 0;

  constructor(
    options: RunOptions,
    hub: Hub,
    loader: Loader,
    keys: { readonly [form in BatchForm]?: string },
  ) {
    this.#options = options;
    this.#hub = hub;
    this.#loader = loader;
    this.#keys = keys;
  }

  async ingest(form: BatchForm, seconds: number, maxBatches?: number): Promise<Ingest> {
    const endUsage = startUsage(this.#hub.pid, [this.#loader.pid]);
    const { events, elapsedMs } = await this.#loader.load({
      type: 'closed',
      origin: this.#hub.url,
      keys: [this.#keys[form] ?? ''],
      seed: this.#options.seed * 1_000_003 + this.#orders++ * 7919,
      form,
      connections,
      seconds,
      ...(maxBatches === undefined ? {} : { maxBatches }),
    });
    const usage = endUsage();
    const time = usage.hubMs === null ? null : (usage.hubMs * 1000) / events;
    return { rate: (events * 1000) / elapsedMs, time, usage };
  }

  /** @returns a call for the memory that a request for the run's bundle adds */
  async prepareBundle(token: string): Promise<() => Promise<number | null>> {
    const caller = new HttpCaller(this.#hub.url);
    const headers = { Authorization: `Bearer ${this.#keys.hosted}`, 'Content-Type': 'application/json' };
    const body = new ReusableBody('hosted', randomUUID);
    const agent = agentName(0);
    const session = 'session-9999';
    const events = Math.min(bundledEvents, Math.max(batchSize, this.#options.rows));
    for (let n = 0; n < events; n += batchSize) {
      const text = body.refresh(agent, Date.now(), session).toString();
      await caller.call({ method: 'POST', path: '/v1/events', headers, body: text });
    }
    return async () => {
      await delay(settleMs);
      const before = residentBytesOf(this.#hub.pid);
      const readHighest = highestResidentBytes(this.#hub.pid);
      const path = `/v1/runs/${agent}/${session}/bundle`;
      await caller.call({ method: 'GET', path, headers: { Authorization: `Bearer ${token}` } });
      return minus(readHighest(), before);
    };
  }
}

function scenarioOf(rounds: readonly Round[], options: RunOptions): Scenario {
  const usages = rounds.flatMap(({ console: ours, hosted }) => [ours.usage, hosted.usage]);
  const others = medianOrNull(usages.map((usage) => coresOf(usage.otherMs, usage)));
  const busiest = medianOrNull(usages.map((usage) => coresOf(usage.busiestClientMs, usage)));
  const hasOthers = others !== null && others > maxOtherCores;
  const isClientBusy = busiest !== null && busiest > maxLoaderShare;
  const isDisturbed = hasOthers || isClientBusy;
  return {
    name: 'hosted',
    parameters: { rows: options.rows, seconds: options.seconds, connections, ...slowParameter(options) },
    skipped: null,
    limited_by: hasOthers ? 'others' : isClientBusy ? 'client' : 'hub',
    load: loadOf(usages),
    figures: [
      figureOf({
        id: 'hosted.ingest_rate',
        what: 'durable events through /v1/events',
        unit: 'events/s',
        better: 'higher',
        rounds: rounds.map(({ hosted }) => hosted.rate),
        bound: {
          what: 'the same events through /api/v1/events',
          rounds: rounds.map((round) => round.console.rate),
        },
        target: { at_least: 0.7, of: 'ratio' },
        isDisturbed,
      }),
      figureOf({
        id: 'hosted.ingest_time',
        what: "processor time of the hub's process per event through /v1/events",
        unit: 'µs',
        better: 'lower',
        rounds: rounds.map(({ hosted }) => hosted.time),
        bound: {
          what: 'the same events through /api/v1/events',
          rounds: rounds.map((round) => round.console.time),
        },
      }),
      figureOf({
        id: 'hosted.bundle_memory',
        what: 'memory that a signed decision bundle adds while it is made',
        unit: 'MiB',
        better: 'lower',
        rounds: rounds.map(({ bundleBytes }) => addedByEach(bundleBytes, 2 ** 20)),
        target: { at_most: 64, of: 'value' },
        isDisturbed: hasOthers,
      }),
    ],
    rivals: [],
  };
}

async function runOn(hub: Hub, loader: Loader, options: RunOptions): Promise<Scenario> {
  const { rounds: count, rows, seconds, quiet, report } = options;
  const { admin, keys } = await makeTenants(hub, 1);
  const run = new HostedRun(options, hub, loader, {
    console: keys[0] ?? '',
    hosted: await newHostedKey(hub.url, admin),
  });
  report(`storing ${rows} events`, 0);
  await run.ingest('hosted', 36_000, Math.max(1, Math.ceil(rows / batchSize)));
  const requestBundle = await run.prepareBundle(await admin.newToken());
  const rounds: Round[] = [];
  for (let n = 0; n < count; n++) {
    await waitUntilQuiet(quiet);
    const early = n % 2 === 1 ? await run.ingest('hosted', seconds) : null;
    const ours = await run.ingest('console', seconds);
    const hosted = early ?? (await run.ingest('hosted', seconds));
    rounds.push({ console: ours, hosted, bundleBytes: await requestBundle() });
    report(`round ${n + 1} of ${count}: ${Math.round(hosted.rate)} events/s`, (n + 1) / count);
  }
  return scenarioOf(rounds, options);
}

export async function runHosted(options: RunOptions): Promise<Scenario> {
  const hub = await openHub(options);
  const loader = new Loader();
  try {
    return await runOn(hub, loader, options);
  } finally {
    loader.stop();
    await hub.stop();
  }
}
