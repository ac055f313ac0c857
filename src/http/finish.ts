// The end of every request, whatever became of it: its line in the log, its count, and the headers that all answers
// have.

import { callerNames } from '../admission/caller-name.ts';
import type { LimitState } from '../admission/rate-limit.ts';
import type { RouteLimits } from '../admission/route-limits.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import type { Caller } from './contract/call.ts';
import type { Cors, HeaderList } from './headers.ts';
import type { Metrics } from './metrics.ts';
import { type RequestSchemas, rateLimitHeaders } from './problem.ts';
import type { RawRequest, RawResponse } from './raw.ts';

/** Facts about a request, for its log line and metrics. */
export interface Seen {
  /** X-Request-Id of the request, else twelve random digits. */
  readonly id: string;
  /** The trace that the request belongs to; null: none. */
  readonly traceId: string | null;
  readonly network: string;
  /** Monotonic milliseconds. */
  readonly started: number;
  route: string;
  /** Schemas of the route, by which an error names a field's place. */
  schemas?: RequestSchemas;
  /** True for health and metrics, which are asked every few seconds. */
  isProbe?: boolean;
  caller: Caller;
  /** Of a stream: the limit of its class; null when it has none. */
  arrival?: LimitState | null;
  /** Of any other route. */
  limits?: RouteLimits;
}

/** Headers about the limit that the caller would reach first. */
export async function limitHeaders({ arrival, limits }: Seen): Promise<HeaderList> {
  const states = [...(arrival ? [arrival] : []), ...((await limits?.left()) ?? [])];
  const [tightest] = states.sort((a, b) => a.left - b.left);
  return tightest ? rateLimitHeaders(tightest) : [];
}

/** Name of the caller that waits for an answer. */
export const nameOf = (caller: Caller, network: string): string =>
  callerNames.requestsOf(caller) ?? callerNames.requestsOfNetwork(network);

/** Keys and ids only: never a hash, an address of a mailbox or a credential. */
function callerFields(caller: Caller): object {
  if (caller.kind === 'key' || caller.kind === 'hostedKey') {
    const { keyId, tenantId, env, agentId } = caller;
    const fields: { [name: string]: string } = { client: `key:${keyId}`, tenant_id: tenantId };
    if (env !== null) fields.env = env;
    if (agentId !== null) fields.agent_id = agentId;
    return fields;
  }
  if (caller.kind === 'user') {
    const kind = caller.service ? 'service_account' : 'user';
    return { client: `${kind}:${caller.userId}`, tenant_id: caller.tenantId };
  }
  if (caller.kind === 'hostedOperator')
    return { client: `operator_token:${caller.subject}`, tenant_id: caller.tenantId };
  return { client: caller.kind };
}

const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/;
const traceParent = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;
const noTrace = '0'.repeat(32);

/** The id that the client sent, where it fits, and the trace of a `traceparent` that is not broken. */
export function requestIds(
  headers: RawRequest['headers'],
  secrets: Pick<Secrets, 'uuid'>,
): Pick<Seen, 'id' | 'traceId'> {
  const sentId = headers.get('x-request-id') ?? '';
  const [, traceId = noTrace] = traceParent.exec(headers.get('traceparent') ?? '') ?? [];
  return {
    // The last group of a UUID: twelve random digits.
    id: requestIdPattern.test(sentId) ? sentId : secrets.uuid().slice(24),
    traceId: traceId === noTrace ? null : traceId,
  };
}

export function sizeOf(body: RawResponse['body']): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.length : 0;
}

export function createFinish({
  clock,
  metrics,
  log,
  cors,
}: {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly cors: Cors;
}) {
  return {
    /** Counts it and writes its line. */
    note({ method }: RawRequest, noted: Seen, response: RawResponse): void {
      const { route, started, id, traceId, caller, isProbe } = noted;
      const ms = clock.monotonic() - started;
      const bytes = method === 'HEAD' ? 0 : sizeOf(response.body);
      metrics.count(route, method, response.status, ms, bytes);
      log[isProbe ? 'debug' : 'info'](
        {
          method,
          route,
          status: response.status,
          ms: Math.round(ms * 100) / 100,
          bytes,
          request_id: id,
          ...(traceId === null ? {} : { trace_id: traceId }),
          ...callerFields(caller),
        },
        'request',
      );
    },

    /** With the headers that every answer has. */
    withHeaders(
      raw: RawRequest,
      { id, caller, network }: Seen,
      { status, headers, common, body, close, live: session }: RawResponse,
      limits: HeaderList,
    ): RawResponse {
      const all = headers.concat(limits, [['X-Request-Id', id]]);
      // A browser's clock may be wrong, and what a page counts down was timed by this one.
      if (caller.kind === 'user') all.push(['X-Server-Time', new Date(clock.now()).toISOString()]);
      if (raw.method !== 'OPTIONS') all.push(...cors.reply(raw.headers.get('origin')));
      const waits = body === null ? '' : nameOf(caller, network);
      return { status, headers: all, common, body, close, live: session, caller: waits };
    },
  };
}
