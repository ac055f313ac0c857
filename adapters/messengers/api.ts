// Calls of a chat platform's JSON API through the outbound guard.
import type { AttemptOutcome } from '../../src/notification/rules/delivery.ts';
import type { Clock } from '../../src/shared/ports/clock.ts';
import type { Outbound, OutboundHead } from '../../src/shared/ports/outbound.ts';
import { attemptMs, outcomeOfError, outcomeOfStatus } from './answers.ts';

export interface ApiCall {
  readonly method?: 'POST' | 'PATCH';
  readonly url: string;
  readonly token?: string;
  readonly body: object;
  readonly signal?: AbortSignal | undefined;
}

export interface ApiParts {
  readonly outbound: Pick<Outbound, 'send'>;
  readonly clock: Pick<Clock, 'now'>;
}

const maxAnswer = 256 * 1024;

/** A JSON object; empty for anything else. */
function objectOf(bytes: Uint8Array): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/**
 * @param read returns the outcome in the platform's answer; null leaves the outcome to the status
 * @throws OutboundError('aborted')
 */
export async function callApi(
  { outbound, clock }: ApiParts,
  { method = 'POST', url, token, body, signal }: ApiCall,
  read: (answer: { readonly [field: string]: unknown }, head: OutboundHead) => AttemptOutcome | null,
): Promise<AttemptOutcome> {
  try {
    const answer = await outbound.send({
      method,
      url,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: token }),
      },
      body: JSON.stringify(body),
      timeoutMs: attemptMs,
      maxBytes: maxAnswer,
      ...(signal ? { signal } : {}),
    });
    return read(objectOf(answer.body), answer) ?? outcomeOfStatus(answer, clock.now());
  } catch (error) {
    return outcomeOfError(error);
  }
}

/** A text or a number of an answer, as a text; null for anything else. */
export const idOf = (value: unknown): string | null =>
  typeof value === 'string' ? value.slice(0, 200) : typeof value === 'number' ? String(value) : null;

/** The id of a message with its chat in front, as deliveries store it; null for a message without an id. */
export const messageIdIn = (chat: string, id: string | null): string | null =>
  id === null ? null : `${chat}:${id}`;

/** Chat and id of a message. @param chat of the configuration, where an older record contains the id alone */
export function messageIn(chat: string, messageId: string): { readonly chat: string; readonly id: string } {
  const colon = messageId.indexOf(':');
  return colon < 0
    ? { chat, id: messageId }
    : { chat: messageId.slice(0, colon), id: messageId.slice(colon + 1) };
}

/** A refusal that no later attempt changes. */
export const rejected = (status: number): AttemptOutcome => ({
  kind: 'failed',
  status,
  failure: 'rejected',
  mayRetry: false,
});

export const limited = (status: number, seconds: unknown): AttemptOutcome => ({
  kind: 'failed',
  status,
  failure: 'rate_limited',
  mayRetry: true,
  retryAfterMs: typeof seconds === 'number' && seconds > 0 ? Math.ceil(seconds * 1000) : 0,
});
