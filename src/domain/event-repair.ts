// An event as an agent sent it, made fit to be stored: what can be kept is kept as it is, what cannot is cut or
// defaulted and said so, and nothing about one event can refuse the others of its batch. Pure.
import { canonicalJson } from './canonical-json.ts';
import type { EventInput } from './event.ts';
import { parseInstant } from './instant.ts';
import { maxJsonDepth } from './json.ts';
import type { JsonObject } from './library.ts';

/** Bytes of a serialized payload. */
export const maxPayload = 65_536;
/** UTF-16 units of a name: call id, agent id, tool name, verdict, mode. */
export const maxName = 255;
/** Units that a name over its bound keeps in front of its digest. */
const keptOfName = 200;

export interface RepairContext {
  /** The agent of an event that names none. */
  readonly agentId: string;
  /** The time of receipt, for events without a usable time. Epoch milliseconds. */
  readonly now: number;
  /** Hex SHA-256 of a text. */
  readonly sha256: (text: string) => string;
}

export type Repaired =
  | { readonly event: EventInput }
  | { readonly code: 'not_an_object' | 'too_deep'; readonly detail: string };

/**
 * @param depth the event's nesting, where it is known before; else it is measured
 * @param bytes the most that the payload can have as JSON, where that is known before; else it is measured
 */
export function repairEvent(
  value: unknown,
  context: RepairContext,
  depth = depthOf(value),
  bytes = Number.POSITIVE_INFINITY,
): Repaired {
  if (!isMapping(value)) return { code: 'not_an_object', detail: 'An event is a JSON object.' };
  if (depth > maxJsonDepth) {
    return { code: 'too_deep', detail: `The event is nested deeper than ${maxJsonDepth} levels.` };
  }
  const truncated: string[] = [];
  const name = (key: string, given: unknown, otherwise: string): string => {
    const text = textOf(given);
    if (text === null) return otherwise;
    if (text.length <= maxName) return text;
    truncated.push(key);
    return shortName(text, context.sha256);
  };
  const callId = textOf(value.call_id);
  const payload = payloadOf(value.payload, bytes, truncated);
  const event: EventInput = {
    // Without an id, the same content is the same call.
    call_id: callId === null ? `sha256:${context.sha256(canonicalJson(value))}` : name('call_id', callId, ''),
    ...(callId === null ? { unnamed: true } : {}),
    agent_id: name('agent_id', value.agent_id, context.agentId),
    tool_name: name('tool_name', value.tool_name, 'unknown'),
    // Newer clients call it `decision`.
    verdict: name('verdict', value.verdict ?? value.decision, 'unknown'),
    mode: name('mode', value.mode, 'enforce'),
    timestamp: timeOf(value.timestamp, context.now),
    payload,
  };
  return { event: truncated.length === 0 ? event : { ...event, truncated } };
}

const isMapping = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text that says something; numbers and booleans are taken as they are written. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

/** The first 200 units of a name, `~` and 16 hex digits of its SHA-256: still one name for one name. */
export function shortName(text: string, sha256: (text: string) => string): string {
  // The cut must not leave half of a character.
  const kept = text.slice(0, keptOfName).replace(/[\ud800-\udbff]$/, '');
  return `${kept}~${sha256(text).slice(0, 16)}`;
}

function timeOf(value: unknown, now: number): number {
  return (typeof value === 'string' && value.length <= 40 ? parseInstant(value) : null) ?? now;
}

function payloadOf(value: unknown, bytes: number, truncated: string[]): JsonObject | null {
  if (value === undefined || value === null) return null;
  if (!isMapping(value)) {
    truncated.push('payload');
    return shrink({ value }, truncated);
  }
  return bytes <= maxPayload ? value : shrink(value, truncated);
}

/** What a text over this many units is cut to, when its payload is too large. */
const keptOfText = [8192, 1024, 128];

/**
 * A payload that fits: its texts cut, the longest first; if that is not enough, its largest fields give way to their
 * size.
 */
function shrink(payload: JsonObject, truncated: string[]): JsonObject {
  let bytes = bytesOf(payload);
  if (bytes <= maxPayload) return payload;
  const mark = (key: string): void => {
    if (!truncated.includes(`payload.${key}`)) truncated.push(`payload.${key}`);
  };
  let fields = Object.entries(payload);
  for (const maxChars of keptOfText) {
    fields = fields.map(([key, value]) => {
      const cut = cutTexts(value, maxChars);
      if (cut !== value) mark(key);
      return [key, cut];
    });
    bytes = bytesOf(Object.fromEntries(fields));
    if (bytes <= maxPayload) return Object.fromEntries(fields);
  }
  const sizes = new Map(fields.map(([key, value]) => [key, bytesOf(value) + Buffer.byteLength(key)]));
  for (const [key, size] of [...sizes].sort(([, a], [, b]) => b - a)) {
    mark(key);
    fields = fields.map(([name, value]) => [
      name,
      name === key ? { _truncated: true, bytes: bytesOf(value) } : value,
    ]);
    bytes -= size - 48;
    if (bytes <= maxPayload && bytesOf(Object.fromEntries(fields)) <= maxPayload) {
      return Object.fromEntries(fields);
    }
  }
  // Only a payload of thousands of fields comes here.
  truncated.splice(0, truncated.length, 'payload');
  return { _truncated: true, bytes: bytesOf(payload) };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** The value with longer texts cut; the same object when there is none. */
function cutTexts(value: unknown, maxChars: number): unknown {
  if (typeof value === 'string') {
    return value.length <= maxChars
      ? value
      : `${value.slice(0, maxChars - 1).replace(/[\ud800-\udbff]$/, '')}…`;
  }
  if (Array.isArray(value)) {
    const cut = value.map((item) => cutTexts(item, maxChars));
    return cut.some((item, i) => item !== value[i]) ? cut : value;
  }
  if (!isMapping(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, cutTexts(item, maxChars)] as const);
  return entries.some(([key, item]) => item !== value[key]) ? Object.fromEntries(entries) : value;
}

/** Levels of lists and mappings, counted no further than one more than an event may have. */
export function depthOf(value: unknown, level = 0): number {
  if (typeof value !== 'object' || value === null) return level;
  if (level > maxJsonDepth) return level;
  let deepest = level + 1;
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    deepest = Math.max(deepest, depthOf(item, level + 1));
    if (deepest > maxJsonDepth) break;
  }
  return deepest;
}
