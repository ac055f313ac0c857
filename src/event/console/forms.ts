// The forms in which agents send events, nested or flat, made fit to be stored: values that fit are kept, others are
// cut or defaulted and named in `truncated`. Keeps promise P28. Pure.

import type { JsonObject } from '../../contract/record.ts';
import { dayMs } from '../../shared/duration.ts';
import { parseInstant } from '../../shared/instant.ts';
import { canonicalJson } from '../../shared/json/canonical.ts';
import { maxJsonDepth } from '../../shared/json/json.ts';
import { isMapping } from '../../shared/json/mapping.ts';
import type { EventInput } from '../record.ts';
import { actionOf, consoleVerdict, contentId } from '../rules/decision.ts';
import { fitPayload, maxPayload } from '../rules/payload-fit.ts';
import {
  depthOf,
  maxName,
  type RepairContext,
  type Repaired,
  type Shortened,
  shortName,
} from '../rules/repair.ts';

/** Of a UTF-16 unit in UTF-8. */
const maxBytesOfUnit = 3;

/** Without an id, the same content of the same agent is the same call. */
function contentCallId(
  value: JsonObject,
  { agentId, sha256 }: RepairContext,
  content?: string,
  shortened?: Shortened,
): string {
  const text = shortened?.digest ?? content ?? canonicalJson(value);
  // `content` contains the agent.
  const isOfSender = content === undefined && textOf(value.agent_id) === null;
  return `sha256:${sha256(isOfSender ? canonicalJson([agentId, text]) : text)}`;
}

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
    callId: callId === null ? contentCallId(value, context, content, shortened) : name('call_id', callId, ''),
    ...(callId === null ? { unnamed: true } : {}),
    agentId: name('agent_id', value.agent_id, context.agentId),
    toolName: name('tool_name', value.tool_name, 'unknown'),
    // Newer clients call it `decision`.
    verdict: name('verdict', value.verdict ?? value.decision, 'unknown'),
    mode: name('mode', value.mode, 'enforce'),
    timestamp: timeOf(value.timestamp, context.now),
    payload,
  };
  return { event: truncated.length === 0 ? event : { ...event, truncated } };
}

/**
 * An event from further in the future than this is refused: the agent's clock is wrong, and it would be the newest for
 * long.
 */
export const maxAheadMs = dayMs;

export type FlatRepaired = Repaired | { readonly code: 'timestamp_in_future'; readonly detail: string };

/**
 * An event in the flat form of the hosted API, made fit to be stored. One with a nested `payload` is taken, too. It is
 * told apart by its content, because several events report one call; the call id that it came with is kept beside that.
 * @param depth the event's nesting, where it is known before; else it is measured
 * @param shortened of an event that was shortened
 */
export function repairFlatEvent(
  value: unknown,
  context: RepairContext,
  depth = depthOf(value),
  shortened?: Shortened,
): FlatRepaired {
  if (!isMapping(value) || depth > maxJsonDepth) return repairEvent(value, context, depth);
  const { call_id, agent_id, tool_name, action, verdict, decision, mode, timestamp, payload, ...rest } =
    value;
  const word = action ?? verdict ?? decision;
  const judgedAction = typeof word === 'string' ? actionOf(word) : word;
  const form = {
    call_id,
    agent_id,
    tool_name,
    verdict: judgedAction,
    mode,
    timestamp,
    payload: isMapping(payload) ? { ...payload, ...rest } : rest,
  };
  const agent = textOf(agent_id) === null ? context.agentId : agent_id;
  const content = shortened
    ? canonicalJson([agent, shortened.digest])
    : canonicalJson({ ...form, agent_id: agent });
  const repaired = repairEvent(form, context, depth, content, shortened);
  if (!('event' in repaired)) return repaired;
  const { event } = repaired;
  if (event.timestamp > context.now + maxAheadMs) {
    return {
      code: 'timestamp_in_future',
      detail: "The timestamp is more than 24 hours in the future. Correct the agent's clock.",
    };
  }
  return {
    event: {
      ...event,
      callId: contentId(context.sha256(content)),
      flat: true,
      ...(event.unnamed ? {} : { givenCallId: event.callId }),
    },
  };
}

/**
 * An event as the console API takes it: nested, or in the flat form of newer clients, whose `action` is the verdict and
 * whose other fields are the payload. It is told apart by its call id in either form.
 * @param depth the event's nesting, where it is known before; else it is measured
 * @param shortened of an event that was shortened
 * @param maxBytes the most that the event can have as JSON, where that is known before
 */
export function repairEitherForm(
  value: unknown,
  context: RepairContext,
  depth = depthOf(value),
  shortened?: Shortened,
  maxBytes?: number,
): Repaired {
  if (!isMapping(value) || !isFlat(value) || depth > maxJsonDepth)
    return repairEvent(value, context, depth, undefined, shortened, maxBytes);
  const { call_id, agent_id, tool_name, action, mode, timestamp, payload: _, ...payload } = value;
  const verdict = consoleVerdict(String(action));
  const nested = { call_id, agent_id, tool_name, verdict, mode, timestamp, payload };
  return repairEvent(nested, context, depth, undefined, shortened, maxBytes);
}

/** True if the console API treats the event as one in the flat form. */
export const isFlat = ({ action, verdict, decision, payload }: JsonObject): boolean =>
  typeof action === 'string' && verdict === undefined && decision === undefined && !isMapping(payload);

/** A text that is not empty; numbers and booleans are taken as they are written. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
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
