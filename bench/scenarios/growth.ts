// Growth of a hub during a round: memory, descriptors and log. The difference between end and start shows a jump. The
// slope, from samples between them, shows a leak. Levels near the start of the first round and near the end of each one
// show what stays behind. The first and the last tenth of a round do not count, because clients open and close their
// connections there: a hundred at the start would look like a leak of 60 an hour.
import { readdirSync } from 'node:fs';
import { figureOf } from '../suite/figures.ts';
import type { Hub } from '../suite/hub.ts';
import { minus, residentBytesOf } from '../suite/machine.ts';
import type { Figure } from '../suite/results.ts';
import { medianOf, slopeOf } from '../suite/statistics.ts';

/** Medians of some samples, so that a connection or garbage of a moment does not count. */
interface Level {
  /** MiB. */
  readonly memory: number | null;
  readonly descriptors: number | null;
}

/** Null where the system cannot measure. */
export interface Growth {
  /** MiB. */
  readonly memory: number | null;
  readonly descriptors: number | null;
  /** KiB per minute. */
  readonly log: number | null;
  /** MiB per hour. */
  readonly memorySlope: number | null;
  /** Per hour. */
  readonly descriptorSlope: number | null;
  /** Near the start of the round and near its end. */
  readonly start: Level;
  readonly end: Level;
}

/** Of a round's samples, for a level. */
const shareOfLevel = 0.2;
const samplesOfRound = 60;
/** Of a round's time, at its start and at its end. */
const shareOfEdge = 0.1;
const leastRestMs = 200;
const hourMs = 3.6e6;

function descriptorsOf(pid: number): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}

export interface Sample {
  readonly atMs: number;
  readonly memory: number | null;
  readonly descriptors: number | null;
  readonly log: number | null;
}

/** Per hour. */
function slopeOfSamples(samples: readonly Sample[], read: (sample: Sample) => number | null): number | null {
  const values = samples.map(read).filter((value) => value !== null);
  if (values.length < samples.length) return null;
  const slope = slopeOf(
    samples.map(({ atMs }) => atMs),
    values,
  );
  return slope === null ? null : slope * hourMs;
}

function levelOf(samples: readonly Sample[]): Level {
  const median = (read: (sample: Sample) => number | null): number | null => {
    const values = samples.map(read).filter((value) => value !== null);
    return values.length < samples.length || values.length === 0 ? null : medianOf(values);
  };
  const bytes = median(({ memory }) => memory);
  return {
    memory: bytes === null ? null : bytes / 2 ** 20,
    descriptors: median(({ descriptors }) => descriptors),
  };
}

/** @param samples the first and the last of them limit the differences */
export function growthOf(samples: readonly Sample[]): Growth {
  const [first, last] = [samples.at(0), samples.at(-1)];
  const change = (read: (sample: Sample) => number | null): number | null =>
    first && last ? minus(read(last), read(first)) : null;
  const grown = change(({ memory }) => memory);
  const logged = change(({ log }) => log);
  const minutes = ((last?.atMs ?? 0) - (first?.atMs ?? 0)) / 60_000;
  const memorySlope = slopeOfSamples(samples, ({ memory }) => memory);
  const count = Math.ceil(samples.length * shareOfLevel);
  return {
    memory: grown === null ? null : grown / 2 ** 20,
    descriptors: change(({ descriptors }) => descriptors),
    log: logged === null || minutes === 0 ? null : logged / 1024 / minutes,
    memorySlope: memorySlope === null ? null : memorySlope / 2 ** 20,
    descriptorSlope: slopeOfSamples(samples, ({ descriptors }) => descriptors),
    start: levelOf(samples.slice(0, count)),
    end: levelOf(samples.slice(-count)),
  };
}

/** Samples without those in the first and the last tenth of a round. */
export const withoutEdges = (samples: readonly Sample[], startMs: number, seconds: number) =>
  samples.filter(({ atMs }) => {
    const share = (atMs - startMs) / (seconds * 1000);
    return share >= shareOfEdge && share <= 1 - shareOfEdge;
  });

/** Samples the hub from now on, until the returned call. */
export function startGrowth(hub: Hub, seconds: number): () => Growth {
  const startMs = performance.now();
  const samples: Sample[] = [];
  const restMs = Math.max(leastRestMs, (seconds * 1000) / samplesOfRound);
  const timer = setInterval(() => {
    samples.push({
      atMs: performance.now(),
      memory: residentBytesOf(hub.pid),
      descriptors: descriptorsOf(hub.pid),
      log: hub.logBytes(),
    });
  }, restMs);
  return () => {
    clearInterval(timer);
    return growthOf(withoutEdges(samples, startMs, seconds));
  };
}

/**
 * Half an hour of a sound hub (bench/reference/mixed.json) had slopes of 15, 130 and 44 MiB and of 50, 9 and 50
 * descriptors per hour, and grew by 107 MiB at most. A leak of 50 MiB in that time adds 100 MiB per hour to each slope.
 * From the first round on, 150 MiB and 60 descriptors may stay: in a step between two rounds, or in one round alone.
 */
const targets = {
  memorySlope: 100,
  descriptorSlope: 60,
  log: 10,
  memorySinceStart: 150,
  descriptorsSinceStart: 60,
};

/** Decreases count as 0, because a results file contains no negative values. */
const increase = (change: number | null): number | null => (change === null ? null : Math.max(0, change));

const sinceStart = (growths: readonly Growth[], name: keyof Level): (number | null)[] =>
  growths.map(({ end }) => increase(minus(end[name], growths[0]?.start[name] ?? null)));

interface GrowthForm {
  readonly id: string;
  readonly what: string;
  readonly unit: string;
  readonly rounds: readonly (number | null)[];
  readonly atMost?: number;
  readonly isJudgedByWorst?: boolean;
}

function formsOf(growths: readonly Growth[]): readonly GrowthForm[] {
  const of = (value: (growth: Growth) => number | null) => growths.map((growth) => increase(value(growth)));
  return [
    {
      id: 'memory_growth',
      what: 'resident memory near the end of a round − near its start',
      unit: 'MiB',
      rounds: of(({ memory }) => memory),
    },
    {
      id: 'memory_slope',
      what: 'slope of the resident memory over a round, by least squares',
      unit: 'MiB per hour',
      rounds: of(({ memorySlope }) => memorySlope),
      atMost: targets.memorySlope,
    },
    {
      id: 'memory_since_start',
      what: 'resident memory near the end of each round − near the start of the first one; the worst is judged',
      unit: 'MiB',
      rounds: sinceStart(growths, 'memory'),
      atMost: targets.memorySinceStart,
      isJudgedByWorst: true,
    },
    {
      id: 'descriptor_growth',
      what: 'open files and sockets near the end of a round − near its start',
      unit: 'descriptors',
      rounds: of(({ descriptors }) => descriptors),
    },
    {
      id: 'descriptor_slope',
      what: 'slope of open files and sockets over a round, by least squares',
      unit: 'descriptors per hour',
      rounds: of(({ descriptorSlope }) => descriptorSlope),
      atMost: targets.descriptorSlope,
    },
    {
      id: 'descriptors_since_start',
      what: 'open files and sockets near the end of each round − near the start of the first one; the worst is judged',
      unit: 'descriptors',
      rounds: sinceStart(growths, 'descriptors'),
      atMost: targets.descriptorsSinceStart,
      isJudgedByWorst: true,
    },
    {
      id: 'log_growth',
      what: "output in the hub's log; the worst round is judged",
      unit: 'KiB per minute',
      rounds: of(({ log }) => log),
      atMost: targets.log,
      isJudgedByWorst: true,
    },
  ];
}

/** @param hasTargets rounds are long enough for them */
export const growthFigures = (growths: readonly Growth[], hasTargets: boolean): Figure[] =>
  formsOf(growths).map(({ id, atMost, ...form }) =>
    figureOf({
      id: `mixed.${id}`,
      better: 'lower',
      ...form,
      ...(hasTargets && atMost !== undefined ? { target: { at_most: atMost, of: 'value' } } : {}),
    }),
  );
