// Fan-out: one deployment to many agents' streams, from the deploying call to the last delivery, in turns with a bare
// loop that holds as many clients.
import { streamRivalsOf } from '../rivals/index.ts';
import { withLoopInC } from '../rivals/install.ts';
import { BundleDeployer, type Transport, transports } from '../suite/bundles.ts';
import { figureOf, maxOtherCores } from '../suite/figures.ts';
import { mergeLatencies } from '../suite/histogram.ts';
import { type Hub, makeTenants, openHub } from '../suite/hub.ts';
import { coresOf, describeUsage, loadOf, medianOrNull } from '../suite/load.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, RivalResult, Scenario } from '../suite/results.ts';
import { medianOf } from '../suite/statistics.ts';
import { StreamClient } from '../suite/streams.ts';
import { RivalFanout } from './rival-streams.ts';
import { type RunOptions, slowParameter } from './scenario.ts';
import { BareServer, bareRequest, bareText } from './streams-bound.ts';

const framesOfRound = 3;
/** Share of the streams whose clients stop reading. */
const stalledShare = 0.01;
/** The transports, and stalled readers. */
const measuredForms = transports.length + 1;
/** Frames from this size on have the stricter target. */
const largeFrameBytes = 16_384;

interface Deliveries {
  /** Milliseconds until the last delivery, the median of the round's frames. */
  readonly lastMs: number;
  /** Of each stream: HdrHistogram V2, base64, microseconds. */
  readonly latencies: string;
}

interface Round {
  readonly hub: Deliveries;
  readonly bare: Deliveries;
  readonly usage: Usage;
}

interface Contender {
  readonly client: StreamClient;
  /** Makes a frame ready. @returns a call that sends it */
  readonly prepare: () => Promise<() => Promise<void>>;
}

async function measureFrames({ client, prepare }: Contender, frameBytes: number): Promise<Deliveries> {
  const times: number[] = [];
  let latencies = '';
  for (let n = 0; n < framesOfRound; n++) {
    const send = await prepare();
    const awaitLast = await client.expect(frameBytes);
    const began = process.hrtime.bigint();
    const [last] = await Promise.all([awaitLast(), send()]);
    times.push(Number(last - began) / 1e6);
    latencies = await client.latencies(began);
  }
  return { lastMs: medianOf(times), latencies };
}

class FanoutRun {
  readonly #options: RunOptions;
  readonly #hub: Hub;
  readonly #contenders: { readonly hub: Contender; readonly bare: Contender };
  readonly usages: Usage[] = [];
  #doneRounds = 0;

  constructor(
    options: RunOptions,
    hub: Hub,
    contenders: { readonly hub: Contender; readonly bare: Contender },
  ) {
    this.#options = options;
    this.#hub = hub;
    this.#contenders = contenders;
  }

  async #measureRound(n: number): Promise<Round> {
    const { hub, bare } = this.#contenders;
    const { frame, quiet } = this.#options;
    await waitUntilQuiet(quiet);
    const early = n % 2 === 1 ? await measureFrames(bare, frame) : null;
    const endUsage = startUsage(this.#hub.pid, [hub.client.pid]);
    const deliveries = await measureFrames(hub, frame);
    const usage = endUsage();
    this.usages.push(usage);
    return { hub: deliveries, bare: early ?? (await measureFrames(bare, frame)), usage };
  }

  /** The first round warms up. @param rivals are measured in turns with the hub. Default: none */
  async measure(id: string, what: string, rivals: RivalFanout | null = null): Promise<Figure[]> {
    const { rounds: count, frame, report } = this.#options;
    const rounds: Round[] = [];
    for (let n = 0; n <= count; n++) {
      const round = await this.#measureRound(n);
      await rivals?.measureRound(n === 0);
      if (n > 0) rounds.push(round);
      const share = ++this.#doneRounds / ((count + 1) * measuredForms);
      const name = n === 0 ? 'warm-up' : `round ${n} of ${count}`;
      report(`${id}, ${name}: ${round.hub.lastMs.toFixed(1)} ms; ${describeUsage(round.usage)}`, share);
    }
    const others = medianOrNull(rounds.map(({ usage }) => coresOf(usage.otherMs, usage)));
    return [
      figureOf({
        ...lastForm(id, what),
        rounds: rounds.map(({ hub }) => hub.lastMs),
        bound: { what: bareText, rounds: rounds.map(({ bare }) => bare.lastMs) },
        target: { at_most: frame >= largeFrameBytes ? 1.1 : 1.2, of: 'ratio' },
        isDisturbed: others !== null && others > maxOtherCores,
        histogram: mergeLatencies(rounds.map(({ hub }) => hub.latencies)),
      }),
    ];
  }
}

const lastForm = (id: string, what: string) =>
  ({ id: `fanout.${id}_last`, what, unit: 'ms', better: 'lower' }) as const;

/** The bare loop in C as a second bound of SSE, where it was measured and no frame was lost. */
function besideC(
  figures: readonly Figure[],
  rivals: readonly RivalResult[],
  { frame }: RunOptions,
): Figure[] {
  const { id, ...form } = lastForm('sse', `${transportTexts.sse}, beside C`);
  const own = figures.find((figure) => figure.id === id);
  const epoll = rivals.find(({ name }) => name === 'epoll');
  const figure = epoll && 'figures' in epoll ? epoll.figures.find((one) => one.id === id) : undefined;
  if (!own || !figure || figure.rounds.length < own.rounds.length) return [];
  return [
    figureOf({
      ...form,
      id: `${id}_of_c`,
      rounds: own.rounds,
      bound: { what: 'a bare loop in C (epoll)', rounds: figure.rounds },
      ...(frame >= largeFrameBytes ? {} : { target: { at_most: 1.2, of: 'ratio' } }),
      isDisturbed: own.verdict === 'no_verdict',
    }),
  ];
}

const transportTexts: { readonly [name in Transport]: string } = {
  sse: 'deploying call → last delivery over SSE',
  json: 'the same over WebSocket, JSON',
  msgpack: 'the same over WebSocket, MessagePack',
};

async function runOn(hub: Hub, clients: readonly StreamClient[], bare: BareServer, options: RunOptions) {
  const { agents, frame, report } = options;
  const [hubClient, bareClient] = clients as [StreamClient, StreamClient];
  const { admin, keys } = await makeTenants(hub, 1);
  const deployer = new BundleDeployer(admin, keys[0] ?? '');
  await deployer.deploy(frame);
  report(`opening ${agents} streams of the bound`, 0);
  await bareClient.open({ port: await bare.start(), count: agents, request: bareRequest });
  const run = new FanoutRun(options, hub, {
    hub: { client: hubClient, prepare: () => deployer.prepare(frame) },
    bare: { client: bareClient, prepare: async () => () => bare.broadcast(frame) },
  });
  const rivals = await RivalFanout.open(streamRivalsOf(withLoopInC(options.rivals)), {
    agents,
    frameBytes: frame,
    framesOfRound,
  });
  try {
    const figures = await measureTransports(run, deployer, { hub, clients, rivals, options });
    const rivalForm = lastForm('sse', 'publish call → last delivery over SSE');
    const results = rivals.results(rivalForm);
    return {
      figures: [...figures, ...besideC(figures, results, options)],
      usages: run.usages,
      rivals: results,
    };
  } finally {
    await rivals.stop();
  }
}

interface TransportRun {
  readonly hub: Hub;
  readonly clients: readonly StreamClient[];
  readonly rivals: RivalFanout;
  readonly options: RunOptions;
}

async function measureTransports(
  run: FanoutRun,
  deployer: BundleDeployer,
  { hub, clients, rivals, options }: TransportRun,
) {
  const { agents, report } = options;
  const [hubClient] = clients as [StreamClient];
  const figures: Figure[] = [];
  for (const transport of transports) {
    report(`opening ${agents} streams (${transport})`, 0);
    const marker = transport === 'sse' ? '\n\n' : '\r\n\r\n';
    const request = deployer.streamRequest({ transport });
    await hubClient.open({ port: hub.port, count: agents, request, marker });
    const rivalsOfTransport = transport === 'sse' ? rivals : null;
    figures.push(...(await run.measure(transport, transportTexts[transport], rivalsOfTransport)));
    if (transport === 'sse') {
      const stalled = Math.max(1, Math.round(agents * stalledShare));
      for (const client of clients) await client.stall(stalled);
      figures.push(
        ...(await run.measure(
          'sse_stalled',
          `the same over SSE, ${stalledShare * 100} % of readers stalled`,
        )),
      );
      for (const client of clients) await client.resume();
    }
    await hubClient.close();
  }
  return figures;
}

export async function runFanout(options: RunOptions): Promise<Scenario> {
  const hub = await openHub(options);
  const clients = [new StreamClient(), new StreamClient()];
  const bare = new BareServer();
  try {
    const { figures, usages, rivals } = await runOn(hub, clients, bare, options);
    const load = loadOf(usages);
    const scenario: Scenario = {
      name: 'fanout',
      parameters: {
        agents: options.agents,
        frame_bytes: options.frame,
        stalled_share: stalledShare,
        ...slowParameter(options),
      },
      skipped: null,
      limited_by: (load.other_cores ?? 0) > maxOtherCores ? 'others' : 'none',
      load,
      figures,
      rivals,
    };
    return scenario;
  } finally {
    for (const client of clients) client.stop();
    bare.stop();
    await hub.stop();
  }
}
