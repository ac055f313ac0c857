// A move: copies every record of a stopped hub into an empty MongoDB and Redis, and checks that all arrived. It can be
// killed anywhere and run again. Knows no arguments of the command. Keeps promise P66.
import type { JobTarget } from '../../../adapters/bullmq/move.ts';
import type { MoveTarget } from '../../../adapters/mongo/move/target.ts';
import type { ValueTarget } from '../../../adapters/redis/move.ts';
import type { MoveSource } from '../../../adapters/sqlite/move/source.ts';
import { HubError } from '../../shared/error.ts';
import { type Clock, pause } from '../../shared/ports/clock.ts';
import { type MovedRecords, type RecordKind, recordKinds } from '../../shared/ports/moved-records.ts';
import { ChainCheck } from './chain.ts';
import { Digest, type KindDigest, storable } from './digest.ts';

export interface MoveParts {
  readonly source: MoveSource;
  readonly target: MoveTarget;
  readonly values: ValueTarget;
  readonly jobs: JobTarget;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  readonly report: (what: string, done: number, total: number) => void;
  /** Called when everything is checked, before nodes may start on the target. */
  readonly checked: () => void;
}

export interface MoveResult {
  /** False when an earlier run had ended the move. */
  readonly isNew: boolean;
  readonly kinds: { readonly [kind: string]: KindDigest };
}

/** Records of one write, at most, and characters of their JSON, about. */
const maxRecords = 1_000;
const maxCharacters = 4 << 20;
/** A server that is away is asked so often, after so many milliseconds. */
const tries = 10;
const againMs = 2_000;
/** Progress is noted so often, in milliseconds. */
const noteEveryMs = 2_000;
/** Kept elsewhere than in MongoDB: written again by every run, because time decides about some of them. */
const inRedis: ReadonlySet<RecordKind> = new Set<RecordKind>(['values', 'jobs']);
/** Events and runs are written in a form that keeps any text. */
const keepsAnyText: ReadonlySet<RecordKind> = new Set<RecordKind>(['events', 'runs', 'auditLinks']);

const occupied = (what: string, name: string): HubError =>
  new HubError(
    'conflict',
    `${what} is not empty: it contains ${name}. A move needs an empty database, and a CLUSTER_NAME that no hub uses.`,
  );
const otherMove = (what: string): HubError =>
  new HubError('conflict', `${what} contains the data of another hub. Name an empty one.`);

export class Move {
  readonly #parts: MoveParts;
  #startedAt = 0;
  /** Values that have expired by then are not moved. */
  #now = 0;
  #written: { [kind: string]: number } = {};
  #notedAt = 0;
  #done = 0;

  constructor(parts: MoveParts) {
    this.#parts = parts;
  }

  /**
   * @throws HubError conflict when the target is not empty and not this move's own, or a check fails; unavailable when
   *   MongoDB or Redis is away: run it again
   */
  async run(): Promise<MoveResult> {
    const { target, clock, checked } = this.#parts;
    this.#now = clock.now();
    const isResumed = await this.#patiently(() => this.#claim());
    if (isResumed === 'ended') {
      checked();
      return { isNew: false, kinds: {} };
    }
    let { source, differing, kinds } = await this.#copyAndCompare();
    if (differing && isResumed) {
      // The hub ran between two runs of the move: what the first one copied is not what there is now.
      await this.#empty();
      ({ source, differing, kinds } = await this.#copyAndCompare());
    }
    if (differing) throw mismatch(differing, source, kinds);
    await this.#patiently(() => this.#checkChains());
    checked();
    await this.#patiently(() => target.end(clock.now()));
    return { isNew: true, kinds: source };
  }

  /** Makes the target this move's own. True when it was before. */
  async #claim(): Promise<boolean | 'ended'> {
    const { source, target, values } = this.#parts;
    const marker = await target.marker();
    if (marker && marker.hubId !== source.hubId) throw otherMove('The database');
    if (marker && marker.endedAt !== null) return 'ended';
    if (!marker) {
      const name = await target.occupied();
      if (name !== null) throw occupied('The database', `documents in ${name}`);
    }
    const owner = await values.owner();
    if (owner !== null && owner !== source.hubId) throw otherMove('Redis');
    if (owner === null) {
      const key = await values.occupied();
      if (key !== null) throw occupied('Redis', `the key ${key}`);
    }
    this.#startedAt = marker?.startedAt ?? this.#now;
    this.#written = { ...marker?.written };
    await target.begin(source.hubId, this.#startedAt);
    await values.begin(source.hubId);
    // Values that a killed run left, and that are no longer in the source, would differ.
    if (!marker || owner === null) await values.empty();
    return marker !== null;
  }

  async #empty(): Promise<void> {
    await this.#parts.target.empty();
    await this.#parts.values.empty();
    this.#written = {};
    this.#done = 0;
  }

  async #copyAndCompare() {
    const source: { [kind: string]: KindDigest } = {};
    const kinds: { [kind: string]: KindDigest } = {};
    for (const kind of recordKinds) source[kind] = await this.#copy(kind);
    await this.#patiently(() => this.#parts.target.note(this.#written));
    await this.#patiently(() => this.#parts.target.index());
    this.#done = 0;
    for (const kind of recordKinds) kinds[kind] = await this.#patiently(() => this.#digestOf(kind));
    const differing = recordKinds.find(
      (kind) =>
        source[kind]?.records !== kinds[kind]?.records || source[kind]?.digest !== kinds[kind]?.digest,
    );
    return { source, kinds, differing };
  }

  #timeOf(kind: RecordKind): number {
    return kind === 'jobs' ? this.#startedAt : this.#now;
  }

  async #copy<K extends RecordKind>(kind: K): Promise<KindDigest> {
    const digest = new Digest();
    const skip = inRedis.has(kind) ? 0 : (this.#written[kind] ?? 0);
    let processed = 0;
    let batch: MovedRecords[K][] = [];
    let characters = 0;
    let underWay: Promise<void> = Promise.resolve();
    const send = async (): Promise<void> => {
      const records = batch;
      [batch, characters] = [[], 0];
      // One write is under way while the next records are read.
      await underWay;
      await this.#noteNow();
      underWay = this.#patiently(() => this.#write(kind, records)).then(() => {
        this.#written[kind] = Math.max(skip, (this.#written[kind] ?? 0) + records.length);
      });
      underWay.catch(() => {});
    };
    for (const page of this.#parts.source.records(kind, this.#timeOf(kind))) {
      for (const record of page) {
        const stored = keepsAnyText.has(kind)
          ? record
          : storable(record as object as MovedRecords[K] & object);
        const length = digest.add(stored as object);
        if (processed++ < skip) continue;
        batch.push(stored);
        characters += length;
        if (batch.length >= maxRecords || characters >= maxCharacters) await send();
      }
      this.#report('Copying', page.length);
    }
    if (batch.length > 0) await send();
    await underWay;
    return digest.value;
  }

  #report(what: string, more: number): void {
    this.#done += more;
    this.#parts.report(what, this.#done, this.#parts.source.total);
  }

  async #noteNow(): Promise<void> {
    const now = this.#parts.clock.monotonic();
    if (now - this.#notedAt < noteEveryMs) return;
    this.#notedAt = now;
    await this.#patiently(() => this.#parts.target.note({ ...this.#written }));
  }

  /** Repeats what a server that is away did not answer: every write may come twice. */
  async #patiently<T>(task: () => Promise<T>): Promise<T> {
    for (let i = 1; ; i++) {
      try {
        return await task();
      } catch (error) {
        const isAway = error instanceof HubError && error.code === 'unavailable';
        if (!isAway || i === tries) throw error;
        await pause(this.#parts.clock, againMs);
      }
    }
  }

  async #write<K extends RecordKind>(kind: K, records: readonly MovedRecords[K][]): Promise<void> {
    const { target, values, jobs } = this.#parts;
    if (kind === 'values') return values.write(records as never, this.#now);
    if (kind === 'jobs') return jobs.write(records as never, this.#startedAt);
    return target.write(kind as never, records as never);
  }

  #read(kind: RecordKind): AsyncIterable<readonly object[]> {
    const { target, values, jobs, source } = this.#parts;
    if (kind === 'values') return values.read(this.#now);
    if (kind !== 'jobs') return target.read(kind);
    const queues = new Set<string>();
    for (const page of source.records('jobs', this.#startedAt))
      for (const { queue } of page) queues.add(queue);
    return jobs.read([...queues]);
  }

  async #digestOf(kind: RecordKind): Promise<KindDigest> {
    const digest = new Digest();
    for await (const page of this.#read(kind)) {
      for (const record of page) digest.add(record);
      this.#report('Checking', page.length);
    }
    return digest.value;
  }

  async #checkChains(): Promise<void> {
    const { target } = this.#parts;
    const heads: MovedRecords['auditHeads'][] = [];
    for await (const page of target.read('auditHeads')) heads.push(...page);
    const check = new ChainCheck(heads);
    for await (const page of target.read('auditLinks')) for (const link of page) check.add(link);
    check.end();
  }
}

function mismatch(
  kind: RecordKind,
  source: { readonly [kind: string]: KindDigest },
  target: { readonly [kind: string]: KindDigest },
): HubError {
  const [from, to] = [source[kind]?.records ?? 0, target[kind]?.records ?? 0];
  const what = from === to ? `the ${from} records differ` : `${from} records in DATA_DIR are ${to} there`;
  return new HubError(
    'conflict',
    `The copy does not match: of the kind ${kind}, ${what}. DATA_DIR is as before, and no node starts on the copy. ` +
      'Run the move again; if it fails again, please report it.',
  );
}
