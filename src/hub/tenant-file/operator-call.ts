// Requests of `reeve tenant` to a hub, with the operator's token. Repeats what a busy or absent hub may answer later.
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../adapters/node/clock.ts';
import { type ErrorCode, errorCodes, HubError } from '../../shared/error.ts';

export interface OperatorConnection {
  /** Without a slash at the end. */
  readonly url: string;
  readonly token: string;
}

export interface OperatorRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string | Uint8Array;
}

const tries = 6;
const firstPauseMs = 500;
/** Milliseconds until the head of an answer is there. */
const answerMs = 300_000;
const passing: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'overloaded',
  'unavailable',
  'shutting_down',
  'disk_full',
]);

async function send(
  { url, token }: OperatorConnection,
  { method, path, headers = {}, body }: OperatorRequest,
): Promise<Response> {
  const stop = new AbortController();
  const late = systemClock.after(answerMs, () => stop.abort());
  try {
    return await fetch(`${url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'X-Requested-With': 'reeve', ...headers },
      ...(body === undefined ? {} : { body: body as string | Uint8Array<ArrayBuffer> }),
      redirect: 'error',
      signal: stop.signal,
    });
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new HubError('unavailable', `The hub at ${url} does not answer: ${(cause as Error).message}`);
  } finally {
    late.cancel();
  }
}

async function refusalOf(response: Response): Promise<HubError> {
  const text = await response.text();
  let body: { readonly code?: string; readonly detail?: unknown } = {};
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    // Not the hub's answer, but that of something before it.
  }
  const code =
    errorCodes.find((one) => one === body.code) ?? (response.status >= 500 ? 'unavailable' : 'bad_request');
  const words = typeof body.detail === 'string' ? body.detail : `The hub answered ${response.status}.`;
  // A hub without the operator's routes answers 'Not Found' alone. For an absent tenant, the text names it.
  const isUnset = response.status === 404 && words === 'Not Found';
  return new HubError(code, isUnset ? 'The hub has no operator. Start it with OPERATOR_TOKEN.' : words);
}

/** @throws HubError for a refusal, and for a hub that does not answer after six tries */
export async function operatorCall(
  connection: OperatorConnection,
  request: OperatorRequest,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await send(connection, request);
      if (response.ok) return response;
      throw await refusalOf(response);
    } catch (error) {
      if (attempt === tries || !(error instanceof HubError) || !passing.has(error.code)) throw error;
      await sleep(firstPauseMs * 2 ** attempt);
    }
  }
}
