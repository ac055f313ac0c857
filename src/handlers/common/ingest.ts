// Batches of events as the console API's clients send them: from bytes, or a value read before, to events that can be
// stored. One bad event never costs the others. What becomes of them is app/event-intake.ts.
import { agentOf } from '../../app/acting-agent.ts';
import type { IngestBatch } from '../../app/event-intake.ts';
import type { EventLoopBudget } from '../../concurrency/event-loop-budget.ts';
import { repairEitherForm } from '../../domain/decision-event.ts';
import { HubError } from '../../domain/error.ts';
import type { AgentManifest, EventInput, Ingested } from '../../domain/event.ts';
import { depthOf, type RepairContext, type Repaired, shortName } from '../../domain/event-repair.ts';
import { changedFields } from '../../domain/exact-numbers.ts';
import { parseSpans, type Span, scanList } from '../../domain/json-scan.ts';
import { contractTypes, modes } from '../../domain/library.ts';
import type { CountLimit } from '../../domain/limit.ts';
import type { KeyPrincipal } from '../../domain/principal.ts';
import type { Hub } from './hub.ts';

/** Bytes of a batch over HTTP: after trouble clients post their whole buffer at once. */
export const maxBatchBytes = 16 * 1024 * 1024;
export const maxBatchEvents = 10_000;
const maxBatchValues = 2_000_000;
/** Events parsed in one go, and their bytes. */
const atOnce = 64;
const bytesAtOnce = 64 * 1024;
const maxContracts = 1000;

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

/** What of a batch is not stored, while the rest is. */
interface Refused {
  readonly rejected?: Rejection[];
  readonly manifest?: 'refused';
}

/** What an event of this caller is repaired with. */
export const repairContext = (
  { clock, secrets }: Pick<Hub, 'clock' | 'secrets'>,
  caller: { readonly agentId: string | null; readonly agentPattern: string | null },
): RepairContext => ({
  agentId: agentOf(caller),
  now: clock.now(),
  sha256: (text) => secrets.sha256(text),
});

/**
 * Stores a batch and says what became of it, what could not be read included.
 * @throws HubError as `accept` in app/event-intake.ts
 */
export async function acceptBatch(
  { app }: Pick<Hub, 'app'>,
  principal: KeyPrincipal,
  batch: Batch,
  count: CountLimit,
): Promise<Ingested & Refused> {
  const { outOfScope, manifestRefused, ...ingested } = await app.eventIntake.accept(principal, batch, count);
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
  return {
    ...ingested,
    ...(rejected.length > 0 ? { rejected } : {}),
    ...(manifestRefused ? { manifest: 'refused' as const } : {}),
  };
}

const limits = { maxValues: maxBatchValues, maxElements: maxBatchEvents };

const noList = (): HubError =>
  new HubError('validation_failed', 'A batch has a list of events.', {
    problems: [{ loc: ['body', 'events'], msg: 'must be a list' }],
  });

/** Makes one event fit: of this API's form, or of another's. */
type Repair = (value: unknown, context: RepairContext, depth: number) => Repaired | Refusal;

interface Refusal {
  readonly code: string;
  readonly detail: string;
}

/**
 * Reads a batch a few events at a time, so that other requests are served meanwhile.
 * @throws HubError invalid_json; validation_failed without a list of events, or for more than 10,000
 */
export async function readBatch(
  bytes: Uint8Array,
  context: RepairContext,
  budget: EventLoopBudget,
  repair: Repair = repairEitherForm,
): Promise<Batch> {
  const scan = scanList(bytes, 'events', limits);
  let step = scan.next();
  while (!step.done) {
    await budget.next(bytesAtOnce);
    step = scan.next();
  }
  const { elements, others } = step.value;
  if (elements === null) throw noList();
  const reader = new BatchReader(context, repair);
  for (const group of groupsOf(elements)) {
    await budget.next(sizeOf(group));
    // What is nested too deep is not parsed at all.
    const [only] = group;
    if (group.length === 1 && only && only.depth > maxDepth) reader.add(undefined, only.depth);
    else {
      const { values, rounded } = parseSpans(bytes, group);
      for (const [i, value] of values.entries()) reader.add(value, group[i]?.depth, rounded?.[i]);
    }
  }
  const manifest = others.get('agent_manifest');
  return reader.batch(
    manifest && manifest.depth <= maxDepth ? parseSpans(bytes, [manifest]).values[0] : null,
  );
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
    throw new HubError('validation_failed', `At most ${maxBatchEvents} events are taken at once.`, {
      problems: [{ loc: ['body', 'events'], msg: `must hold at most ${maxBatchEvents} items` }],
    });
  }
  const reader = new BatchReader(context, repairEitherForm);
  const roundedEvents = isMapping(rounded) && Array.isArray(rounded.events) ? rounded.events : [];
  for (const [i, event] of map.events.entries()) reader.add(event, undefined, roundedEvents[i]);
  return reader.batch(map.agent_manifest);
}

const maxDepth = 64;

/** Spans next to each other, a few at a time; one that is too deep stands alone. */
function* groupsOf(spans: readonly Span[]): Generator<readonly Span[]> {
  let group: Span[] = [];
  let bytes = 0;
  for (const span of spans) {
    const isDeep = span.depth > maxDepth;
    if (group.length > 0 && (isDeep || group.length >= atOnce || bytes >= bytesAtOnce)) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(span);
    bytes += span.end - span.start;
    if (isDeep) {
      yield group;
      group = [];
      bytes = 0;
    }
  }
  if (group.length > 0) yield group;
}

const sizeOf = (group: readonly Span[]): number => (group.at(-1)?.end ?? 0) - (group[0]?.start ?? 0);

class BatchReader {
  readonly #context: RepairContext;
  readonly #repair: Repair;
  readonly #events: EventInput[] = [];
  readonly #places: number[] = [];
  readonly #rejected: Rejection[] = [];
  #index = 0;

  constructor(context: RepairContext, repair: Repair) {
    this.#context = context;
    this.#repair = repair;
  }

  /** @param rounded the same event with whole numbers rounded that a double cannot hold; absent when it has none */
  add(value: unknown, depth = depthOf(value), rounded?: unknown): void {
    const index = this.#index++;
    const repaired =
      value === undefined && depth > maxDepth
        ? this.#repair({}, this.#context, depth)
        : this.#repair(value, this.#context, depth);
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
      manifest: manifestOf(manifest, this.#events, this.#context),
    };
  }
}

const isMapping = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The event, with a mark at fields of its payload that hold a number as a text of its digits: a rule that compares
 * numbers would judge it otherwise than the agent did.
 */
function withAltered(event: EventInput, sent: unknown, rounded: unknown): EventInput {
  if (!isMapping(sent) || !isMapping(rounded)) return event;
  const { payload } = event;
  const altered = [sent, sent.payload].flatMap((fields, i) => {
    const before = i === 0 ? rounded : rounded.payload;
    return isMapping(fields) && isMapping(before) ? changedFields(fields, before) : [];
  });
  const marks = altered
    .filter((name) => payload !== null && Object.hasOwn(payload, name))
    .map((name) => `payload.${name}`);
  const truncated = [...new Set([...(event.truncated ?? []), ...marks])];
  return truncated.length === 0 ? event : { ...event, truncated };
}

/**
 * The contracts that an agent runs of its own. One that is of another agent than the events, or that cannot be read, is
 * refused alone.
 */
function manifestOf(
  value: unknown,
  events: readonly EventInput[],
  context: RepairContext,
): AgentManifest | null | 'refused' {
  if (value === undefined || value === null) return null;
  if (!isMapping(value) || !Array.isArray(value.contracts)) return 'refused';
  const ofEvents = events[0]?.agent_id ?? context.agentId;
  const agentId = typeof value.agent_id === 'string' && value.agent_id !== '' ? value.agent_id : ofEvents;
  if (events.some((event) => event.agent_id !== agentId)) return 'refused';
  const { policy_version: version } = value;
  const contracts = value.contracts.slice(0, maxContracts).flatMap((contract) => {
    if (!isMapping(contract) || typeof contract.id !== 'string' || contract.id === '') return [];
    const type = contractTypes.find((one) => one === contract.type);
    const mode = modes.find((one) => one === contract.mode) ?? 'enforce';
    return type ? [{ id: shortened(contract.id, context), type, tool: toolsOf(contract.tool), mode }] : [];
  });
  return {
    agent_id: agentId,
    policy_version: typeof version === 'string' ? version.slice(0, 255) : '',
    contracts,
  };
}

const shortened = (text: string, { sha256 }: RepairContext): string =>
  text.length <= 255 ? text : shortName(text, sha256);

/** One name or several; a session contract may name none. */
function toolsOf(tool: unknown): string | readonly string[] {
  if (typeof tool === 'string') return tool.slice(0, 4096);
  return Array.isArray(tool) ? tool.filter((name) => typeof name === 'string').slice(0, 100) : [];
}
