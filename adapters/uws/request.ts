// A uWebSockets.js request copied into plain values before the first await, with the framing that the parser lets through refused.
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { HubError } from '../../src/domain/error.ts';
import { canonicalAddress } from '../../src/http/address.ts';

export interface CopiedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly remote: string;
  readonly refused: HubError | null;
}

const maxHeaderBytes = 16 * 1024;
const maxHeaders = 100;
const maxUrl = 8 * 1024;
const wholeNumber = /^\d{1,15}$/;

/** Copies what lives on the parser's stack. */
export function copyRequest(res: HttpResponse, req: HttpRequest): CopiedRequest {
  const headers = new Map<string, string>();
  let bytes = 0;
  let count = 0;
  let twice = false;
  req.forEach((name, value) => {
    count++;
    bytes += name.length + value.length + 4;
    if (bytes > maxHeaderBytes || count > maxHeaders) return;
    const before = headers.get(name);
    if (before === undefined) headers.set(name, value);
    else {
      if (name === 'content-length' || name === 'host') twice = true;
      headers.set(name, `${before}${name === 'cookie' ? '; ' : ', '}${value}`);
    }
  });
  const path = req.getUrl();
  // Undefined, against its type, when the URL has no query.
  const query = (req.getQuery() as string | undefined) ?? '';
  const address = Buffer.from(res.getRemoteAddressAsText()).toString();
  const encoding = headers.get('transfer-encoding');
  let refused: HubError | null = null;
  if (bytes > maxHeaderBytes || count > maxHeaders || path.length + query.length > maxUrl) {
    refused = new HubError('headers_too_large', 'The request line or headers are too large.');
  } else if (twice) {
    refused = new HubError('bad_request', 'A header that may stand once stands twice.');
  } else if (
    encoding !== undefined &&
    (encoding.trim().toLowerCase() !== 'chunked' || headers.has('content-length'))
  ) {
    // The parser takes any transfer-encoding for chunked: a proxy in front may read the body's end elsewhere.
    refused = new HubError('bad_request', 'The framing of the body is ambiguous.');
  } else if (!wholeNumber.test(headers.get('content-length') ?? '0')) {
    // An empty one counts as none for the parser, and might as a length for a proxy.
    refused = new HubError('bad_request', 'Content-Length must be a whole number.');
  }
  return {
    method: req.getCaseSensitiveMethod(),
    path,
    query,
    headers,
    remote: canonicalAddress(address) ?? address,
    refused,
  };
}
