// The unvalidated parts of a request: params as matched, query and body as plain values. Validates nothing but form and
// size.
import { bytesPerTurn, turns } from '../shared/concurrency/event-loop-budget.ts';
import { HubError } from '../shared/error.ts';
import { readJson } from '../shared/json/json.ts';
import { readQuery } from './body.ts';
import { RequestError } from './contract/request-error.ts';
import type { RawRequest } from './raw.ts';
import type { Match } from './router.ts';
import type { RequestParts } from './validate.ts';

const yamlType = /^(?:application\/(?:x-)?yaml|text\/(?:x-)?yaml) *(?:;|$)/i;

/** The bytes as text, byte order mark included: a revision's hash covers exactly what was sent. */
function exactText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new HubError('unprocessable', 'Invalid YAML: the body is not UTF-8.');
  }
}

/** @throws HubError payload_too_large, unsupported_media_type, invalid_json, validation_failed */
export async function parse(raw: RawRequest, { route, params }: Match): Promise<RequestParts> {
  const { declaration } = route;
  const query = declaration.query ? readQuery(raw.query, declaration.repeated ?? []) : undefined;
  // Read although nothing is declared: a body over the limit is refused all the same.
  const bytes = await raw.body();
  if (declaration.parse === 'bytes') return { params, query, body: bytes };
  if (!declaration.body) return { params, query, body: undefined };
  if (bytes.length === 0) {
    if (declaration.optionalBody) return { params, query, body: {} };
    throw new RequestError('validation_failed', 'A JSON body is required.', {
      problems: [{ loc: ['body'], msg: 'A JSON body is required' }],
    });
  }
  const type = raw.headers.get('content-type');
  if (declaration.yamlField && type !== undefined && yamlType.test(type)) {
    return { params, query, body: { [declaration.yamlField]: exactText(bytes) } };
  }
  if (type !== undefined && !/^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i.test(type)) {
    throw new HubError(
      'unsupported_media_type',
      `The Content-Type is not supported. Send the body as application/json${declaration.yamlField ? ' or application/x-yaml' : ''}.`,
    );
  }
  if (bytes.length <= bytesPerTurn) return { params, query, body: readJson(bytes, declaration.exactNumbers) };
  // A large body is parsed in a turn of its own, and dealt with in another.
  await turns.next(bytes.length);
  const body = readJson(bytes, declaration.exactNumbers);
  await turns.next(bytes.length);
  return { params, query, body };
}
