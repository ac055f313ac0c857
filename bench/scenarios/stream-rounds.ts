// Rounds of scenarios of streams: a fresh hub in turns with a fresh bare loop, each with a client of its own.
import { streamRivalsOf } from '../rivals/index.ts';
import type { StreamRival, StreamServer } from '../rivals/rival.ts';
import { BundleDeployer } from '../suite/bundles.ts';
import { maxOtherCores } from '../suite/figures.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { describeUsage, loadOf } from '../suite/load.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, RivalResult, Scenario } from '../suite/results.ts';
import { StreamClient } from '../suite/streams.ts';
import { withRival } from './rival-streams.ts';
import { type RunOptions, slowParameter } from './scenario.ts';
import { BareServer } from './streams-bound.ts';

export interface Round<Cost> {
  readonly hub: Cost;
  readonly bare: Cost;
}

export interface HubSide {
  readonly hub: Hub;
  readonly deployer: BundleDeployer;
  readonly client: StreamClient;
}

export interface StreamRounds<Cost> {
  readonly name: string;
  /** Bytes of the document that is deployed before. */
  readonly frameBytes: number;
  /** Modules of `bench/slow` that the hub loads besides slow-downs. */
  readonly preloads?: readonly string[];
  /** Between the deployment and the measurement, which alone counts as load. */
  readonly prepare: (side: HubSide) => Promise<unknown>;
  readonly measureHub: (side: HubSide) => Promise<Cost>;
  readonly measureBare: (bare: BareServer, client: StreamClient) => Promise<Cost>;
  /** Text about a round's hub for the progress line. */
  readonly describe: (cost: Cost) => string;
  readonly parameters?: Scenario['parameters'];
  readonly figuresOf: (rounds: readonly Round<Cost>[], isDisturbed: boolean) => Figure[];
  /** Absent: no rival has a part in the scenario. */
  readonly rivals?: {
    readonly measure: (server: StreamServer, client: StreamClient) => Promise<Cost>;
    readonly figuresOf: (costs: readonly Cost[]) => Figure[];
  };
}

async function withHub<Cost>(options: RunOptions, form: StreamRounds<Cost>) {
  const hub = await openHub(options, { preloads: form.preloads ?? [] });
  const client = new StreamClient();
  try {
    const { admin, keys } = await makeTenants(hub, 1);
    const deployer = new BundleDeployer(admin, keys[0] ?? '');
    const side: HubSide = { hub, deployer, client };
    await deployer.deploy(form.frameBytes);
    await form.prepare(side);
    const endUsage = startUsage(hub.pid, [client.pid]);
    const cost = await form.measureHub(side);
    return { cost, usage: endUsage() };
  } finally {
    client.stop();
    await hub.stop();
  }
}

async function withBare<Cost>({ measureBare }: StreamRounds<Cost>): Promise<Cost> {
  const [bare, client] = [new BareServer(), new StreamClient()];
  try {
    return await measureBare(bare, client);
  } finally {
    client.stop();
    bare.stop();
  }
}

/** One fresh server for each round; a rival that fails once has no further rounds. */
class RivalRounds<Cost> {
  readonly #form: StreamRounds<Cost>;
  readonly #rivals: readonly StreamRival[];
  readonly #costs = new Map<string, Cost[]>();
  readonly #versions = new Map<string, string>();
  readonly #absences = new Map<string, string>();

  constructor(form: StreamRounds<Cost>, names: readonly string[]) {
    this.#form = form;
    this.#rivals = form.rivals === undefined ? [] : streamRivalsOf(names);
  }

  async measureRound(): Promise<void> {
    const { rivals: side } = this.#form;
    for (const rival of this.#rivals) {
      if (!side || this.#absences.has(rival.name)) continue;
      const outcome = await withRival(rival, side.measure);
      if ('absent' in outcome) this.#absences.set(rival.name, outcome.absent);
      else {
        this.#versions.set(rival.name, outcome.version);
        this.#costs.set(rival.name, [...(this.#costs.get(rival.name) ?? []), outcome.result]);
      }
    }
  }

  results(): RivalResult[] {
    return this.#rivals.map(({ name }): RivalResult => {
      const absent = this.#absences.get(name);
      if (absent !== undefined) return { name, absent };
      const figures = this.#form.rivals?.figuresOf(this.#costs.get(name) ?? []) ?? [];
      return { name, version: this.#versions.get(name) ?? 'unknown', figures };
    });
  }
}

/** Odd rounds measure the bare loop first, even ones last. */
export async function runStreamRounds<Cost>(
  options: RunOptions,
  form: StreamRounds<Cost>,
): Promise<Scenario> {
  const { agents, rounds: count, seconds, quiet, report } = options;
  const rounds: Round<Cost>[] = [];
  const usages: Usage[] = [];
  const rivals = new RivalRounds(form, options.rivals);
  for (let n = 0; n < count; n++) {
    await waitUntilQuiet(quiet);
    const early = n % 2 === 1 ? await withBare(form) : null;
    const { cost: hub, usage } = await withHub(options, form);
    usages.push(usage);
    rounds.push({ hub, bare: early ?? (await withBare(form)) });
    await rivals.measureRound();
    report(`round ${n + 1} of ${count}: ${form.describe(hub)}; ${describeUsage(usage)}`, (n + 1) / count);
  }
  const load = loadOf(usages);
  const hasOthers = (load.other_cores ?? 0) > maxOtherCores;
  return {
    name: form.name,
    parameters: { agents, seconds, ...form.parameters, ...slowParameter(options) },
    skipped: null,
    limited_by: hasOthers ? 'others' : 'none',
    load,
    figures: form.figuresOf(rounds, hasOthers),
    rivals: rivals.results(),
  };
}
