// The span of a request, named by its route: `GET /api/v1/contracts/{contract_id}`.
import { continued, type OpenSpan } from '../shared/tracing.ts';
import type { Seen } from './finish.ts';
import type { RawRequest, RawResponse } from './raw.ts';

/** Runs the handling of a request as a span that continues the sender's. */
export const requestSpan = <T>({ headers }: RawRequest, task: (span: OpenSpan) => Promise<T>): Promise<T> =>
  continued('request', 'server', headers.get('traceparent'), task);

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Names the span and notes the answer; a path without a route is `unmatched`. */
export function noteRequest(
  span: OpenSpan,
  sentMethod: string,
  { route, id }: Pick<Seen, 'route' | 'id'>,
  { status }: Pick<RawResponse, 'status'>,
): void {
  const method = methods.has(sentMethod) ? sentMethod : 'other';
  const path = route.slice(route.indexOf(' ') + 1);
  span.rename(`${method} ${path}`);
  span.set({
    'http.request.method': method,
    'http.route': path,
    'http.response.status_code': status,
    'reeve.request_id': id,
  });
  if (status >= 500) span.fail();
}
