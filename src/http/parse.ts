// The unvalidated parts of a request: params as matched, query and body as plain values. Validates nothing but form and size.
import { HubError } from '../domain/error.ts';
import { readJson, readQuery } from './body.ts';
import type { RawRequest } from './raw.ts';
import type { Match } from './router.ts';
import type { Parts } from './validate.ts';

/** @throws HubError payload_too_large, unsupported_media_type, invalid_json, validation_failed */
export async function parse(raw: RawRequest, { route, params }: Match): Promise<Parts> {
  const { declaration } = route;
  const query = declaration.query ? readQuery(raw.query) : undefined;
  // Read although nothing is declared: a body over the limit is refused all the same.
  const bytes = await raw.body();
  if (declaration.parse === 'bytes') return { params, query, body: bytes };
  if (!declaration.body) return { params, query, body: undefined };
  if (bytes.length === 0) {
    if (declaration.optionalBody) return { params, query, body: {} };
    throw new HubError('validation_failed', 'A JSON body is required.', {
      problems: [{ loc: ['body'], msg: 'A JSON body is required' }],
    });
  }
  const type = raw.headers.get('content-type');
  if (type !== undefined && !/^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i.test(type)) {
    throw new HubError('unsupported_media_type', 'Send the body as application/json.');
  }
  return { params, query, body: readJson(bytes) };
}
