// Stores batches of events in MongoDB: a document per call id under a unique (tenant, call id). A batch is one
// unordered insert. Events that the index refuses are repeats. An update adds a repeat's outcome if it is new, and does
// nothing the second time. The insert of a batch is not one step: when the insert fails half-way, it throws, and part
// of the batch may be stored. A second sending completes the batch and counts that part as duplicates. A process that
// dies between the insert and an outcome has not acknowledged either, and the repeat adds the outcome.
import { hash, randomUUID } from 'node:crypto';
import type { Collection } from 'mongodb';
import type { Admission } from '../../src/admission/admission.ts';
import type { AgentStore } from '../../src/agent/port.ts';
import type { AuditStore } from '../../src/audit/port.ts';
import type { EventBatch, EventStore, IngestResult } from '../../src/event/port.ts';
import { countVerdicts, type EventInput, withSender } from '../../src/event/record.ts';
import { sessionOf } from '../../src/event/rules/decision.ts';
import type { RunKey } from '../../src/run/record.ts';
import { runNote } from '../../src/run/rules/report.ts';
import { factsBySession } from '../../src/run/rules/run.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import { type EventRow, toEventRow } from './event-filter.ts';
import { addOutcomes } from './event-outcomes.ts';
import type { Entry, ExportLog } from './export-log.ts';
import { takenAmong } from './failure.ts';
import { type RunPart, RunProjection, type RunRow } from './run-projection.ts';
import { type RisingIds, seqOf } from './uuidv7.ts';

/** A run, and the places of its events in a batch. */
interface PlacesOfRun extends RunKey {
  readonly places: number[];
}

/** The runs that events belong to, each once. */
function runsIn(events: readonly EventInput[]): readonly PlacesOfRun[] {
  const placesByRun = new Map<string, PlacesOfRun>();
  for (const [place, event] of events.entries()) {
    const sessionId = sessionOf(event);
    if (sessionId === null) continue;
    const key = JSON.stringify([event.agentId, sessionId]);
    const run = placesByRun.get(key) ?? { agentId: event.agentId, sessionId, places: [] };
    run.places.push(place);
    placesByRun.set(key, run);
  }
  return [...placesByRun.values()];
}

/**
 * Facts from a batch about its runs.
 * @param stored ids of stored events, by place in the batch: of the event itself, or of the one that it added an
 *   outcome to; absent: the event added nothing
 */
function partsOf(
  batch: EventBatch,
  runs: readonly PlacesOfRun[],
  stored: ReadonlyMap<number, string>,
  isFresh: (place: number) => boolean,
): readonly RunPart[] {
  return runs.map(({ agentId, sessionId, places }) => {
    const eventIds = places.filter((place) => stored.has(place));
    const of = eventIds.map((place) => batch.events[place] ?? null);
    const facts = factsBySession(of, batch, (i) => {
      const id = stored.get(eventIds[i] ?? -1) ?? '';
      return { seq: seqOf(id), id };
    }).get(sessionId);
    return { agentId, sessionId, facts: facts ?? null, hasDuplicates: !places.every(isFresh) };
  });
}

const sha256 = (text: string): string => hash('sha256', text, 'hex');

/** The first event of each call of a batch, by its place, and the repeats among the others. */
function splitRepeats(batch: EventBatch) {
  const firsts = new Map<string, number>();
  const repeats = new Map<number, EventInput>();
  for (const [place, event] of batch.events.entries()) {
    if (firsts.has(event.callId)) repeats.set(place, event);
    else firsts.set(event.callId, place);
  }
  return { firsts: [...firsts.values()], repeats };
}

type EventExportLog = Pick<ExportLog, 'register' | 'settle' | 'written' | 'abandoned'>;

interface StoredBatch {
  /** The events that it added. */
  readonly entries: readonly Entry[];
  readonly result: IngestResult;
}

export class EventIngest {
  readonly #events: Collection<EventRow>;
  readonly #audit: Pick<AuditStore, 'append'>;
  readonly #nextId: RisingIds;
  readonly #clock: Clock;
  readonly #exportLog: EventExportLog;
  readonly #projection: RunProjection;
  // A burst of ingest must neither take every connection nor pile up in memory.
  readonly #admission: Admission;

  constructor(
    events: Collection<EventRow>,
    runs: Collection<RunRow>,
    audit: Pick<AuditStore, 'append'>,
    nextId: RisingIds,
    clock: Clock,
    exportLog: EventExportLog,
    admission: Admission,
  ) {
    this.#events = events;
    this.#audit = audit;
    this.#nextId = nextId;
    this.#clock = clock;
    this.#exportLog = exportLog;
    this.#projection = new RunProjection(runs, events, audit);
    this.#admission = admission;
  }

  store(batch: EventBatch): Promise<IngestResult> {
    return this.#admission.run({}, 'mongoEventWrites', () => this.#ingest(batch));
  }

  /**
   * Records the decisions that a batch stored; ids prevent a second record. Called before the batch takes its tokens
   * out of the runs: a token that stays is a sign of entries that may be missing, too.
   * @param eventIds by the place of each event or repeat that stored something
   */
  async #recordRuns(batch: EventBatch, eventIds: ReadonlyMap<number, string>): Promise<void> {
    if (batch.sample || batch.isImported) return;
    const stored = batch.events.filter((_, place) => eventIds.has(place));
    await this.#audit.append(stored.flatMap((event) => runNote(event, batch, sha256) ?? []));
  }

  /** Inserts a batch; events that are stored already get the outcomes that the batch adds. */
  async #write(batch: EventBatch, token: string): Promise<StoredBatch> {
    const { firsts, repeats } = splitRepeats(batch);
    const touched = runsIn(batch.events);
    const open = touched.length > 0 ? await this.#projection.begin(batch, touched, token) : null;
    // Readers of arrivals wait so long for an event with an older id (`arrivalSlackMs`) as this insert may take.
    const now = this.#clock.now();
    const fresh = firsts.flatMap((place) => {
      const event = batch.events[place];
      return event ? [{ place, event, id: this.#nextId(now) }] : [];
    });
    const rows = fresh.map(({ event, id }) => toEventRow(event, batch, id, batch.sample ? undefined : token));
    const [, refused] = await Promise.all([
      batch.sample ? undefined : this.#exportLog.register(batch.tenantId, token, rows),
      takenAmong(this.#events.insertMany(rows, { ordered: false })),
    ]);
    const taken = new Set(refused);
    for (const [i, { place, event }] of fresh.entries()) if (taken.has(i)) repeats.set(place, event);
    const inserted = fresh.filter((_, i) => !taken.has(i));
    // In the order of the batch, whichever were stored before.
    const inOrder = new Map([...repeats].sort(([a], [b]) => a - b));
    const { eventIds, entries, stored } = await addOutcomes(this.#events, batch, inOrder, token);
    // No agent will send the events that these repeat again, so exports must contain them.
    await this.#exportLog.settle(batch.tenantId, stored);
    const outcomes = eventIds.size;
    for (const { place, id } of inserted) eventIds.set(place, id);
    await this.#recordRuns(batch, eventIds);
    const isInserted = new Set(inserted.map(({ place }) => place));
    if (open)
      await this.#projection.finish(
        open,
        partsOf(batch, touched, eventIds, (place) => isInserted.has(place)),
      );
    const verdicts = countVerdicts(inserted.map(({ event }) => event));
    return {
      entries: [...inserted.map(({ id }) => id), ...entries],
      result: {
        accepted: inserted.length,
        duplicates: batch.events.length - inserted.length,
        verdicts,
        outcomes,
      },
    };
  }

  async #ingest(received: EventBatch): Promise<IngestResult> {
    const { sender } = received;
    const events = received.events.map((event) => withSender(event, sender));
    const batch = sender === undefined ? received : { ...received, events };
    if (batch.events.length === 0)
      return { accepted: 0, duplicates: 0, verdicts: countVerdicts([]), outcomes: 0 };
    const beganAt = this.#clock.monotonic();
    const token = randomUUID();
    let outcome: StoredBatch;
    try {
      outcome = await this.#write(batch, token);
    } catch (error) {
      this.#exportLog.abandoned(token);
      throw error;
    }
    const { entries, result } = outcome;
    if (!batch.sample) await this.#exportLog.written(batch.tenantId, token, entries, beganAt);
    return result;
  }
}

/** Notes the agents of a batch after its events: MongoDB has no commit for both. The repeat of a failure notes them. */
export const notingAgents =
  (ingest: EventStore['ingest'], { noteSeen }: Pick<AgentStore, 'noteSeen'>): EventStore['ingest'] =>
  async (batch) => {
    const result = await ingest(batch);
    const { tenantId, env, receivedAt, agents } = batch;
    if (!agents || agents.length === 0) return result;
    try {
      const noted = await Promise.all(
        agents.map(({ agentId, newId, on }) => noteSeen(tenantId, agentId, env, receivedAt, newId, on)),
      );
      return { ...result, agents: noted };
    } catch (agentsError) {
      return { ...result, agentsError };
    }
  };
