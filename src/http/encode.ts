// A handler's result as a raw response: status, headers, cookies, body.

import { HubError } from '../shared/error.ts';
import { List, Reply, WrittenJson } from './contract/call.ts';
import type { RouteDeclaration } from './contract/route.ts';
import { commonHeaders, type HeaderBlock, type HeaderList } from './headers.ts';
import { encodeList, maxAnswer, type RequestTarget } from './list.ts';
import type { RawResponse } from './raw.ts';

/** Header of every reply of the API, unless its route sets another. */
export const noStore: HeaderList = [['Cache-Control', 'no-store']];

const usual = commonHeaders();

/** A response of its parts alone. @param common default: what is on every response */
export const plain = (
  status: number,
  headers: HeaderList,
  body: RawResponse['body'],
  common: HeaderBlock = usual,
): RawResponse => ({
  status,
  headers,
  common,
  body,
  caller: '',
  close: false,
  live: null,
});

/**
 * @param target where the request went, for links to further pages
 * @throws HubError response_too_large; internal when a handler made a header that would break the response
 */
export function encode(
  declaration: RouteDeclaration,
  result: unknown,
  cookie: string | null,
  target: RequestTarget,
): RawResponse {
  const reply = result instanceof Reply ? result : null;
  const value: unknown = reply ? reply.body : result;
  const list = value instanceof List ? encodeList(value, target) : null;
  const headers: (readonly [string, string])[] = [...(list?.headers ?? [])];
  for (const [name, text] of Object.entries(reply?.headers ?? {})) headers.push([name, text]);
  // A login or logout sets the cookie itself: then the extension is void.
  const cookies = reply && reply.cookies.length > 0 ? reply.cookies : cookie === null ? [] : [cookie];
  for (const text of cookies) headers.push(['Set-Cookie', text]);
  for (const [name, text] of headers) {
    if (/[\r\n\0]/.test(text))
      throw new HubError('internal', `The reply header ${name} contains a line end.`);
  }
  const has = (name: string): boolean => headers.some(([key]) => key.toLowerCase() === name);
  if (!has('cache-control')) headers.push(...noStore);
  const status = reply?.status ?? declaration.status;
  if (status === 204 || value === null || value === undefined) return plain(status, headers, null);
  if (!has('content-type')) headers.push(['Content-Type', declaration.media ?? 'application/json']);
  if (value instanceof WrittenJson) return plain(status, headers, bounded(declaration, value.bytes));
  const asIs = declaration.media !== undefined && (typeof value === 'string' || value instanceof Uint8Array);
  return plain(status, headers, bounded(declaration, asIs ? value : (list?.json ?? JSON.stringify(value))));
}

/** The last bound, for what no route bounds itself. @throws HubError response_too_large */
function bounded(declaration: RouteDeclaration, body: string | Uint8Array): string | Uint8Array {
  // A text has at most three bytes for each of its units.
  if (declaration.download === true || body.length * 3 <= maxAnswer) return body;
  if (Buffer.byteLength(body) <= maxAnswer) return body;
  throw new HubError('response_too_large', 'The answer would be larger than 4 MiB. Request less at a time.');
}
