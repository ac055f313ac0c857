// The trace of a caller in a request's `_meta` (W3C Trace Context and Baggage): handed on where it is well formed.

import { type Fields, fieldsOf, without } from '../../fields.ts';
import { activeTraceparent } from '../../telemetry.ts';
import type { Message, Request } from './message.ts';

const names = ['traceparent', 'tracestate', 'baggage'] as const;
/** Version 00 has exactly these parts, later ones may add some; an id of zeros is none. */
const traceparent =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[\x20-\x7e]*)?$/;
/** Characters that both specifications let a sender rely on. */
const maxState = 512;
const maxBaggage = 8192;

const isList = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value.length <= max && /^[\x20-\x7e\t]+$/.test(value) && value.includes('=');

/** The well-formed members of `_meta` that belong to a trace. */
export function traceOf(meta: unknown): Fields {
  const { traceparent: parent, tracestate, baggage } = fieldsOf(meta);
  const isParent =
    typeof parent === 'string' &&
    parent.length <= maxState &&
    traceparent.test(parent) &&
    (parent.length === 55 || !parent.startsWith('00'));
  return {
    ...(isParent ? { traceparent: parent } : {}),
    // Without its parent it belongs to no trace.
    ...(isParent && isList(tracestate, maxState) ? { tracestate } : {}),
    ...(isList(baggage, maxBaggage) ? { baggage } : {}),
  };
}

/** A request whose sender is the span that runs; the same one where traces are off. */
export function withActiveSpan(request: Request): Request {
  const traceparent = activeTraceparent();
  if (traceparent === null) return request;
  const _meta = { ...fieldsOf(request.params._meta), traceparent };
  return { ...request, params: { ...request.params, _meta } };
}

/** The message without malformed members of a trace. */
export function withValidTrace(message: Message): Message {
  if (message.kind === 'response') return message;
  const meta = message.params._meta;
  const sent = names.filter((name) => name in fieldsOf(meta));
  if (sent.length === 0) return message;
  const _meta = { ...without(fieldsOf(meta), ...names), ...traceOf(meta) };
  return { ...message, params: { ...message.params, _meta } };
}
