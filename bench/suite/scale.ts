// Predicted needs of a larger number of agents, from the costs of measured streams: the fixed part for each process,
// and the part of a stream for each agent. No measurement covers more streams than the run held.
import { formatNumber } from './numbers.ts';
import { type Cost, type Costs, costOfStreams, largestSize } from './stream-costs.ts';

/** Streams that a run for a prediction opens at most. */
const maxMeasuredStreams = 5000;
/** A process can have 20,000 descriptors by default; the rest is for files and other connections. */
const streamsOfProcess = 15_000;
/** An agent's `last_seen_at` is written once in as many seconds. */
const lastSeenSeconds = 30;
const networkBytesPerSecond = 10e9 / 8;

/** The sizes of runs for a prediction: two, which tell the fixed part from that of a stream. */
export function measuredSizes(agents: number): readonly number[] {
  const largest = Math.min(agents, maxMeasuredStreams);
  const smallest = Math.ceil(largest / 4);
  return smallest < largest ? [smallest, largest] : [largest];
}

export interface Prediction {
  readonly what: string;
  /** Null: a cost is absent. */
  readonly value: number | null;
  readonly unit: string;
  /** The streams of the runs that have the cost; null: plain arithmetic. */
  readonly sizes: readonly number[] | null;
}

type Form = readonly [what: string, unit: string];

const plain = ([what, unit]: Form, value: number | null): Prediction => ({ what, unit, value, sizes: null });

const measured = ([what, unit]: Form, cost: Cost, value: number): Prediction => ({
  what,
  unit,
  value,
  sizes: cost.sizes,
});

/** Without the cost, there is no number. @param processes that each have the fixed part. Default: 1 */
function costOf(form: Form, cost: Cost | null, agents: number, perUnit: number, processes = 1): Prediction {
  if (cost === null) return { ...plain(form, null), sizes: [] };
  return measured(form, cost, (cost.fixed * processes + cost.perStream * agents) / perUnit);
}

/** Of the nodes of one machine together; empty without a run of a cluster. */
function clusterPredictions(agents: number, costs: Costs): readonly Prediction[] {
  const { clusterMemory, clusterIdleTime, clusterOpeningTime, clusterDeployLast } = costs;
  return [
    costOf(['resident memory of all streams of a cluster', 'GiB'], clusterMemory, agents, 2 ** 30),
    costOf(['processor time of idle streams of a cluster', 'cores'], clusterIdleTime, agents, 1e6),
    costOf(
      ['processor time to open all streams of a cluster', 'core-seconds'],
      clusterOpeningTime,
      agents,
      1e6,
    ),
    costOf(['a deployment in a cluster on one machine', 's'], clusterDeployLast, agents, 1000),
  ].filter(({ value }) => value !== null);
}

/** Of the servers that all hub processes share: from a run of a cluster, else by arithmetic. */
function serverPredictions(agents: number, processes: number, costs: Costs): readonly Prediction[] {
  const { databaseWrites, redisBytes, frameBytes } = costs;
  const writes: Form = ['writes of last_seen_at in the database', '1/s'];
  const bytes: Form = ['bytes that Redis sends for a deployment', 'MB'];
  return [
    databaseWrites === null
      ? plain(writes, agents / lastSeenSeconds)
      : costOf(writes, databaseWrites, agents, 1),
    redisBytes === null || redisBytes.nodes === null
      ? plain(bytes, frameBytes === null ? null : (frameBytes * processes) / 1e6)
      : // Each node reads a frame once, whatever the number of its streams.
        measured(
          bytes,
          redisBytes,
          ((costOfStreams(redisBytes, largestSize(redisBytes)) / redisBytes.nodes) * processes) / 1e6,
        ),
  ];
}

/** Predicted needs of each tier for this number of agents. */
export function predictScale(agents: number, costs: Costs): readonly Prediction[] {
  const { memory, kernelMemory, idleTime, openingTime, deployLast, ownerMemory, ownerTime, frameBytes } =
    costs;
  const processes = Math.ceil(agents / streamsOfProcess);
  const ofStreams = (form: Form, cost: Cost | null, perUnit: number): Prediction =>
    costOf(form, cost, agents, perUnit, processes);
  return [
    plain([`hub processes, ${streamsOfProcess} streams each`, 'processes'], processes),
    ofStreams(['resident memory of all streams', 'GiB'], memory, 2 ** 30),
    ofStreams(["the kernel's memory for both ends of all streams", 'GiB'], kernelMemory, 2 ** 30),
    ofStreams(['processor time of idle streams', 'cores'], idleTime, 1e6),
    ofStreams(['processor time to open all streams', 'core-seconds'], openingTime, 1e6),
    ofStreams(['a deployment in one process after the other', 's'], deployLast, 1000),
    costOf(['memory of the owner of one environment with all agents', 'GiB'], ownerMemory, agents, 2 ** 30),
    costOf(['processor time of that owner for a deployment with all reports', 's'], ownerTime, agents, 1e6),
    ...clusterPredictions(agents, costs),
    ...serverPredictions(agents, processes, costs),
    plain(
      ['the frames of a deployment over 10 Gbit/s', 's'],
      frameBytes === null ? null : (frameBytes * agents) / networkBytesPerSecond,
    ),
  ];
}

const checkedCosts = [
  ['resident memory of all streams', 'memory'],
  ['processor time of idle streams', 'idleTime'],
  ['processor time to open all streams', 'openingTime'],
  ['a deployment in one process', 'deployLast'],
  ['resident memory of all streams of a cluster', 'clusterMemory'],
  ['processor time of idle streams of a cluster', 'clusterIdleTime'],
  ['processor time to open all streams of a cluster', 'clusterOpeningTime'],
  ['a deployment in a cluster', 'clusterDeployLast'],
] as const;

/** A prediction may be so far from what was measured. */
const maxDeviation = 0.15;

export interface PredictionCheck {
  readonly what: string;
  /** Streams of the prediction's runs. */
  readonly sizes: readonly number[];
  /** Streams of the run that checks the prediction. */
  readonly streams: number;
  /** Measured ÷ predicted. */
  readonly ratio: number;
  readonly isWithin: boolean;
}

/** A cost that one of both sides has, or that both have of different things. */
export interface MissingCheck {
  readonly what: string;
  readonly reason: string;
  /** The run that checks the prediction has the cost, so the check is not whole. */
  readonly isMeasured: boolean;
}

export interface PredictionChecks {
  readonly checks: readonly PredictionCheck[];
  readonly missing: readonly MissingCheck[];
}

const framesOf = ({ frameBytes }: Cost): string =>
  frameBytes === null ? 'no frames' : `${frameBytes} bytes`;

/** Why a prediction and a measured cost say nothing about each other; null: they can be compared. */
function obstacleOf(predicted: Cost | null, actual: Cost | null): string | null {
  if (!predicted) return 'no file of the prediction has it';
  if (!actual) return 'the run that checks the prediction does not have it';
  if (predicted.frameBytes !== actual.frameBytes) {
    return `frames differ: ${framesOf(predicted)} in the prediction, ${framesOf(actual)} in the check`;
  }
  const streams = largestSize(actual);
  if (streams <= largestSize(predicted)) {
    return `the check has ${streams} streams, which is not more than ${formatSizes(predicted.sizes)}`;
  }
  return costOfStreams(predicted, streams) === 0 ? 'the prediction is 0' : null;
}

/** Compares predictions with runs of more streams and the same frames. */
export function checkPredictions(costs: Costs, larger: Costs): PredictionChecks {
  const checks: PredictionCheck[] = [];
  const missing: MissingCheck[] = [];
  for (const [what, name] of checkedCosts) {
    const [predicted, actual] = [costs[name], larger[name]];
    if (!predicted && !actual) continue;
    const reason = obstacleOf(predicted, actual);
    if (!predicted || !actual || reason !== null) {
      missing.push({ what, reason: reason ?? '', isMeasured: actual !== null });
      continue;
    }
    const streams = largestSize(actual);
    const ratio = costOfStreams(actual, streams) / costOfStreams(predicted, streams);
    const isWithin = Math.abs(ratio - 1) <= maxDeviation;
    checks.push({ what, sizes: predicted.sizes, streams, ratio, isWithin });
  }
  return { checks, missing };
}

const formatSizes = (sizes: readonly number[]): string =>
  sizes.length < 2 ? sizes.join('') : `${sizes.slice(0, -1).join(', ')} and ${sizes.at(-1)}`;

export function formatChecks({ checks, missing }: PredictionChecks): string {
  const lines = checks.map(({ what, sizes, streams, ratio, isWithin }) => {
    const verdict = isWithin ? 'within' : 'NOT within';
    const basis = `measured with ${streams} streams ÷ predicted from ${formatSizes(sizes)}`;
    return `  ${what}: ${formatNumber(ratio)}, ${basis}, ${verdict} ${maxDeviation * 100} %`;
  });
  const absent = missing.map(({ what, reason }) => `  ${what}: not compared, ${reason}`);
  const none = checks.length === 0 ? ['  No cost of the check could be compared.'] : [];
  return ['Check of the predictions', ...lines, ...absent, ...none, ''].join('\n');
}

/** Exit code of a check: 1 for a prediction that is too far off, 3 if a cost of the larger run was not compared. */
export function exitCodeOfChecks({ checks, missing }: PredictionChecks): 0 | 1 | 3 {
  if (checks.some(({ isWithin }) => !isWithin)) return 1;
  return checks.length === 0 || missing.some(({ isMeasured }) => isMeasured) ? 3 : 0;
}

export function formatPredictions(agents: number, predictions: readonly Prediction[]): string {
  const lines = predictions.map(({ what, value, unit, sizes }) => {
    if (value === null) return `  ${what}: no results for it`;
    const basis = sizes === null ? 'by arithmetic' : `predicted from ${formatSizes(sizes)} streams`;
    return `  ${what}: ${formatNumber(value)} ${unit}, ${basis}`;
  });
  return [`${agents} agents`, ...lines, ''].join('\n');
}
