// The bounds of bodies and the reading of queries. Knows no route; JSON itself is shared/json/json.
import { HubError } from '../shared/error.ts';

const maxQueryParameters = 64;
const kib = 1024;

/** The error of a body over its limit, in the specification's words. */
export function tooLarge(limit: number): HubError {
  const size = limit >= kib * kib ? `${Math.floor(limit / (kib * kib))}MB` : `${Math.floor(limit / kib)}KB`;
  return new HubError('payload_too_large', `Request body too large. Maximum allowed: ${size}.`);
}

/**
 * Query parameters; of repeated ones the last counts, except for those named, which are lists.
 * @throws HubError bad_request for more than 64 parameters or a bad escape
 */
export function readQuery(query: string): { [name: string]: string };
export function readQuery(query: string, repeated: readonly string[]): { [name: string]: string | string[] };
export function readQuery(
  query: string,
  repeated: readonly string[] = [],
): { [name: string]: string | string[] } {
  const values: { [name: string]: string | string[] } = {};
  if (query === '') return values;
  const pairs = query.split('&', maxQueryParameters + 1);
  if (pairs.length > maxQueryParameters) {
    throw new HubError(
      'bad_request',
      `The query has more than ${maxQueryParameters} parameters. Send fewer.`,
    );
  }
  for (const pair of pairs) {
    if (pair === '') continue;
    const split = pair.indexOf('=');
    const name = decodeQuery(split < 0 ? pair : pair.slice(0, split));
    // A plain object: this one name would not become a property of its own.
    if (name === '__proto__') continue;
    const value = decodeQuery(split < 0 ? '' : pair.slice(split + 1));
    const before = values[name];
    if (repeated.includes(name)) values[name] = [...(Array.isArray(before) ? before : []), value];
    else values[name] = value;
  }
  return values;
}

function decodeQuery(text: string): string {
  if (!/[%+]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new HubError(
      'bad_request',
      'The query contains a percent escape that is not valid UTF-8. Encode it again.',
    );
  }
}
