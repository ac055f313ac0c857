// Batches of events as the console API's clients send them: from bytes, or a value read before, to events that can be
// stored. One bad event never costs the others. event/use-cases/intake.ts stores the events.

import type { CountLimit } from '../../admission/limit.ts';
import { readManifest } from '../../agent/console/manifest.ts';
import type { Hub } from '../../http/contract/handler.ts';
import { RequestError } from '../../http/contract/request-error.ts';
import { agentOf } from '../../shared/acting-agent.ts';
import type { EventLoopBudget } from '../../shared/concurrency/event-loop-budget.ts';
import type { HubError } from '../../shared/error.ts';
import { changedFields } from '../../shared/json/exact-numbers.ts';
import { isMapping } from '../../shared/json/mapping.ts';
import { openObject, type Pausing, type Span } from '../../shared/json/outline.ts';
import { parseSpans, scanList } from '../../shared/json/scan.ts';
import type { EventApi } from '../../shared/meters.ts';
import type { KeyPrincipal } from '../../shared/principal.ts';
import type { EventInput, Ingested } from '../record.ts';
import { isAsSent, type ParsedBatch, parseBatch } from '../rules/as-sent.ts';
import { maxParsedEvent, shortenEvent } from '../rules/large.ts';
import { depthOf, type RepairContext, type Repaired, type Shortened } from '../rules/repair.ts';
import type { IngestBatch, PostLimits } from '../use-cases/intake.ts';
import { isFlat, repairEitherForm, repairFlatEvent } from './forms.ts';

/** Bytes of a batch over HTTP: after trouble clients post their whole buffer at once. */
export const maxBatchBytes = 16 * 1024 * 1024;
export const maxBatchEvents = 10_000;
const maxBatchValues = 2_000_000;
/** Events parsed in one go, and their bytes. */
const atOnce = 64;
const bytesAtOnce = 64 * 1024;

/** A manifest that keeps to its other bounds takes less. */
const maxManifestBytes = 1024 * 1024;

export interface Rejection {
  /** In the list that was sent. */
  readonly index: number;
  readonly call_id: string | null;
  readonly code: string;
  readonly detail: string;
}

export interface Batch extends IngestBatch {
  readonly rejected: readonly Rejection[];
}

/** Parts of a batch that are not stored, while the rest is. */
interface Refused {
  readonly rejected?: Rejection[];
  readonly manifest?: 'refused';
}

/** Values with which an event from this caller is repaired. */
export const repairContext = (
  { clock, secrets }: Pick<Hub, 'clock' | 'secrets'>,
  caller: { readonly agentId: string | null; readonly agentPattern: string | null },
): RepairContext => ({
  agentId: agentOf(caller),
  now: clock.now(),
  sha256: (text) => secrets.sha256(text),
});

/**
 * Takes in a batch that is one post.
 * @throws HubError as `storeBatch`
 */
export function ingestBatch(
  hub: Pick<Hub, 'app'>,
  principal: KeyPrincipal,
  batch: Batch,
  limits: PostLimits,
): Promise<Ingested & Refused> {
  return hub.app.eventIntake.takePost(principal, batch.events, limits, () =>
    storeBatch(hub, principal, batch, limits.count, 'console'),
  );
}

/**
 * Stores a batch and returns the result for each event, those that could not be read included.
 * @throws HubError as `ingest` in event/use-cases/intake.ts
 */
export async function storeBatch(
  { app }: Pick<Hub, 'app'>,
  principal: KeyPrincipal,
  batch: Batch,
  count: CountLimit,
  api: EventApi,
): Promise<Ingested & Refused> {
  const { outOfScope, manifestRefused, ...ingested } = await app.eventIntake.ingest(
    principal,
    batch,
    count,
    api,
  );
  const rejected = [
    ...batch.rejected,
    ...outOfScope.map(({ index, callId, reason }) => ({
      index,
      call_id: callId,
      code: 'forbidden',
      detail: reason,
    })),
  ];
  rejected.sort((one, other) => one.index - other.index);
  app.eventIntake.countRejected(api, batch.rejected.length);
  return {
    ...ingested,
    ...(rejected.length > 0 ? { rejected } : {}),
    ...(manifestRefused ? { manifest: 'refused' as const } : {}),
  };
}

const keys = { list: 'events', other: 'agent_manifest' } as const;
const limits = { maxValues: maxBatchValues, maxElements: maxBatchEvents };

const noList = (): HubError =>
  new RequestError('validation_failed', 'The batch has no list of events. Send one in events.', {
    problems: [{ loc: ['body', 'events'], msg: 'must be a list' }],
  });

/** Makes one event fit. */
type Repair = (
  value: unknown,
  context: RepairContext,
  depth: number,
  shortened?: Shortened,
  maxBytes?: number,
) => Repaired | Refusal;

/** Form in which an API takes events. */
interface EventForm {
  readonly repair: Repair;
  /** True if an event's fields are those of its payload. */
  readonly isFlat: typeof isFlat;
}

const forms = {
  console: { repair: repairEitherForm, isFlat },
  hosted: { repair: repairFlatEvent, isFlat: () => true },
} as const satisfies { readonly [api: string]: EventForm };

interface Refusal {
  readonly code: string;
  readonly detail: string;
}

/**
 * Reads a batch a few events at a time, so that other requests are served in between. No event of over 256 KiB is
 * parsed whole.
 * @param api in whose form the events are
 * @throws HubError invalid_json; validation_failed without a list of events, or for more than 10,000
 */
export async function readBatch(
  bytes: Uint8Array,
  context: RepairContext,
  budget: EventLoopBudget,
  api: keyof typeof forms = 'console',
): Promise<Batch> {
  const form = forms[api];
  const whole = parseBatch(bytes);
  if (whole !== null && whole.events.length <= maxBatchEvents)
    return readWholeBatch(bytes, whole, context, form.repair);
  const { elements, other: manifest } = await paced(scanList(bytes, keys, limits), budget);
  if (elements === null) throw noList();
  const reader = new BatchReader(context, form.repair);
  for (const group of groupsOf(elements)) {
    await budget.next(sizeOf(group));
    const [only] = group;
    if (group.length === 1 && only && isLarge(only)) await addLarge(reader, bytes, only, form.isFlat, budget);
    else {
      const { values, rounded } = parseSpans(bytes, group);
      // One large event is parsed in one turn and repaired in another.
      if (sizeOf(group) > bytesAtOnce) await budget.next(sizeOf(group));
      for (const [i, value] of values.entries()) reader.add(value, group[i]?.depth, rounded?.[i]);
    }
  }
  // A turn between the last repair and the storing.
  await budget.next(Number.POSITIVE_INFINITY);
  const batch = reader.batch(manifest && manifestAt(bytes, manifest));
  return { ...batch, sizes: elements.map(({ start, end }) => end - start) };
}

/** A manifest over its bound is none that can be read. */
function manifestAt(bytes: Uint8Array, span: Span): unknown {
  if (span.depth > maxDepth) return null;
  return span.end - span.start > maxManifestBytes ? {} : parseSpans(bytes, [span]).values[0];
}

/** Runs work that pauses, each part of it in a turn with room for it. */
async function paced<T>(work: Pausing<T>, budget: EventLoopBudget): Promise<T> {
  let step = work.next();
  while (!step.done) {
    await budget.next(bytesAtOnce);
    step = work.next();
  }
  return step.value;
}

/** Adds an event that is not parsed, or only what is left of it. */
async function addLarge(
  reader: BatchReader,
  bytes: Uint8Array,
  span: Span,
  isFlatForm: EventForm['isFlat'],
  budget: EventLoopBudget,
): Promise<void> {
  if (span.depth > maxDepth || bytes[span.start] !== openObject) return reader.add(undefined, span.depth);
  const { json, shortened } = await paced(
    shortenEvent(bytes, span, { isFlat: isFlatForm, sha256: reader.context.sha256 }),
    budget,
  );
  const whole = { start: 0, end: json.byteLength, depth: span.depth };
  const { values, rounded } = parseSpans(json, [whole]);
  reader.add(values[0], span.depth, rounded?.[0], shortened);
}

/** A batch that was parsed in one go. */
function readWholeBatch(
  bytes: Uint8Array,
  { events, measures, others, listBytes }: ParsedBatch,
  context: RepairContext,
  repair: Repair,
): Batch {
  const reader = new BatchReader(context, repair);
  for (const [i, value] of events.entries()) {
    const { depth, maxBytes } = measures[i] ?? {};
    reader.add(value, depth, undefined, undefined, maxBytes);
  }
  const manifest = others.agent_manifest;
  const batch = reader.batch(depthOf(manifest) <= maxDepth ? manifest : null);
  // Only without a rejected event each stands in its own place.
  if (listBytes === null || batch.rejected.length > 0) return batch;
  const isKept = batch.events.every((event, i) => isAsSent(events[i], event));
  return isKept ? { ...batch, sent: bytes.slice(...listBytes) } : batch;
}

/**
 * A batch that was parsed before (a message of at most 1 MiB).
 * @param rounded the same with whole numbers rounded that a double cannot hold; absent when it has none
 * @throws HubError validation_failed
 */
export function readParsedBatch(value: unknown, context: RepairContext, rounded?: unknown): Batch {
  const map = isMapping(value) ? value : {};
  if (!Array.isArray(map.events)) throw noList();
  if (map.events.length > maxBatchEvents) {
    throw new RequestError(
      'validation_failed',
      `The batch has more than ${maxBatchEvents} events. Send several batches.`,
      {
        problems: [{ loc: ['body', 'events'], msg: `must contain at most ${maxBatchEvents} items` }],
      },
    );
  }
  const reader = new BatchReader(context, repairEitherForm);
  const roundedEvents = isMapping(rounded) && Array.isArray(rounded.events) ? rounded.events : [];
  for (const [i, event] of map.events.entries()) reader.add(event, undefined, roundedEvents[i]);
  return reader.batch(map.agent_manifest);
}

const maxDepth = 64;

/** True if a value is not parsed whole. */
const isLarge = ({ start, end, depth }: Span): boolean => depth > maxDepth || end - start > maxParsedEvent;

/** Spans next to each other, a few at a time; one that is not parsed whole stands alone. */
function* groupsOf(spans: readonly Span[]): Generator<readonly Span[]> {
  let group: Span[] = [];
  let bytes = 0;
  for (const span of spans) {
    const isAlone = isLarge(span);
    if (group.length > 0 && (isAlone || group.length >= atOnce || bytes >= bytesAtOnce)) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(span);
    bytes += span.end - span.start;
    if (isAlone) {
      yield group;
      group = [];
      bytes = 0;
    }
  }
  if (group.length > 0) yield group;
}

const sizeOf = (group: readonly Span[]): number => (group.at(-1)?.end ?? 0) - (group[0]?.start ?? 0);

class BatchReader {
  readonly context: RepairContext;
  readonly #repair: Repair;
  readonly #events: EventInput[] = [];
  readonly #places: number[] = [];
  readonly #rejected: Rejection[] = [];
  #index = 0;

  constructor(context: RepairContext, repair: Repair) {
    this.context = context;
    this.#repair = repair;
  }

  /**
   * @param rounded the same event with whole numbers rounded that a double cannot hold; absent when it has none
   * @param shortened of an event that was shortened
   * @param maxBytes the most that the event can have as JSON, where that is known before
   */
  add(
    value: unknown,
    depth = depthOf(value),
    rounded?: unknown,
    shortened?: Shortened,
    maxBytes?: number,
  ): void {
    const index = this.#index++;
    const repaired =
      value === undefined && depth > maxDepth
        ? this.#repair({}, this.context, depth)
        : this.#repair(value, this.context, depth, shortened, maxBytes);
    if ('event' in repaired) {
      this.#events.push(withAltered(repaired.event, value, rounded));
      this.#places.push(index);
      return;
    }
    const id = isMapping(value) && typeof value.call_id === 'string' ? value.call_id.slice(0, 255) : null;
    this.#rejected.push({ index, call_id: id, code: repaired.code, detail: repaired.detail });
  }

  batch(manifest: unknown): Batch {
    return {
      events: this.#events,
      places: this.#places,
      rejected: this.#rejected,
      manifest: readManifest(manifest, this.#events, this.context),
    };
  }
}

/**
 * The event, with a mark at fields of its payload that hold a number as a text of its digits: a rule that compares
 * numbers would judge it otherwise than the agent did.
 */
function withAltered(event: EventInput, sent: unknown, rounded: unknown): EventInput {
  if (!isMapping(sent) || !isMapping(rounded)) return event;
  const { payload } = event;
  const { payload: sentPayload, ...sentFields } = sent;
  const altered = changedFields(sentFields, rounded);
  if (isMapping(sentPayload) && isMapping(rounded.payload)) {
    altered.push(...changedFields(sentPayload, rounded.payload));
  }
  const marks = altered
    .filter((name) => payload !== null && Object.hasOwn(payload, name))
    .map((name) => `payload.${name}`);
  const truncated = [...new Set([...(event.truncated ?? []), ...marks])];
  return truncated.length === 0 ? event : { ...event, truncated };
}
