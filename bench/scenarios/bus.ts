// Rates of one Redis between nodes: envelopes to one shard and to all, and frames for one audience to three nodes,
// beside bare loops of the same driver. No hub.
import { startServices } from '../services.ts';
import { figureOf, maxOtherCores } from '../suite/figures.ts';
import { coresOf, loadOf, medianOrNull } from '../suite/load.ts';
import { startUsage, type Usage, waitUntilQuiet } from '../suite/machine.ts';
import type { Figure, Scenario, Target } from '../suite/results.ts';
import { BusRates, type BusRound } from './bus-rates.ts';
import type { RunOptions } from './scenario.ts';

/** Envelopes and frames in a second of `--seconds`. */
const countOfSecond = 1000;

interface Form {
  readonly id: string;
  readonly what: string;
  readonly value: keyof BusRound;
  readonly bound: keyof BusRound;
  readonly target?: Target;
}

const forms: readonly Form[] = [
  {
    id: 'one_shard',
    what: 'envelopes to one shard, acknowledged',
    value: 'oneShard',
    bound: 'bareEnvelopes',
  },
  {
    id: 'all_shards',
    what: 'envelopes to all shards, acknowledged',
    value: 'allShards',
    bound: 'bareEnvelopes',
  },
  {
    id: 'frames',
    what: 'frames of one audience to three nodes in one process',
    value: 'frames',
    bound: 'bareFrames',
    target: { at_least: 0.5, of: 'ratio' },
  },
  { id: 'frames_of_read', what: 'the same', value: 'frames', bound: 'bareFramesRead' },
];

const boundTexts: { readonly [name in keyof BusRound]?: string } = {
  bareEnvelopes: 'bare XADD and XDEL of as many bytes',
  bareFrames: 'bare XADD and XDEL of as many bytes',
  bareFramesRead: 'bare XADD that three bare connections read',
};

const figuresOf = (rounds: readonly BusRound[], isDisturbed: boolean): Figure[] =>
  forms.map(({ id, what, value, bound, target }) =>
    figureOf({
      id: `bus.${id}`,
      what,
      unit: '1/s',
      better: 'higher',
      rounds: rounds.map((round) => round[value]),
      bound: { what: boundTexts[bound] ?? '', rounds: rounds.map((round) => round[bound]) },
      ...(target === undefined ? {} : { target }),
      isDisturbed,
    }),
  );

export async function runBus({
  rounds: count,
  seconds,
  frame,
  quiet,
  report,
}: RunOptions): Promise<Scenario> {
  report('starting Redis', 0);
  const services = await startServices();
  const rates = new BusRates();
  const rounds: BusRound[] = [];
  const usages: Usage[] = [];
  try {
    const order = {
      redisUrl: services.redisUrl,
      count: Math.max(64, Math.round(countOfSecond * seconds)),
      frameBytes: frame,
    };
    await rates.measure({ ...order, count: 64 });
    for (let n = 0; n < count; n++) {
      await waitUntilQuiet(quiet);
      const endUsage = startUsage(rates.pid, []);
      rounds.push(await rates.measure(order));
      usages.push(endUsage());
      report(`round ${n + 1} of ${count}`, (n + 1) / count);
    }
  } finally {
    rates.stop();
    await services.stop();
  }
  // Redis is other work to the suite, and at most one core of it is its own.
  const others = medianOrNull(usages.map((usage) => coresOf(usage.otherMs, usage)));
  const isDisturbed = others !== null && others > 1 + maxOtherCores;
  return {
    name: 'bus',
    parameters: { seconds, frame_bytes: frame },
    skipped: null,
    limited_by: isDisturbed ? 'others' : 'none',
    load: loadOf(usages),
    figures: figuresOf(rounds, isDisturbed),
    rivals: [],
  };
}
