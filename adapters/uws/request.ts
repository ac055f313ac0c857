// A uWebSockets.js request copied into plain values before the first await.
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { canonicalAddress } from '../../src/http/address.ts';
import { HeaderReader, type ReadHeaders } from '../../src/http/framing.ts';

export interface CopiedRequest extends ReadHeaders {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remote: string;
}

/** Copies what lives on the parser's stack. */
export function copyRequest(res: HttpResponse, req: HttpRequest): CopiedRequest {
  const reader = new HeaderReader();
  req.forEach((name, value) => {
    reader.add(name, value);
  });
  const path = req.getUrl();
  // Undefined, against its type, when the URL has no query.
  const query = (req.getQuery() as string | undefined) ?? '';
  const address = Buffer.from(res.getRemoteAddressAsText()).toString('latin1');
  const { headers, refused } = reader.read(path.length + query.length);
  return {
    method: req.getCaseSensitiveMethod(),
    path,
    query,
    remote: canonicalAddress(address) ?? address,
    headers,
    refused,
  };
}
