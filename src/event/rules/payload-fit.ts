// A payload over its bound in bytes, made to fit: long texts are cut first, then the largest fields give way to their
// size. Every step is linear in the payload, whatever its shape. Pure.

import type { JsonObject } from '../../contract/record.ts';
import { measureJson } from '../../shared/json/measure.ts';

/** Bytes of a serialized payload. */
export const maxPayload = 65_536;
/** Units that a text keeps, tried in this order. */
export const textLimits = [8192, 1024, 128];
const shortestLimit = textLimits.at(-1) ?? 0;
/** Bytes of a field beside its key: two quotation marks, a colon, a comma and the shortest value. */
const leastOfField = 5;

export interface FittedPayload {
  readonly payload: JsonObject;
  /** Fields that lost something; `all` when the payload gave way as a whole. Empty: it fits as it is. */
  readonly cut: readonly string[] | 'all';
}

/** The payload within 64 KiB of JSON; the same object when it fits. */
export function fitPayload(payload: JsonObject): FittedPayload {
  if (measureJson(payload).maxBytes <= maxPayload) return { payload, cut: [] };
  const bytes = jsonBytes(payload);
  if (bytes <= maxPayload) return { payload, cut: [] };
  const keys = Object.keys(payload);
  const least = keys.reduce((sum, key) => sum + leastBytesOfField(key), 0);
  if (least > maxPayload) return { payload: sizeMark(bytes), cut: 'all' };

  const fields = keys.map((key): Field => fieldOf(key, payload[key]));
  const plan = planCuts(fields);
  if (plan === null) return { payload: sizeMark(bytes), cut: 'all' };
  const { dropped, level } = plan;
  const limit = textLimits[level] ?? shortestLimit;
  const fitted: { [key: string]: unknown } = { ...payload };
  const cut: string[] = [];
  for (const field of fields) {
    const { key, value } = field;
    if (!dropped.has(field) && (field.savings[level] ?? 0) <= 0) continue;
    fitted[key] = dropped.has(field) ? sizeMark(field.bytes) : cutTexts(value, limit);
    cut.push(key);
  }
  return { payload: fitted, cut };
}

/** The least bytes of a field in JSON. */
export const leastBytesOfField = (key: string): number => key.length + leastOfField;

/** The size of a payload's field. */
export interface FieldSize {
  /** Bytes of its key and what stands around it. */
  readonly keyBytes: number;
  /** Bytes of its value. */
  readonly bytes: number;
  /** At least so many bytes are taken off by each of the limits of texts. */
  readonly savings: readonly number[];
}

interface Field extends FieldSize {
  readonly key: string;
  readonly value: unknown;
}

export interface CutPlan<F extends FieldSize> {
  /** Fields that give way to their size. */
  readonly dropped: ReadonlySet<F>;
  /** The limit of the texts in all others, by its place among `textLimits`. */
  readonly level: number;
}

/** How the fields of a payload are made to fit; null when it gives way as a whole. */
export function planCuts<F extends FieldSize>(fields: readonly F[]): CutPlan<F> | null {
  const dropped = fieldsToDrop(fields);
  if (dropped === null) return null;
  return { dropped, level: textLimits.findIndex((_, i) => bytesAt(fields, dropped, i) <= maxPayload) };
}

/** Bytes of a key in JSON and what stands around a field. */
export const keyBytesOf = (key: string): number => jsonBytes(key) + 2;

function fieldOf(key: string, value: unknown): Field {
  const savings = textLimits.map(() => 0);
  addSavings(value, savings);
  return { key, value, keyBytes: keyBytesOf(key), bytes: jsonBytes(value), savings };
}

const markBytesOf = ({ bytes }: FieldSize): number => jsonBytes(sizeMark(bytes));
/** Its bytes with the shortest texts. */
const leastBytes = ({ bytes, savings }: FieldSize): number => bytes - (savings.at(-1) ?? 0);

/** Bytes of the payload without the fields that are dropped, and with the texts of the others cut. */
const bytesAt = <F extends FieldSize>(fields: readonly F[], dropped: ReadonlySet<F>, level: number): number =>
  fields.reduce(
    (sum, field) =>
      sum +
      field.keyBytes +
      (dropped.has(field) ? markBytesOf(field) : field.bytes - (field.savings[level] ?? 0)),
    2,
  );

/** The largest fields, as few as must give way beside the shortest texts; null if that does not make room. */
function fieldsToDrop<F extends FieldSize>(fields: readonly F[]): ReadonlySet<F> | null {
  const dropped = new Set<F>();
  let bytes = bytesAt(fields, dropped, textLimits.length - 1);
  if (bytes <= maxPayload) return dropped;
  for (const field of [...fields].sort((one, other) => leastBytes(other) - leastBytes(one))) {
    const saved = leastBytes(field) - markBytesOf(field);
    if (saved <= 0) return null;
    dropped.add(field);
    bytes -= saved;
    if (bytes <= maxPayload) return dropped;
  }
  return null;
}

/** Stands for a value that gave way to its size. */
export const sizeMark = (bytes: number): JsonObject => ({ _truncated: true, bytes });

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** Adds the bytes that each of the limits takes off the texts inside a value; escapes are not counted. */
function addSavings(value: unknown, savings: number[]): void {
  if (typeof value === 'string') {
    if (value.length <= shortestLimit) return;
    const bytes = Buffer.byteLength(value);
    for (const [i, limit] of textLimits.entries()) {
      if (value.length > limit)
        savings[i] = (savings[i] ?? 0) + bytes - Buffer.byteLength(cutText(value, limit));
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const item of Array.isArray(value) ? value : Object.values(value)) addSavings(item, savings);
  }
}

/** The cut must not leave half of a character. */
const cutText = (text: string, limit: number): string =>
  `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…`;

/** The value with longer texts cut; the same object when there is none. */
function cutTexts(value: unknown, limit: number): unknown {
  if (typeof value === 'string') return value.length <= limit ? value : cutText(value, limit);
  if (typeof value !== 'object' || value === null) return value;
  const isList = Array.isArray(value);
  const items = value as { readonly [key: string]: unknown };
  let copy: { [key: string]: unknown } | null = null;
  for (const key of isList ? value.keys() : Object.keys(value)) {
    const item = cutTexts(items[key], limit);
    if (item === items[key]) continue;
    // A copy owns its fields: one named __proto__ stays plain data.
    copy ??= (isList ? [...value] : { ...value }) as { [key: string]: unknown };
    copy[key] = item;
  }
  return copy ?? value;
}
