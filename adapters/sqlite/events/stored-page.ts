// A page of events as the reader's thread sends it: their JSON as it is stored. The caller's thread parses it, which
// costs a third of what copies of the parsed events would.
import type { CountablePage, EventPage } from '../../../src/event/port.ts';
import { type EventJson, eventAsSent, fromEventJson } from '../../../src/event/record/json.ts';
import type { EventOutcome, StoredEvent } from '../../../src/event/record.ts';
import type { CountableEvent } from '../../../src/event/rules/countable.ts';
import { jsonText } from './body.ts';
import type { ReadBody } from './body-cache.ts';
import { type Counted, type Summary, storedEvent } from './segment.ts';

type Origin = Pick<Summary, 'id' | 'env' | 'receivedAt' | 'sample'>;

/** An event of a page, with its JSON. */
export interface PageEvent {
  readonly json: Uint8Array;
  readonly position: number;
  readonly outcomes: readonly EventOutcome[];
  readonly segment: Origin;
  readonly body: Pick<ReadBody, 'form' | 'sender'>;
}

/** Bytes of the fields that readers get beside an event's stored JSON: its id, place, environment and time. */
const addedBytes = 140;

/** About the bytes of the event's JSON as readers get it. */
const pageBytesOf = ({ json, outcomes }: PageEvent): number =>
  json.byteLength + addedBytes + (outcomes.length > 0 ? Buffer.byteLength(JSON.stringify(outcomes)) : 0);

export interface StoredPage extends Pick<EventPage, 'next' | 'searchedTo'> {
  /** As for `eventId`. */
  readonly mark: string;
  /** JSON list of the events, UTF-8. Its buffer may be larger, and belongs to the page alone. */
  readonly json: Uint8Array<ArrayBuffer>;
  readonly segments: readonly (Origin & PageEvent['body'])[];
  /** Of each event, the index of its segment and its position there. */
  readonly places: readonly number[];
  /** By the index of the event; events without outcomes are left out. */
  readonly outcomes: ReadonlyMap<number, readonly EventOutcome[]>;
}

const [bracketStart, comma, bracketEnd] = [0x5b, 0x2c, 0x5d];
/** Of a page's first buffer, which pages of few events do not fill. Pages of 100 events mostly fit the second one. */
const firstBytes = 32 * 1024;
const growth = 4;

/**
 * A page while it is filled. It copies each event's JSON once, into one buffer: a buffer for each event would push V8
 * to collect old objects sooner.
 */
export class PageWriter {
  #json: Buffer<ArrayBuffer> | null = null;
  #length = 0;
  readonly #indexes = new Map<number, number>();
  readonly #segments: StoredPage['segments'][number][] = [];
  readonly #places: number[] = [];
  readonly #outcomes = new Map<number, readonly EventOutcome[]>();

  /** @returns about the bytes of the event's JSON as readers get it */
  add(event: PageEvent): number {
    const { json, position, outcomes } = event;
    if (outcomes.length > 0) this.#outcomes.set(this.#places.length / 2, outcomes);
    this.#places.push(this.#indexOf(event), position);
    const buffer = this.#bufferFor(json.byteLength + 1);
    buffer[this.#length] = this.#length === 0 ? bracketStart : comma;
    buffer.set(json, this.#length + 1);
    this.#length += json.byteLength + 1;
    return pageBytesOf(event);
  }

  /** The page, which takes no more events. */
  end(mark: string, ending: Pick<EventPage, 'next' | 'searchedTo'>): StoredPage {
    const buffer = this.#bufferFor(2);
    if (this.#length === 0) buffer[this.#length++] = bracketStart;
    buffer[this.#length++] = bracketEnd;
    const [segments, places, outcomes] = [this.#segments, this.#places, this.#outcomes];
    return { ...ending, mark, json: buffer.subarray(0, this.#length), segments, places, outcomes };
  }

  #indexOf({ segment: { id, env, receivedAt, sample }, body: { form, sender } }: PageEvent): number {
    const index =
      this.#indexes.get(id) ?? this.#segments.push({ id, env, receivedAt, sample, form, sender }) - 1;
    this.#indexes.set(id, index);
    return index;
  }

  /** The buffer with room for so many bytes more. */
  #bufferFor(bytes: number): Buffer<ArrayBuffer> {
    const least = this.#length + bytes;
    if (this.#json && least <= this.#json.byteLength) return this.#json;
    const larger = Buffer.allocUnsafeSlow(
      Math.max(firstBytes, least, growth * (this.#json?.byteLength ?? 0)),
    );
    this.#json?.copy(larger, 0, 0, this.#length);
    this.#json = larger;
    return larger;
  }
}

/** Buffers of the answers that are pages: they go to the other thread instead of copies. */
export const buffersOf = (answers: readonly unknown[]): readonly ArrayBuffer[] =>
  answers.flatMap((answer) =>
    typeof answer === 'object' && answer !== null && 'places' in answer && 'json' in answer
      ? [(answer as StoredPage).json.buffer]
      : [],
  );

type CountableJson = readonly [
  ts: number,
  verdict: string,
  mode: string,
  agent: string,
  tool: string,
  name: string | null,
];

/** The event of a page that contains the parts for counts alone. */
export function countablePageEvent(
  segment: Pick<Summary, 'agent'> & Origin,
  { ts, verdict, mode, tool, name }: Counted,
  outcomes: readonly EventOutcome[],
  position: number,
): PageEvent {
  const parts: CountableJson = [ts, verdict, mode, segment.agent, tool, name];
  const json = Buffer.from(JSON.stringify(parts));
  return { json, position, outcomes, segment, body: { form: 'written', sender: null } };
}

export function readCountablePage({
  json,
  segments,
  places,
  outcomes,
  ...ending
}: StoredPage): CountablePage {
  const events = (JSON.parse(jsonText(json)) as CountableJson[]).map((value, i): CountableEvent => {
    const [timestamp, verdict, mode, agentId, toolName, decisionName] = value;
    const env = segments[places[i * 2] ?? 0]?.env ?? '';
    return {
      timestamp,
      verdict,
      mode,
      agentId,
      toolName,
      env,
      decisionName,
      outcomes: outcomes.get(i) ?? [],
    };
  });
  const { next, searchedTo } = ending;
  return { events, next, ...(searchedTo === undefined ? {} : { searchedTo }) };
}

export function readPage({
  mark,
  json,
  segments,
  places,
  outcomes,
  next,
  searchedTo,
}: StoredPage): EventPage {
  const events = (JSON.parse(jsonText(json)) as EventJson[]).map((value, i): StoredEvent => {
    const segment = segments[places[i * 2] ?? 0];
    if (!segment) throw new TypeError('An event of the page has no segment.');
    const event = segment.form === 'sent' ? eventAsSent(value, segment.sender) : fromEventJson(value);
    return storedEvent(event, mark, places[i * 2 + 1] ?? 0, segment, outcomes.get(i) ?? []);
  });
  return { events, next, ...(searchedTo === undefined ? {} : { searchedTo }) };
}
