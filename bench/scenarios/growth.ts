// Growth of a hub during a round: memory, descriptors and log. The difference between end and start shows a jump. The
// slope, from samples between them, shows a leak. The first and the last tenth of a round do not count, because clients
// open and close their connections there: a hundred at the start would look like a leak of 60 an hour.
import { readdirSync } from 'node:fs';
import { figureOf } from '../suite/figures.ts';
import type { Hub } from '../suite/hub.ts';
import { minus, residentBytesOf } from '../suite/machine.ts';
import type { Figure, Target } from '../suite/results.ts';
import { slopeOf } from '../suite/statistics.ts';

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
}

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

/** @param samples the first and the last of them limit the differences */
export function growthOf(samples: readonly Sample[]): Growth {
  const [first, last] = [samples.at(0), samples.at(-1)];
  const change = (read: (sample: Sample) => number | null): number | null =>
    first && last ? minus(read(last), read(first)) : null;
  const grown = change(({ memory }) => memory);
  const logged = change(({ log }) => log);
  const minutes = ((last?.atMs ?? 0) - (first?.atMs ?? 0)) / 60_000;
  const memorySlope = slopeOfSamples(samples, ({ memory }) => memory);
  return {
    memory: grown === null ? null : grown / 2 ** 20,
    descriptors: change(({ descriptors }) => descriptors),
    log: logged === null || minutes === 0 ? null : logged / 1024 / minutes,
    memorySlope: memorySlope === null ? null : memorySlope / 2 ** 20,
    descriptorSlope: slopeOfSamples(samples, ({ descriptors }) => descriptors),
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
 * Over ten minutes: 100 MiB, ten descriptors and 100 KiB of log. In `mixed`, 90 bytes that each event leaves behind are
 * beyond them, or a descriptor that one of 500 reads leaves open.
 */
const targets = { memorySlope: 600, descriptorSlope: 60, log: 10 };

/**
 * A decrease counts as 0, because a results file contains no negative values.
 * @param hasTargets for slopes and log of rounds that are long enough
 */
export function growthFigures(growths: readonly Growth[], hasTargets: boolean): Figure[] {
  const targetOf = (name: keyof typeof targets): { readonly target?: Target } =>
    hasTargets ? { target: { at_most: targets[name], of: 'value' } } : {};
  const of = (value: (growth: Growth) => number | null): (number | null)[] =>
    growths.map((growth) => {
      const change = value(growth);
      return change === null ? null : Math.max(0, change);
    });
  const better = 'lower';
  return [
    figureOf({
      id: 'mixed.memory_growth',
      what: 'resident memory near the end of a round − near its start',
      unit: 'MiB',
      better,
      rounds: of(({ memory }) => memory),
    }),
    figureOf({
      id: 'mixed.memory_slope',
      what: 'slope of the resident memory over a round, by least squares',
      unit: 'MiB per hour',
      better,
      rounds: of(({ memorySlope }) => memorySlope),
      ...targetOf('memorySlope'),
    }),
    figureOf({
      id: 'mixed.descriptor_growth',
      what: 'open files and sockets near the end of a round − near its start',
      unit: 'descriptors',
      better,
      rounds: of(({ descriptors }) => descriptors),
    }),
    figureOf({
      id: 'mixed.descriptor_slope',
      what: 'slope of open files and sockets over a round, by least squares',
      unit: 'descriptors per hour',
      better,
      rounds: of(({ descriptorSlope }) => descriptorSlope),
      ...targetOf('descriptorSlope'),
    }),
    figureOf({
      id: 'mixed.log_growth',
      what: "output in the hub's log",
      unit: 'KiB per minute',
      better,
      rounds: of(({ log }) => log),
      ...targetOf('log'),
    }),
  ];
}
