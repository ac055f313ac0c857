// Idempotency-Key of routes that declare it. The first request under a key is carried out. A repeat is answered as the
// first one was, on any node and after a restart, for 24 hours.

import { callerNames } from '../admission/caller-name.ts';
import { outageOf } from '../admission/outages.ts';
import { dayMs } from '../shared/duration.ts';
import { type HubError, refused } from '../shared/error.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { IdempotencyStore, KeyedRequest, StoredAnswer } from '../shared/ports/idempotency.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import { type Caller, Reply } from './contract/call.ts';
import { requireIdempotencyKey } from './contract/idempotency-key.ts';
import type { RouteDeclaration } from './contract/route.ts';
import type { Headers } from './credentials.ts';

/** A request whose node died may be carried out again after so long. */
const runsMs = 10_000;
/** Bytes of an answer that is kept; for a larger one the handler runs again, under the same id. */
const maxKept = 128 * 1024;
const replayed = { 'Idempotency-Replayed': 'true' };

export interface IdempotencyOptions {
  readonly store: IdempotencyStore;
  readonly secrets: Pick<Secrets, 'sha256' | 'uuid'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The route of a request, and who sent it. */
export interface RoutedCall {
  readonly operation: string;
  readonly declaration: Pick<RouteDeclaration, 'idempotent' | 'status'>;
  readonly caller: Caller;
  readonly headers: Headers;
}

/** Runs the handler, with the id of the record to create. */
type Handle = (newId: string | null) => Promise<unknown>;

export interface Idempotency {
  /** The request's key, null without one or where none is taken. @throws HubError validation_failed */
  keyOf(sent: Pick<RoutedCall, 'declaration' | 'headers'>): string | null;
  /**
   * Carries a request out, or answers as the first of its key was answered.
   * @param input what the handler gets: another one under the same key is refused
   * @throws HubError conflict (the first still runs, or its answer is not shown again), unprocessable (another body);
   *   what the handler throws: the next request like it is then carried out
   */
  run(sent: RoutedCall, key: string | null, input: unknown, handle: Handle): Promise<unknown>;
  /** The answer to a repeat, which makes nothing new; null for a request that would be carried out or refused. */
  answered(sent: RoutedCall, key: string | null, input: unknown): Promise<unknown>;
}

export const createIdempotency = (ports: IdempotencyOptions): Idempotency => ({
  keyOf({ declaration, headers }) {
    const key = declaration.idempotent === undefined ? undefined : headers.get('idempotency-key');
    return key === undefined ? null : requireIdempotencyKey(key);
  },

  async run(sent, key, input, handle) {
    const { clock, store, secrets } = ports;
    if (key === null) return handle(null);
    const { declaration } = sent;
    const request = requestOf(ports, sent, key, input);
    const now = clock.now();
    const times = { now, runsUntil: now + runsMs, expiresAt: now + dayMs };
    const claim = await store.claim(request, secrets.uuid(), times);
    if (claim.kind === 'reused' || claim.kind === 'running') throw keyRefusal(claim.kind);
    if (claim.kind === 'answered') {
      if (declaration.idempotent === 'once') {
        throw refused(
          'idempotency_replay_refused',
          'A request with this Idempotency-Key has already succeeded, and the hub does not repeat its answer. Use a new key for a new request.',
        );
      }
      const { answer, newId } = claim;
      return answer.json === null ? again(await handle(newId), declaration) : replyOf(answer, answer.json);
    }
    const { newId } = claim;
    let result: unknown;
    try {
      result = await handle(newId);
    } catch (error) {
      await keep(ports, store.release(request, newId, clock.now()));
      throw error;
    }
    const { body, headers, status } = asReply(result, declaration);
    const json = JSON.stringify(body);
    const isKept = declaration.idempotent === 'answer' && Buffer.byteLength(json) <= maxKept;
    await keep(ports, store.answered(request, newId, { status, headers, json: isKept ? json : null }));
    return result;
  },

  async answered(sent, key, input) {
    if (key === null || sent.declaration.idempotent === 'once') return null;
    const answer = await ports.store.find(requestOf(ports, sent, key, input), ports.clock.now());
    return answer && answer.json !== null ? replyOf(answer, answer.json) : null;
  },
});

const keyRefusal = (kind: 'reused' | 'running'): HubError =>
  kind === 'reused'
    ? refused(
        'idempotency_key_reused',
        'This Idempotency-Key was already sent with another body. Use a new key.',
      )
    : outageOf('idempotentRequestRunning');

function requestOf(
  { secrets }: IdempotencyOptions,
  { operation, caller }: RoutedCall,
  key: string,
  input: unknown,
): KeyedRequest {
  const who = 'keyId' in caller ? caller.keyId : callerNames.requestsOf(caller);
  // Agents that share an API key are told apart by their header.
  const agentId = 'agentId' in caller ? caller.agentId : null;
  return {
    tenantId: 'tenantId' in caller ? caller.tenantId : '',
    id: secrets.sha256(JSON.stringify([who, operation, key])),
    bodyHash: secrets.sha256(JSON.stringify([agentId, input])),
  };
}

/** Ignores a failed write of the answer: a repeat finds the created record by its id. */
const keep = ({ log }: IdempotencyOptions, write: Promise<void>): Promise<void> =>
  write.catch((err: unknown) =>
    log.warn({ err }, 'cannot store the answer to a request with an Idempotency-Key'),
  );

const replyOf = ({ status, headers }: StoredAnswer, json: string): Reply<unknown> =>
  new Reply(JSON.parse(json), { status, headers: { ...headers, ...replayed } });

/** A handler's result as a repeat is answered. */
function again(result: unknown, declaration: RoutedCall['declaration']): Reply<unknown> {
  const { body, headers, status } = asReply(result, declaration);
  return new Reply(body, { status, headers: { ...headers, ...replayed } });
}

function asReply(result: unknown, { status }: RoutedCall['declaration']) {
  if (!(result instanceof Reply)) return { body: result, headers: {}, status };
  return { body: result.body, headers: result.headers, status: result.status ?? status };
}
