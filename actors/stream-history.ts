// Streams of an environment's agents that have ended, on their way into the store. Agents end and open streams in
// storms: nothing is stored at those moments, but later, in slices. A stream that begins within ten seconds after the
// end of another one continues it.
import { admissionTable } from '../src/admission/table.ts';
import type { PastStream } from '../src/agent/record.ts';
import type { Env } from '../src/shared/ids.ts';
import type { ActorPorts } from './ports.ts';
import type { StreamNotice } from './protocol.ts';
import type { Roster } from './roster.ts';
import type { IsGone, RosterStream } from './roster-agent.ts';
import type { ActorContext } from './runtime/define.ts';

export const historyTimer = 'history';

/** Between an end and the start that continues the stream, at most. Milliseconds. */
const joinMs = 10_000;
/** Between a write that failed and the next try. Milliseconds. */
const retryMs = 10_000;
/** Nodes announce their streams to a new activation within this time. Milliseconds. */
const announcedMs = 60_000;
const sliceSize = 200;
/** Ends that wait for the store, at most. The oldest is dropped. */
const [{ waiting: maxWaiting }] = admissionTable.streamEnds.bounds;

type Context = ActorContext<ActorPorts>;

const isNear = (endedAt: number | null, startedAt: number): boolean =>
  endedAt !== null && Math.abs(startedAt - endedAt) <= joinMs;

/** A stream that continues another one has the id and the start of that one. */
interface Origin {
  readonly id: string;
  readonly startedAt: number;
}

export class StreamHistory {
  readonly #tenantId: string;
  readonly #env: Env;
  /** Streams that ended within the last seconds, by agent. */
  readonly #ended = new Map<string, readonly PastStream[]>();
  #waiting = 0;
  /** Open streams that the store does not have. */
  #opened: PastStream[] = [];
  /** Ids of open streams that the store has. */
  readonly #stored = new Set<string>();
  /** By the id of an open stream. */
  readonly #origins = new Map<string, Origin>();
  /** When this activation took over from one whose open streams the store has; null: it has none of them left. */
  #tookOverAt: number | null = null;
  /** Time of `historyTimer`; null: it is not set. */
  #wakeAt: number | null = null;

  constructor(tenantId: string, env: Env) {
    this.#tenantId = tenantId;
    this.#env = env;
  }

  /** Nothing is left to store. */
  get idle(): boolean {
    return this.#waiting === 0 && this.#opened.length === 0 && this.#tookOverAt === null;
  }

  /** The store has open streams of an earlier activation. Those that no node announces have ended without notice. */
  takeOver(context: Context): void {
    this.#tookOverAt = context.now();
    this.#wakeBy(context.now() + announcedMs, context);
  }

  joined({
    agentId,
    connectionId,
    connectedAt,
  }: Pick<StreamNotice, 'agentId' | 'connectionId' | 'connectedAt'>): void {
    const ends = this.#ended.get(agentId);
    const last = ends?.at(-1);
    if (!ends || !last || !isNear(last.endedAt, connectedAt) || this.#origins.has(connectionId)) return;
    this.#keep(agentId, ends.slice(0, -1));
    this.#origins.set(connectionId, { id: last.id, startedAt: last.startedAt });
  }

  /**
   * @param rest streams of the agent that are still open: one of them may have opened before this one ended
   * @param isNoticed false: the stream's node died, and the end came before now
   */
  left(
    agentId: string,
    stream: RosterStream | undefined,
    rest: readonly Pick<RosterStream, 'id' | 'connectedAt'>[],
    context: Context,
    isNoticed = true,
  ): void {
    if (!stream) return;
    const endedAt = context.now();
    const past = { ...this.#pastOf(agentId, stream), endedAt, isEndNoticed: isNoticed };
    this.#origins.delete(stream.id);
    const next = rest.find(({ id, connectedAt }) => isNear(endedAt, connectedAt) && !this.#origins.has(id));
    if (next) {
      this.#origins.set(next.id, { id: past.id, startedAt: past.startedAt });
      return;
    }
    if (this.#waiting >= maxWaiting) this.#dropOldest();
    this.#wakeBy(endedAt + joinMs, context);
    this.#keep(agentId, [...(this.#ended.get(agentId) ?? []), past]);
  }

  /** Has the store learn of streams that have been open since before, so that the end of the hub does not hide them. */
  sweep(roster: Roster, isGone: IsGone, before: number, context: Context): void {
    // Until the rows from before have ended or go on, an open stream may still continue one of them.
    if (this.#tookOverAt !== null) return;
    for (const [agentId, { streams }] of roster.connectedAgents()) {
      for (const stream of streams) {
        if (stream.connectedAt > before || this.#stored.has(this.#idOf(stream)) || isGone(stream.node))
          continue;
        this.#stored.add(this.#idOf(stream));
        this.#opened.push(this.#pastOf(agentId, stream));
      }
    }
    if (this.#opened.length > 0) this.#wakeBy(context.now(), context);
  }

  /** Ended streams of an agent that the store does not have yet. */
  ofAgent(agentId: string): readonly PastStream[] {
    return this.#ended.get(agentId) ?? [];
  }

  startOf({ id, connectedAt }: Pick<RosterStream, 'id' | 'connectedAt'>): number {
    return this.#origins.get(id)?.startedAt ?? connectedAt;
  }

  /** At `historyTimer`: stores one slice. After a failure, which its store reports, the same slice is tried again. */
  async store(roster: Roster, context: Context): Promise<void> {
    const now = context.now();
    this.#wakeAt = null;
    this.#wakeBy(now + retryMs, context);
    let count: number;
    try {
      if (this.#tookOverAt !== null && now >= this.#tookOverAt + announcedMs)
        await this.#closeUnannounced(roster, context);
      count = await this.#storeSlice(context);
    } catch {
      return;
    }
    if (this.idle) {
      this.#wakeAt = null;
      context.clearTimer(historyTimer);
    } else if (count === sliceSize) this.#wakeBy(now, context);
  }

  /** Sets the timer, unless it is due earlier: agents that come and go every few seconds would postpone it for ever. */
  #wakeBy(at: number, context: Context): void {
    if (this.#wakeAt !== null && this.#wakeAt <= at) return;
    this.#wakeAt = at;
    context.setTimer(historyTimer, at);
  }

  async #storeSlice(context: Context): Promise<number> {
    const opened = this.#opened.slice(0, sliceSize);
    const ended = this.#due(context.now(), sliceSize - opened.length);
    if (opened.length + ended.length > 0)
      await context.ports.store.agentStreams.record([...opened, ...ended]);
    this.#opened = this.#opened.slice(opened.length);
    const storedIds = new Set(ended.map(({ id }) => id));
    for (const { agentId, id } of ended) {
      this.#stored.delete(id);
      const ends = this.#ended.get(agentId) ?? [];
      this.#keep(
        agentId,
        ends.filter((one) => !storedIds.has(one.id)),
      );
    }
    return opened.length + ended.length;
  }

  /**
   * Ends the stored streams that no node has announced. Announced streams lack their origins. All exact matches come
   * first, so that no row is continued by a stream that has a row of its own.
   */
  async #closeUnannounced(roster: Roster, context: Context): Promise<void> {
    const tookOverAt = this.#tookOverAt ?? 0;
    await this.#eachOpenSlice(context, async (rows) => {
      for (const { agentId, id } of rows) if (this.#isOpen(roster, agentId, id)) this.#stored.add(id);
    });
    await this.#eachOpenSlice(context, async (rows) => {
      const gone = rows.filter(
        (row) => !this.#isOpen(roster, row.agentId, row.id) && !this.#resume(roster, row, tookOverAt),
      );
      if (gone.length === 0) return;
      const ended = gone.map((row) => ({ ...row, endedAt: tookOverAt, isEndNoticed: false }));
      await context.ports.store.agentStreams.record(ended);
    });
    this.#tookOverAt = null;
  }

  async #eachOpenSlice(
    { ports }: Context,
    visit: (rows: readonly PastStream[]) => Promise<void>,
  ): Promise<void> {
    let after: string | null = null;
    do {
      const { agentStreams } = ports.store;
      const rows: readonly PastStream[] = await agentStreams.listOpen(
        this.#tenantId,
        this.#env,
        sliceSize,
        after,
      );
      await visit(rows);
      after = rows.length === sliceSize ? (rows.at(-1)?.id ?? null) : null;
    } while (after !== null);
  }

  /** True also for a stream that ended a moment ago: its end is on its way into the store. */
  #isOpen(roster: Roster, agentId: string, id: string): boolean {
    const { streams } = roster.streamsOf(agentId, Number.MAX_SAFE_INTEGER);
    return (
      streams.some((stream) => this.#idOf(stream) === id) ||
      this.ofAgent(agentId).some((ended) => ended.id === id)
    );
  }

  /**
   * Makes the agent's earliest announced stream without a row continue this one. It connected after the row's start,
   * and ten seconds before the take-over: a later one may have come after an outage. False: there is none.
   */
  #resume(roster: Roster, { agentId, id, startedAt }: PastStream, tookOverAt: number): boolean {
    const { streams } = roster.streamsOf(agentId, Number.MAX_SAFE_INTEGER);
    const next = streams.findLast((stream) => {
      const hasRow = this.#stored.has(this.#idOf(stream));
      return !hasRow && this.startOf(stream) >= startedAt && this.startOf(stream) <= tookOverAt - joinMs;
    });
    if (!next) return false;
    this.#origins.set(next.id, { id, startedAt });
    this.#stored.add(id);
    return true;
  }

  #idOf({ id }: Pick<RosterStream, 'id'>): string {
    return this.#origins.get(id)?.id ?? id;
  }

  #pastOf(agentId: string, { id, connectedAt, transport, node }: RosterStream): PastStream {
    const origin = this.#origins.get(id) ?? { id, startedAt: connectedAt };
    const place = { tenantId: this.#tenantId, env: this.#env, agentId };
    return { ...origin, ...place, endedAt: null, isEndNoticed: true, transport, node };
  }

  #due(now: number, limit: number): readonly PastStream[] {
    const due: PastStream[] = [];
    for (const ends of this.#ended.values()) {
      for (const one of ends) {
        if (due.length >= limit) return due;
        if ((one.endedAt ?? 0) <= now - joinMs) due.push(one);
      }
    }
    return due;
  }

  #dropOldest(): void {
    const [oldest] = this.#ended;
    if (oldest) this.#keep(oldest[0], oldest[1].slice(1));
  }

  #keep(agentId: string, ends: readonly PastStream[]): void {
    this.#waiting += ends.length - (this.#ended.get(agentId)?.length ?? 0);
    if (ends.length === 0) this.#ended.delete(agentId);
    else this.#ended.set(agentId, ends);
  }
}
