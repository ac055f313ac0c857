// An event as an agent sent it, made fit to be stored: what can be kept is kept as it is, what cannot is cut or
// defaulted and said so. Keeps promise P28. Pure.

import type { JsonObject } from '../../contract/record.ts';
import { parseInstant } from '../../shared/instant.ts';
import { canonicalJson } from '../../shared/json/canonical.ts';
import { maxJsonDepth } from '../../shared/json/json.ts';
import type { EventInput } from '../record.ts';
import { fitPayload, maxPayload } from './payload-fit.ts';

/** UTF-16 units of a name: call id, agent id, tool name, verdict, mode. */
export const maxName = 255;
/** Units that a name over its bound keeps in front of its digest. */
const keptOfName = 200;
/** Of a UTF-16 unit in UTF-8. */
const maxBytesOfUnit = 3;

export interface RepairContext {
  /** The agent of an event that names none. */
  readonly agentId: string;
  /** The time of receipt, for events without a usable time. Epoch milliseconds. */
  readonly now: number;
  /** Hex SHA-256 of a text. */
  readonly sha256: (text: string) => string;
}

/** An event that was shortened before it was parsed (large.ts). */
export interface Shortened {
  /** Fields that lost something, as `truncated` names them. Its payload fits. */
  readonly cut: readonly string[];
  /** Stands for what the event was before. */
  readonly digest: string;
}

export type Repaired =
  | { readonly event: EventInput }
  | { readonly code: 'not_an_object' | 'too_deep'; readonly detail: string };

/**
 * @param depth the event's nesting, where it is known before; else it is measured
 * @param content the event as canonical JSON, where that is known before; else it is written where it is needed
 * @param shortened of an event that was shortened; its digest is its content
 * @param maxBytes the most that the event can have as JSON, where that is known before
 */
export function repairEvent(
  value: unknown,
  context: RepairContext,
  depth = depthOf(value),
  content?: string,
  shortened?: Shortened,
  maxBytes = content === undefined ? Number.POSITIVE_INFINITY : content.length * maxBytesOfUnit,
): Repaired {
  if (!isMapping(value))
    return { code: 'not_an_object', detail: 'The event is not a JSON object. Send one object per event.' };
  if (depth > maxJsonDepth) {
    return {
      code: 'too_deep',
      detail: `The event is nested deeper than ${maxJsonDepth} levels. Send flatter arguments.`,
    };
  }
  const truncated: string[] = [];
  const name = (key: string, sentValue: unknown, otherwise: string): string => {
    const text = textOf(sentValue);
    if (text === null) return otherwise;
    if (text.length <= maxName) return text;
    truncated.push(key);
    return shortName(text, context.sha256);
  };
  const callId = textOf(value.call_id);
  const payload = payloadOf(value.payload, shortened ? 0 : maxBytes, truncated);
  if (shortened) truncated.push(...shortened.cut);
  const event: EventInput = {
    // Without an id, the same content is the same call.
    call_id:
      callId === null
        ? `sha256:${context.sha256(shortened?.digest ?? content ?? canonicalJson(value))}`
        : name('call_id', callId, ''),
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

/** @param maxBytes the most that it can have as JSON */
function payloadOf(value: unknown, maxBytes: number, truncated: string[]): JsonObject | null {
  if (value === undefined || value === null) return null;
  if (!isMapping(value)) truncated.push('payload');
  else if (maxBytes <= maxPayload) return value;
  const { payload, cut } = fitPayload(isMapping(value) ? value : { value });
  if (cut !== 'all') truncated.push(...cut.map((key) => `payload.${key}`));
  else if (isMapping(value)) truncated.push('payload');
  return payload;
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
