// Growth of a hub during a round: memory, descriptors and log. The difference between end and start shows a jump. The
// slope, from samples over the whole round, shows a leak.
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
const leastRestMs = 200;
const hourMs = 3.6e6;

function descriptorsOf(pid: number): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}

interface Sample {
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

/** Samples the hub from now on, until the returned call. */
export function startGrowth(hub: Hub, seconds: number): () => Growth {
  const read = (): Sample => ({
    atMs: performance.now(),
    memory: residentBytesOf(hub.pid),
    descriptors: descriptorsOf(hub.pid),
    log: hub.logBytes(),
  });
  const first = read();
  const samples = [first];
  const restMs = Math.max(leastRestMs, (seconds * 1000) / samplesOfRound);
  const timer = setInterval(() => samples.push(read()), restMs);
  return () => {
    clearInterval(timer);
    const last = read();
    samples.push(last);
    const grown = minus(last.memory, first.memory);
    const logged = minus(last.log, first.log);
    const memorySlope = slopeOfSamples(samples, ({ memory }) => memory);
    return {
      memory: grown === null ? null : grown / 2 ** 20,
      descriptors: minus(last.descriptors, first.descriptors),
      log: logged === null ? null : (logged * 60) / 1024 / ((last.atMs - first.atMs) / 1000),
      memorySlope: memorySlope === null ? null : memorySlope / 2 ** 20,
      descriptorSlope: slopeOfSamples(samples, ({ descriptors }) => descriptors),
    };
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
      what: 'resident memory at the end of a round − at its start',
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
      what: 'open files and sockets at the end of a round − at its start',
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
