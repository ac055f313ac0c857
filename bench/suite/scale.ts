// Predicted needs of a larger number of agents, from the costs of measured streams. The prediction assumes that costs
// grow with the number of agents. No measurement covers more streams than the run held.
import { formatNumber } from './numbers.ts';
import type { Scenario } from './results.ts';

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
  readonly frameBytes: number | null;
}

const costIds = {
  memory: 'idle.rss',
  kernelMemory: 'idle.kernel_memory',
  idleTime: 'idle.processor_time',
  openingTime: 'storm.processor_time',
  deployLast: 'fanout.sse_last',
  ownerMemory: 'owner.memory',
  ownerTime: 'owner.processor_time',
  clusterMemory: 'cluster.stream_rss',
  clusterIdleTime: 'cluster.stream_time',
  clusterOpeningTime: 'cluster.opening_time',
  clusterDeployLast: 'cluster.deploy_last',
} as const;

export type Costs = { readonly [name in keyof typeof costIds]: Cost | null } & {
  readonly frameBytes: number | null;
};

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** The costs in results files; of several files, the last one that has a figure counts. */
export function costsOf(files: readonly { readonly scenarios: readonly Scenario[] }[]): Costs {
  const scenarios = files.flatMap((file) => file.scenarios).reverse();
  const costOf = (id: string): Cost | null => {
    for (const { figures, parameters } of scenarios) {
      const value = figures.find((figure) => figure.id === id)?.median ?? null;
      const streams = numberOrNull(parameters.agents);
      if (value !== null && streams !== null) {
        return { value, streams, frameBytes: numberOrNull(parameters.frame_bytes) };
      }
    }
    return null;
  };
  const names = Object.keys(costIds) as (keyof typeof costIds)[];
  const costs = Object.fromEntries(names.map((name) => [name, costOf(costIds[name])])) as {
    readonly [name in keyof typeof costIds]: Cost | null;
  };
  const fanout = scenarios.find(({ name }) => name === 'fanout');
  return { ...costs, frameBytes: numberOrNull(fanout?.parameters.frame_bytes) };
}

/** A line for each scenario with costs whose run was disturbed; empty without any. */
export function formatDisturbances(files: readonly { readonly scenarios: readonly Scenario[] }[]): string {
  const ids: readonly string[] = Object.values(costIds);
  const disturbed = files
    .flatMap(({ scenarios }) => scenarios)
    .filter(
      ({ limited_by, figures }) =>
        limited_by !== 'hub' && limited_by !== 'none' && figures.some(({ id }) => ids.includes(id)),
    );
  const lines = disturbed.map(
    ({ name, limited_by }) =>
      `  ${name}: ${limited_by === 'others' ? 'other work' : 'the client'} was the limit of the run\n`,
  );
  return lines.length === 0 ? '' : `Costs of disturbed runs\n${lines.join('')}`;
}

export interface Prediction {
  readonly what: string;
  /** Null: a cost is absent. */
  readonly value: number | null;
  readonly unit: string;
  /** The streams of the run that has the cost; null: plain arithmetic. */
  readonly streams: number | null;
}

/** Of the nodes of one machine together; empty without a run of a cluster. */
function clusterPredictions(agents: number, costs: Costs): readonly Prediction[] {
  const { clusterMemory, clusterIdleTime, clusterOpeningTime, clusterDeployLast } = costs;
  const of = (what: string, unit: string, cost: Cost | null, perUnit: number): readonly Prediction[] =>
    cost === null ? [] : [{ what, unit, value: (cost.value * agents) / perUnit, streams: cost.streams }];
  const deployOfStream =
    clusterDeployLast === null
      ? null
      : { ...clusterDeployLast, value: clusterDeployLast.value / clusterDeployLast.streams };
  return [
    ...of('resident memory of all streams of a cluster', 'GiB', clusterMemory, 2 ** 30),
    ...of('processor time of idle streams of a cluster', 'cores', clusterIdleTime, 1e6),
    ...of('processor time to open all streams of a cluster', 'core-seconds', clusterOpeningTime, 1e6),
    ...of('a deployment in a cluster on one machine', 's', deployOfStream, 1000),
  ];
}

const plain = (what: string, unit: string, value: number | null): Prediction => ({
  what,
  unit,
  value,
  streams: null,
});

/** Predicted needs of each tier for this number of agents. */
export function predictScale(agents: number, costs: Costs): readonly Prediction[] {
  const { memory, kernelMemory, idleTime, openingTime, deployLast, ownerMemory, ownerTime, frameBytes } =
    costs;
  const processes = Math.ceil(agents / streamsOfProcess);
  const of = (what: string, unit: string, cost: Cost | null, value: (cost: Cost) => number): Prediction => ({
    what,
    unit,
    value: cost === null ? null : value(cost),
    streams: cost?.streams ?? null,
  });
  return [
    plain(`hub processes, ${streamsOfProcess} streams each`, 'processes', processes),
    of('resident memory of all streams', 'GiB', memory, ({ value }) => (value * agents) / 2 ** 30),
    of(
      "the kernel's memory for both ends of all streams",
      'GiB',
      kernelMemory,
      ({ value }) => (value * agents) / 2 ** 30,
    ),
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
    of(
      'memory of the owner of one environment with all agents',
      'GiB',
      ownerMemory,
      ({ value }) => (value * agents) / 2 ** 30,
    ),
    of(
      'processor time of that owner for a deployment with all reports',
      's',
      ownerTime,
      ({ value }) => (value * agents) / 1e6,
    ),
    ...clusterPredictions(agents, costs),
    plain('writes of last_seen_at in the database', '1/s', agents / lastSeenSeconds),
    plain(
      'bytes that Redis sends for a deployment',
      'MB',
      frameBytes === null ? null : (frameBytes * processes) / 1e6,
    ),
    plain(
      'the frames of a deployment over 10 Gbit/s',
      's',
      frameBytes === null ? null : (frameBytes * agents) / networkBytesPerSecond,
    ),
  ];
}

/** Costs that the check compares, with the number that each predicts for as many streams. */
const checkedCosts = [
  ['resident memory of all streams', 'memory', 'each'],
  ['processor time of idle streams', 'idleTime', 'each'],
  ['processor time to open all streams', 'openingTime', 'each'],
  ['a deployment in one process', 'deployLast', 'all'],
  ['resident memory of all streams of a cluster', 'clusterMemory', 'each'],
  ['processor time of idle streams of a cluster', 'clusterIdleTime', 'each'],
  ['processor time to open all streams of a cluster', 'clusterOpeningTime', 'each'],
  ['a deployment in a cluster', 'clusterDeployLast', 'all'],
] as const;

/** A prediction may be so far from what was measured. */
const maxDeviation = 0.15;

export interface PredictionCheck {
  readonly what: string;
  /** Streams of the prediction's run, and of the run that checks the prediction. */
  readonly streams: readonly [predicted: number, measured: number];
  /** Measured ÷ predicted. */
  readonly ratio: number;
  readonly isWithin: boolean;
}

/** Compares predictions with runs of more streams and the same frames. Costs without such a run are left out. */
export function checkPredictions(costs: Costs, measured: Costs): readonly PredictionCheck[] {
  return checkedCosts.flatMap(([what, name, of]) => {
    const [predicted, actual] = [costs[name], measured[name]];
    if (!predicted || !actual || actual.streams <= predicted.streams || predicted.value === 0) return [];
    if (predicted.frameBytes !== actual.frameBytes) return [];
    const growth = of === 'all' ? actual.streams / predicted.streams : 1;
    const ratio = actual.value / (predicted.value * growth);
    const streams = [predicted.streams, actual.streams] as const;
    return [{ what, streams, ratio, isWithin: Math.abs(ratio - 1) <= maxDeviation }];
  });
}

export function formatChecks(checks: readonly PredictionCheck[]): string {
  if (checks.length === 0) return 'No figure of the check has more streams than the prediction.\n';
  const lines = checks.map(({ what, streams: [few, many], ratio, isWithin }) => {
    const verdict = isWithin ? 'within' : 'NOT within';
    const basis = `measured with ${many} streams ÷ predicted from ${few}`;
    return `  ${what}: ${formatNumber(ratio)}, ${basis}, ${verdict} ${maxDeviation * 100} %`;
  });
  return ['Check of the predictions', ...lines, ''].join('\n');
}

/** Exit code of a check: 1 for a prediction that is too far off, 3 without any. */
export const exitCodeOfChecks = (checks: readonly PredictionCheck[]): number =>
  checks.length === 0 ? 3 : checks.every(({ isWithin }) => isWithin) ? 0 : 1;

export function formatPredictions(agents: number, predictions: readonly Prediction[]): string {
  const lines = predictions.map(({ what, value, unit, streams }) => {
    if (value === null) return `  ${what}: no results for it`;
    const basis = streams === null ? 'by arithmetic' : `predicted from ${streams} streams`;
    return `  ${what}: ${formatNumber(value)} ${unit}, ${basis}`;
  });
  return [`${agents} agents`, ...lines, ''].join('\n');
}
