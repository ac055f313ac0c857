// Requests and responses between the transport and the pipeline: plain values, no sockets.
import type { HubError } from '../shared/error.ts';
import type { HeaderBlock, HeaderList } from './headers.ts';
import type { Session } from './live/session.ts';

export interface RawRequest {
  /** Upper case. */
  readonly method: string;
  /** As sent: percent-encoded, without the query. */
  readonly path: string;
  /** The text after `?`, or an empty text. */
  readonly query: string;
  /** Lower-case names; repeated headers are joined (`; ` for cookie, `, ` otherwise). */
  readonly headers: ReadonlyMap<string, string>;
  /** Address of the peer, canonical text. */
  readonly remote: string;
  /** True for a WebSocket handshake. */
  readonly upgrade: boolean;
  /**
   * Why the transport will not have this request (its framing is ambiguous, its headers too large); null when all is
   * well.
   */
  readonly refused: HubError | null;
  /** The whole body. @throws HubError payload_too_large, bad_request; a TransportGone when the client left */
  body(): Promise<Uint8Array>;
}

/** The client went away: nobody is left to answer. */
export class TransportGone extends Error {}

export interface RawResponse {
  readonly status: number;
  /** Its own. */
  readonly headers: HeaderList;
  /** Headers of all answers of its kind. */
  readonly common: HeaderBlock;
  /** To HEAD: what GET would get. The transport sends its length alone. */
  readonly body: Uint8Array | string | null;
  /** Name of the waiting caller, for counts of unsent bytes. */
  readonly caller: string;
  /** True when the connection must not be used again: the end of the request is unknown. */
  readonly close: boolean;
  /**
   * A stream to attach once the headers are out (or the WebSocket is open). The transport must attach it or call
   * `gone()`.
   */
  readonly live: Session | null;
}

/** Reason phrases of the statuses we send. */
export const statusTexts: { readonly [status: number]: string } = {
  101: 'Switching Protocols',
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  302: 'Found',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

export const statusLine = (status: number): string => `${status} ${statusTexts[status] ?? 'Status'}`;
