// A page of events as the reader's thread sends it: their JSON as it is stored. The caller's thread parses it, which
// costs a third of what copies of the parsed events would.
import type { EventPage } from '../../../src/event/port.ts';
import { type EventJson, eventAsSent, fromEventJson } from '../../../src/event/record/json.ts';
import type { EventOutcome, StoredEvent } from '../../../src/event/record.ts';
import { jsonText } from './body.ts';
import type { ReadBody } from './body-cache.ts';
import { type Summary, storedEvent } from './segment.ts';

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
export const pageBytesOf = ({ json, outcomes }: PageEvent): number =>
  json.byteLength + addedBytes + (outcomes.length > 0 ? Buffer.byteLength(JSON.stringify(outcomes)) : 0);

export interface StoredPage extends Pick<EventPage, 'next' | 'searchedTo'> {
  /** As for `eventId`. */
  readonly mark: string;
  /** JSON list of the events, UTF-8. */
  readonly json: Uint8Array;
  readonly segments: readonly (Origin & PageEvent['body'])[];
  /** Of each event, the index of its segment and its position there. */
  readonly places: readonly number[];
  /** By the index of the event; events without outcomes are left out. */
  readonly outcomes: ReadonlyMap<number, readonly EventOutcome[]>;
}

const comma = Buffer.from(',');

export function writePage(
  events: readonly PageEvent[],
  mark: string,
  ending: Pick<EventPage, 'next' | 'searchedTo'>,
): StoredPage {
  const pieces: Uint8Array[] = [Buffer.from('[')];
  const indexes = new Map<number, number>();
  const segments: StoredPage['segments'][number][] = [];
  const places: number[] = [];
  const outcomes = new Map<number, readonly EventOutcome[]>();
  for (const [i, event] of events.entries()) {
    const { id, env, receivedAt, sample } = event.segment;
    let index = indexes.get(id);
    if (index === undefined) {
      const { form, sender } = event.body;
      index = segments.push({ id, env, receivedAt, sample, form, sender }) - 1;
      indexes.set(id, index);
    }
    places.push(index, event.position);
    if (event.outcomes.length > 0) outcomes.set(i, event.outcomes);
    if (i > 0) pieces.push(comma);
    pieces.push(event.json);
  }
  pieces.push(Buffer.from(']'));
  return { ...ending, mark, json: Buffer.concat(pieces), segments, places, outcomes };
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
