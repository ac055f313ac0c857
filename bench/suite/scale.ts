// What a larger number of agents takes, by the costs of measured streams. All of it is predicted: costs grow with the
// number of agents, and nothing else is known of more streams than the run held.
import { formatNumber } from './numbers.ts';
import type { Results } from './results.ts';

/** Streams that a run for a prediction opens at most. */
export const maxMeasuredStreams = 5000;
/** A process can have 20,000 descriptors by default; the rest is for files and other connections. */
const streamsOfProcess = 15_000;
/** An agent's `last_seen_at` is written once in as many seconds. */
const lastSeenSeconds = 30;
const networkBytesPerSecond = 10e9 / 8;

/** A cost, and the number of streams that it was measured with. */
interface Cost {
  readonly value: number;
  readonly streams: number;
}

const costIds = {
  memory: 'idle.rss',
  idleTime: 'idle.processor_time',
  openingTime: 'storm.processor_time',
  deployLast: 'fanout.sse_last',
} as const;

export type Costs = { readonly [name in keyof typeof costIds]: Cost | null } & {
  readonly frameBytes: number | null;
};

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** The costs in results files; of several files, the last one that has a figure counts. */
export function costsOf(files: readonly Pick<Results, 'scenarios'>[]): Costs {
  const scenarios = files.flatMap((file) => file.scenarios).reverse();
  const costOf = (id: string): Cost | null => {
    for (const { figures, parameters } of scenarios) {
      const value = figures.find((figure) => figure.id === id)?.median ?? null;
      const streams = numberOrNull(parameters.agents);
      if (value !== null && streams !== null) return { value, streams };
    }
    return null;
  };
  const fanout = scenarios.find(({ name }) => name === 'fanout');
  return {
    memory: costOf(costIds.memory),
    idleTime: costOf(costIds.idleTime),
    openingTime: costOf(costIds.openingTime),
    deployLast: costOf(costIds.deployLast),
    frameBytes: numberOrNull(fanout?.parameters.frame_bytes),
  };
}

export interface Prediction {
  readonly what: string;
  /** Null: a cost is absent. */
  readonly value: number | null;
  readonly unit: string;
  /** The streams of the run that has the cost; null: plain arithmetic. */
  readonly streams: number | null;
}

/** What each tier takes for as many agents. */
export function predictScale(agents: number, costs: Costs): readonly Prediction[] {
  const { memory, idleTime, openingTime, deployLast, frameBytes } = costs;
  const of = (what: string, unit: string, cost: Cost | null, value: (cost: Cost) => number): Prediction => ({
    what,
    unit,
    value: cost === null ? null : value(cost),
    streams: cost?.streams ?? null,
  });
  const plain = (what: string, unit: string, value: number | null): Prediction => ({
    what,
    unit,
    value,
    streams: null,
  });
  return [
    plain(
      `hub processes, ${streamsOfProcess} streams each`,
      'processes',
      Math.ceil(agents / streamsOfProcess),
    ),
    of('resident memory of all streams', 'GiB', memory, ({ value }) => (value * agents) / 2 ** 30),
    of('processor time of idle streams', 'cores', idleTime, ({ value }) => (value * agents) / 1e6),
    of(
      'processor time to open all streams',
      'core-seconds',
      openingTime,
      ({ value }) => (value * agents) / 1e6,
    ),
    of(
      'a deployment in one process after the other',
      's',
      deployLast,
      ({ value, streams }) => (value * agents) / streams / 1000,
    ),
    plain('writes of last_seen_at', '1/s', agents / lastSeenSeconds),
    plain(
      'the frames of a deployment over 10 Gbit/s',
      's',
      frameBytes === null ? null : (frameBytes * agents) / networkBytesPerSecond,
    ),
  ];
}

export function formatPredictions(agents: number, predictions: readonly Prediction[]): string {
  const lines = predictions.map(({ what, value, unit, streams }) => {
    if (value === null) return `  ${what}: no results for it`;
    const basis = streams === null ? 'by arithmetic' : `predicted from ${streams} streams`;
    return `  ${what}: ${formatNumber(value)} ${unit}, ${basis}`;
  });
  return [`${agents} agents`, ...lines, ''].join('\n');
}
