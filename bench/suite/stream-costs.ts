// Costs of streams in results files: a fixed part of each hub, and a part of each stream. Runs of two sizes tell them
// apart; a run of one size has no fixed part.
import type { Scenario } from './results.ts';

/** `each`: the figure is divided by the streams; `all`: it belongs to all of them together. */
const costFigures = {
  memory: ['idle.rss', 'each'],
  kernelMemory: ['idle.kernel_memory', 'each'],
  idleTime: ['idle.processor_time', 'each'],
  openingTime: ['storm.processor_time', 'each'],
  deployLast: ['fanout.sse_last', 'all'],
  ownerMemory: ['owner.memory', 'each'],
  ownerTime: ['owner.processor_time', 'each'],
  clusterMemory: ['cluster.stream_rss', 'each'],
  clusterIdleTime: ['cluster.idle_time', 'each'],
  clusterOpeningTime: ['cluster.opening_time', 'each'],
  clusterDeployLast: ['cluster.deploy_last', 'all'],
  databaseWrites: ['cluster.database_writes', 'each'],
  redisBytes: ['cluster.redis_bytes', 'all'],
} as const;

type CostName = keyof typeof costFigures;

/** In the unit of the figure, without "per stream". */
export interface Cost {
  /** The part of a hub without streams; 0 with one size. */
  readonly fixed: number;
  readonly perStream: number;
  /** Streams of the runs, in ascending order. */
  readonly sizes: readonly number[];
  readonly frameBytes: number | null;
  /** Of a cluster; null elsewhere. */
  readonly nodes: number | null;
}

export type Costs = { readonly [name in CostName]: Cost | null } & { readonly frameBytes: number | null };

interface Measurement {
  readonly streams: number;
  readonly total: number;
  readonly frameBytes: number | null;
  readonly nodes: number | null;
}

type Files = readonly { readonly scenarios: readonly Scenario[] }[];

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

export const largestSize = ({ sizes }: Cost): number => sizes.at(-1) ?? 0;

/** The cost of so many streams in one process. */
export const costOfStreams = ({ fixed, perStream }: Cost, streams: number): number =>
  fixed + perStream * streams;

/**
 * A straight line through the smallest run and the largest one.
 * @param measurements of different sizes, at least one
 */
function lineThrough(measurements: readonly Measurement[]): Cost {
  const sorted = measurements.toSorted((a, b) => a.streams - b.streams);
  const [small, large] = [sorted[0], sorted.at(-1)] as [Measurement, Measurement];
  const perStream = (large.total - small.total) / (large.streams - small.streams);
  const fixed = small.total - perStream * small.streams;
  const { frameBytes, nodes } = large;
  const common = { sizes: sorted.map(({ streams }) => streams), frameBytes, nodes };
  // Noise alone makes a part negative, and with one size there is no line: the largest run counts as it is.
  const isLine = perStream >= 0 && fixed >= 0;
  return isLine
    ? { fixed, perStream, ...common }
    : { fixed: 0, perStream: large.total / large.streams, ...common };
}

/** @param scenarios the newest first */
function measurementsOf(scenarios: readonly Scenario[], name: CostName): readonly Measurement[] {
  const [id, of] = costFigures[name];
  const bySize = new Map<number, Measurement>();
  let newest: Measurement | null = null;
  for (const { figures, parameters } of scenarios) {
    const value = figures.find((figure) => figure.id === id)?.median ?? null;
    const streams = numberOrNull(parameters.agents);
    if (value === null || streams === null) continue;
    const frameBytes = numberOrNull(parameters.frame_bytes);
    const nodes = numberOrNull(parameters.nodes);
    const measurement = { streams, total: of === 'each' ? value * streams : value, frameBytes, nodes };
    newest ??= measurement;
    const isAlike = newest.frameBytes === frameBytes && newest.nodes === nodes;
    if (isAlike && !bySize.has(streams)) bySize.set(streams, measurement);
  }
  return [...bySize.values()];
}

/** The costs in results files. Of several runs with as many streams, the one in the last file counts. */
export function costsOf(files: Files): Costs {
  const scenarios = files.flatMap((file) => file.scenarios).reverse();
  const costOf = (name: CostName): Cost | null => {
    const measurements = measurementsOf(scenarios, name);
    return measurements.length === 0 ? null : lineThrough(measurements);
  };
  const names = Object.keys(costFigures) as CostName[];
  const costs = Object.fromEntries(names.map((name) => [name, costOf(name)])) as {
    readonly [name in CostName]: Cost | null;
  };
  const fanout = scenarios.find(({ name }) => name === 'fanout');
  return { ...costs, frameBytes: numberOrNull(fanout?.parameters.frame_bytes) };
}

/** A line for each scenario with costs whose run was disturbed; empty without any. */
export function formatDisturbances(files: Files): string {
  const ids: readonly string[] = Object.values(costFigures).map(([id]) => id);
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
