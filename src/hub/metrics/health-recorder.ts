// Records a node's health over the last 24 hours, in memory. The figures are those that health and metrics measure
// anyway.
import type { LoopDelay } from '../../../adapters/node/loop-delay.ts';
import { dayMs, minuteMs } from '../../shared/duration.ts';
import type { Durations } from '../../shared/meters.ts';
import type { Clock, Timer } from '../../shared/ports/clock.ts';
import type { HealthPoint, HealthSeries } from '../../shared/ports/node-health.ts';
import { quantile } from '../../shared/quantile.ts';
import type { Storage } from '../../shared/storage.ts';
import { withinScrape } from './answers.ts';

export interface HealthRecorderSources {
  readonly clock: Pick<Clock, 'now' | 'after' | 'every'>;
  readonly node: string;
  readonly delay: Pick<LoopDelay, 'now'>;
  /** Durable commits of events. */
  readonly commits: Pick<Durations, 'boundsMs' | 'counts'>;
  readonly storage: () => Storage;
  /** Read once for each point. */
  readonly storeBytes: () => Promise<number | null>;
  readonly memoryBytes: () => Promise<number | null>;
}

const intervalMs = 5 * minuteMs;
/** As often as the figures of the event loop begin again. */
const sampleMs = minuteMs;

/** Null if the figure cannot be read. */
function readOrNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** Of two figures the one that `choose` returns. An unknown figure does not count. */
const combine = (
  choose: (...figures: number[]) => number,
  before: number | null,
  next: number | null | undefined,
): number | null => {
  const figures = [before, next ?? null].filter((figure) => figure !== null);
  return figures.length === 0 ? null : choose(...figures);
};

const emptyPoint = (at: number): HealthPoint => ({
  at,
  loopLagMs: null,
  loopLagMaxMs: null,
  commitMs: null,
  storeBytes: null,
  diskFreeBytes: null,
  diskTotalBytes: null,
  memoryBytes: null,
});

export class HealthRecorder {
  readonly #sources: HealthRecorderSources;
  readonly #startedAt: number;
  readonly #timer: Timer;
  /** In order of time; the last one is in progress. */
  #points: HealthPoint[] = [];
  /** Commits in each bucket at the start of the point in progress. */
  #commitsBefore: readonly number[];

  constructor(sources: HealthRecorderSources) {
    this.#sources = sources;
    this.#startedAt = sources.clock.now();
    this.#commitsBefore = [...sources.commits.counts];
    void this.#sample();
    this.#timer = sources.clock.every(sampleMs, () => void this.#sample());
  }

  /** All points, with the current figures in the last one. */
  async series(): Promise<HealthSeries> {
    await this.#sample();
    return { node: this.#sources.node, startedAt: this.#startedAt, intervalMs, points: [...this.#points] };
  }

  stop(): void {
    this.#timer.cancel();
  }

  async #sample(): Promise<void> {
    const { clock, memoryBytes } = this.#sources;
    const at = Math.floor(clock.now() / intervalMs) * intervalMs;
    if (this.#points.at(-1)?.at !== at) this.#begin(at);
    this.#change(at, this.#figures());
    const memory = await this.#answerOf(memoryBytes);
    this.#change(at, (point) => ({ memoryBytes: combine(Math.max, point.memoryBytes, memory) }));
  }

  /** Begins a point. Points from an hour that repeats, because the clock was set back, make room. */
  #begin(at: number): void {
    const last = this.#points.at(-1);
    if (last) this.#change(last.at, () => ({ commitMs: this.#commitMs() }));
    this.#commitsBefore = [...this.#sources.commits.counts];
    this.#points = this.#points.filter((point) => point.at < at && point.at > at - dayMs);
    this.#points.push(emptyPoint(at));
    void this.#answerOf(this.#sources.storeBytes).then((storeBytes) =>
      this.#change(at, () => ({ storeBytes })),
    );
  }

  /** The figures that need no answer. The worst of an interval counts. */
  #figures(): (point: HealthPoint) => Partial<HealthPoint> {
    const loop = readOrNull(() => this.#sources.delay.now());
    const disk = readOrNull(() => this.#sources.storage());
    const commitMs = this.#commitMs();
    return (point) => ({
      loopLagMs: combine(Math.max, point.loopLagMs, loop?.p99Ms),
      loopLagMaxMs: combine(Math.max, point.loopLagMaxMs, loop?.maxMs),
      commitMs,
      diskFreeBytes: combine(Math.min, point.diskFreeBytes, disk?.freeBytes),
      diskTotalBytes: disk?.totalBytes ?? point.diskTotalBytes,
    });
  }

  #commitMs(): number | null {
    const { boundsMs, counts } = this.#sources.commits;
    const commits = counts.map((count, bucket) => count - (this.#commitsBefore[bucket] ?? 0));
    const bound = quantile(boundsMs, commits, 0.99);
    return bound === null ? null : Math.min(bound, boundsMs.at(-1) ?? bound);
  }

  #answerOf(read: () => Promise<number | null>): Promise<number | null> {
    return withinScrape(this.#sources.clock, Promise.resolve().then(read));
  }

  #change(at: number, change: (point: HealthPoint) => Partial<HealthPoint>): void {
    this.#points = this.#points.map((point) => (point.at === at ? { ...point, ...change(point) } : point));
  }
}
