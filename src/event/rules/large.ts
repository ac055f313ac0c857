// An event that is too large to be parsed in one turn of the event loop, shortened in its bytes: its texts are cut and
// its largest fields give way as in payload-fit.ts, and only the rest is parsed. Pure.

import type { JsonObject } from '../../contract/record.ts';
import {
  closeObject,
  keyAt,
  OutlineReader,
  openObject,
  type Pausing,
  pauseEvery,
  quote,
  type Span,
} from '../../shared/json/outline.ts';
import { parseSpans } from '../../shared/json/scan.ts';
import { maxWholeBytes } from './as-sent.ts';
import { cutTextsIn, measureTexts } from './json-texts.ts';
import {
  type FieldSize,
  keyBytesOf,
  leastBytesOfField,
  maxPayload,
  planCuts,
  sizeMark,
} from './payload-fit.ts';
import { maxName, type RepairContext, type Shortened, shortName } from './repair.ts';

/** Bytes of an event that is parsed whole: those of a body that is read in one turn. */
export const maxParsedEvent = maxWholeBytes;
/** Bytes of a name that is parsed. */
const maxParsedName = 1024 * 1024;
/** Bytes of a name that is kept as it is until the rest is repaired. */
const maxRawName = 8192;
/** Bytes of a piece of which a digest is made at once. */
const digestPiece = 64 * 1024;

export interface ShortenedEvent {
  /** JSON of what is left. */
  readonly json: Uint8Array;
  readonly shortened: Shortened;
}

interface Shortening {
  /** True if the event's fields are those of its payload. Texts and mappings in the outline are empty. */
  readonly isFlat: (outline: JsonObject) => boolean;
  readonly sha256: RepairContext['sha256'];
}

interface KeptName {
  readonly json: Uint8Array;
  readonly isCut: boolean;
}

type Entry = readonly [key: string, value: Uint8Array];

/** Members of an object by key; of a repeated key the last. */
interface Members {
  readonly spans: ReadonlyMap<string, Span>;
  /** True if a payload has no room for all fields, so that some are not listed. */
  readonly isTooWide: boolean;
}

/** A field of the payload. */
interface Field extends FieldSize {
  readonly key: string;
  readonly span: Span;
  /** True for a field inside `payload`, false for one beside it. */
  readonly isNested: boolean;
}

/** Fields of an event that are no part of its payload. */
const names = ['call_id', 'agent_id', 'tool_name', 'action', 'verdict', 'decision', 'mode', 'timestamp'];
const isListed = new Set([...names, 'payload']);

/** The stored field that a field of an event becomes. */
const wordOf = (name: string): string => (name === 'action' || name === 'decision' ? 'verdict' : name);

/**
 * @param span of an object that is nested no deeper than events may be
 * @throws HubError invalid_json
 */
export function* shortenEvent(
  source: Uint8Array,
  span: Span,
  { isFlat, sha256 }: Shortening,
): Pausing<ShortenedEvent> {
  const { spans, isTooWide } = yield* membersOf(source, span);
  const cut: string[] = [];
  const entries: Entry[] = [];
  for (const name of names) {
    const value = spans.get(name);
    const kept = value && (yield* keptName(source, value, sha256));
    if (kept) entries.push([name, kept.json]);
    if (kept?.isCut) cut.push(wordOf(name));
  }
  const payload = spans.get('payload');
  const isNested = payload !== undefined && source[payload.start] === openObject;
  const inside = isNested ? yield* membersOf(source, payload) : nothing;
  const beside = isFlat(outlineOf(source, spans)) ? { spans: fieldsBeside(spans), isTooWide } : nothing;
  if (isNested || beside !== nothing) {
    const fitted = yield* fitFields(source, beside, inside);
    entries.push(...fitted.beside);
    if (isNested) entries.push(['payload', objectOf(fitted.inside)]);
    cut.push(...fitted.cut);
  } else if (payload) entries.push(yield* keptOddPayload(source, payload, cut));
  const digest = yield* digestOf(source, span, sha256);
  return { json: objectOf(entries), shortened: { cut, digest } };
}

const nothing: Members = { spans: new Map(), isTooWide: false };

const sizeOf = ({ start, end }: Span): number => end - start;
const jsonOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const objectOf = (entries: readonly Entry[]): Uint8Array =>
  Buffer.concat([
    Buffer.from('{'),
    ...entries.flatMap(([key, value], i) => [
      Buffer.from(`${i === 0 ? '' : ','}${JSON.stringify(key)}:`),
      value,
    ]),
    Buffer.from('}'),
  ]);

function* membersOf(source: Uint8Array, { start }: Span): Pausing<Members> {
  const reader = new OutlineReader(source, start);
  const spans = new Map<string, Span>();
  let room = maxPayload;
  for (let isFirst = true; yield* reader.hasItem(closeObject, isFirst); isFirst = false) {
    const keySpan = yield* reader.readKey();
    const isLong = sizeOf(keySpan) > maxPayload;
    const key = isLong ? '' : keyAt(source, keySpan);
    const value = yield* reader.readValue();
    room -= isLong ? maxPayload : isListed.has(key) || spans.has(key) ? 0 : leastBytesOfField(key);
    if (isListed.has(key) || room >= 0) spans.set(key, value);
  }
  return { spans, isTooWide: room < 0 };
}

const fieldsBeside = (spans: Members['spans']): Members['spans'] =>
  new Map([...spans].filter(([key]) => !isListed.has(key)));

const outlineOf = (source: Uint8Array, spans: Members['spans']): JsonObject =>
  Object.fromEntries(
    [...isListed].flatMap((name): [string, unknown][] => {
      const span = spans.get(name);
      if (!span) return [];
      const first = source[span.start];
      return [[name, first === quote ? '' : first === openObject ? {} : null]];
    }),
  );

interface Fitted {
  readonly beside: readonly Entry[];
  readonly inside: readonly Entry[];
  readonly cut: readonly string[];
}

/** The fields of the payload within its bound, those that stand beside `payload` before those inside. */
function* fitFields(source: Uint8Array, beside: Members, inside: Members): Pausing<Fitted> {
  const fields = [
    ...(yield* fieldsOf(source, beside.spans, false)),
    ...(yield* fieldsOf(source, withoutKeys(inside.spans, beside.spans), true)),
  ];
  const plan = beside.isTooWide || inside.isTooWide ? null : planCuts(fields);
  const fitted = { beside: [] as Entry[], inside: [] as Entry[], cut: [] as string[] };
  if (plan === null) {
    const bytes = fields.reduce((sum, field) => sum + field.bytes + field.keyBytes, 0);
    const mark = Object.entries(sizeMark(bytes)).map(([key, value]): Entry => [key, jsonOf(value)]);
    return { ...fitted, [beside === nothing ? 'inside' : 'beside']: mark, cut: ['payload'] };
  }
  for (const field of fields) {
    const { key, span, bytes, savings, isNested } = field;
    const isDropped = plan.dropped.has(field);
    const isCut = (savings[plan.level] ?? 0) > 0;
    const value = isDropped
      ? jsonOf(sizeMark(bytes))
      : yield* cutTextsIn(source, span, isCut ? plan.level : null);
    fitted[isNested ? 'inside' : 'beside'].push([key, value]);
    if (isDropped || isCut) fitted.cut.push(`payload.${key}`);
  }
  return fitted;
}

function* fieldsOf(
  source: Uint8Array,
  spans: Members['spans'],
  isNested: boolean,
): Pausing<readonly Field[]> {
  const fields: Field[] = [];
  let bytes = 0;
  for (const [key, span] of spans) {
    fields.push({ key, span, isNested, keyBytes: keyBytesOf(key), ...(yield* measureTexts(source, span)) });
    bytes += sizeOf(span);
    if (bytes < pauseEvery) continue;
    yield;
    bytes = 0;
  }
  return fields;
}

const withoutKeys = (spans: Members['spans'], others: Members['spans']): Members['spans'] =>
  new Map([...spans].filter(([key]) => !others.has(key)));

/** A payload that is no object becomes the field `value` of one. */
function* keptOddPayload(source: Uint8Array, span: Span, cut: string[]): Pausing<Entry> {
  if (sizeOf(span) <= maxPayload) return ['payload', source.subarray(span.start, span.end)];
  const fitted = yield* fitFields(source, nothing, { spans: new Map([['value', span]]), isTooWide: false });
  cut.push('payload', ...fitted.cut);
  return ['payload', objectOf(fitted.inside)];
}

/** JSON of a name, of a long one in short; null for a long value that is no name. */
function* keptName(
  source: Uint8Array,
  span: Span,
  sha256: RepairContext['sha256'],
): Pausing<KeptName | null> {
  if (sizeOf(span) <= maxRawName) return { json: source.subarray(span.start, span.end), isCut: false };
  if (source[span.start] !== quote) return null;
  yield;
  if (sizeOf(span) <= maxParsedName) {
    const text = textAt(source, span);
    yield;
    return text.length <= maxName
      ? { json: jsonOf(text), isCut: false }
      : { json: jsonOf(shortName(text, sha256)), isCut: true };
  }
  const start = yield* cutTextsIn(source, span, 0);
  const digest = yield* digestOf(source, span, sha256);
  const text = textAt(start, { start: 0, end: start.byteLength, depth: 0 });
  return { json: jsonOf(shortName(text, () => digest)), isCut: true };
}

const textAt = (source: Uint8Array, span: Span): string => String(parseSpans(source, [span]).values[0]);

/** Equal bytes give an equal digest. */
function* digestOf(
  source: Uint8Array,
  { start, end }: Span,
  sha256: RepairContext['sha256'],
): Pausing<string> {
  const digests: string[] = [];
  for (let at = start; at < end; at += digestPiece) {
    const piece = source.subarray(at, Math.min(at + digestPiece, end));
    digests.push(sha256(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1')));
    yield;
  }
  return sha256(digests.join(''));
}
