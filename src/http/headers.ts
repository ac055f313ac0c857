// Headers that do not depend on the route: security headers and CORS.

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** Headers that every answer of a kind has. Made once, so that a transport can write all of them in one call. */
export class HeaderBlock {
  readonly list: HeaderList;
  /** The first one's name. */
  readonly name: string;
  /** The first one's value, and the lines of the others, without the last line end. */
  readonly rest: Uint8Array;

  /** @param list at least one; texts of ours, which hold no line end */
  constructor(list: HeaderList) {
    const lines = list.map(([name, value]) => `${name}: ${value}`).join('\r\n');
    this.list = list;
    this.name = list[0]?.[0] ?? '';
    this.rest = Buffer.from(lines.slice(this.name.length + 2), 'latin1');
  }
}

/** On every response. Scripts and styles come from files of our own origin only. */
const securityHeaders: HeaderList = [
  [
    'Content-Security-Policy',
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
      "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'",
  ],
  ['Strict-Transport-Security', 'max-age=63072000; includeSubDomains'],
  ['X-Frame-Options', 'DENY'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'strict-origin-when-cross-origin'],
  ['Permissions-Policy', 'camera=(), microphone=(), geolocation=(), payment=()'],
];

/** Headers that answers of one kind share. @param own headers beside those of every response */
export const commonHeaders = (own: HeaderList = []): HeaderBlock =>
  new HeaderBlock([...own, ...securityHeaders]);

/** Headers of replies that pages of other origins may read. */
const exposedHeaders = [
  ...['X-Request-Id', 'X-Server-Time', 'Retry-After', 'X-Next-Cursor', 'X-Search-Complete', 'X-Searched-To'],
  ...['Link', 'ETag', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'Idempotency-Replayed'],
];

export interface Cors {
  /** True when a page of this origin may use the API with credentials. */
  allows(origin: string): boolean;
  /**
   * True when a page of this origin came from the very host that a request names (its Host header), whatever name the
   * hub has else.
   */
  isOwn(origin: string, host: string | undefined): boolean;
  /**
   * True for a request that a page of an origin not allowed made a browser send. Browsers name the site of a page over
   * https and on this machine; without that name, this is false.
   */
  isFromForeignPage(headers: ReadonlyMap<string, string>): boolean;
  /** CORS headers of an actual reply. */
  reply(origin: string | undefined): HeaderList;
  /** Headers of a preflight that is allowed. */
  preflight(origin: string): HeaderList;
}

/**
 * @param origins CORS_ORIGINS, explicit; localhost origins are dropped when the base URL is not localhost
 * @throws Error for `*` or an entry that is not an origin
 */
export function createCors(
  baseUrl: string,
  origins: readonly string[],
  agentIdHeaders: readonly string[],
): Cors {
  const isLocal = (url: URL): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  const base = new URL(baseUrl);
  const allowed = new Set([base.origin]);
  for (const entry of origins) {
    const url = URL.canParse(entry) ? new URL(entry) : null;
    if (!url || url.origin === 'null' || !/^https?:$/.test(url.protocol)) {
      throw new Error(`CORS_ORIGINS: '${entry}' is not an origin such as https://console.example.com`);
    }
    if (!isLocal(url) || isLocal(base)) allowed.add(url.origin);
  }
  const requestHeaders = [
    'Content-Type',
    'X-Requested-With',
    'Authorization',
    'Last-Event-ID',
    'If-Match',
    'If-None-Match',
    'Idempotency-Key',
    ...agentIdHeaders,
  ];
  const shared = (origin: string): HeaderList => [
    ['Access-Control-Allow-Origin', origin],
    ['Access-Control-Allow-Credentials', 'true'],
    ['Vary', 'Origin'],
  ];
  return {
    allows: (origin) => allowed.has(origin),
    isOwn(origin, host) {
      const url = URL.canParse(origin) ? new URL(origin) : null;
      // A proxy may end TLS, so the scheme is known from the base URL alone.
      const schemes = base.protocol === 'https:' ? ['https:'] : ['https:', 'http:'];
      return url !== null && schemes.includes(url.protocol) && url.host === host?.toLowerCase();
    },
    isFromForeignPage(headers) {
      const site = headers.get('sec-fetch-site') ?? 'none';
      return site !== 'same-origin' && site !== 'none' && !allowed.has(headers.get('origin') ?? '');
    },
    reply: (origin) =>
      origin !== undefined && allowed.has(origin)
        ? [...shared(origin), ['Access-Control-Expose-Headers', exposedHeaders.join(', ')]]
        : [],
    preflight: (origin) => [
      ...shared(origin),
      ['Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE, OPTIONS'],
      ['Access-Control-Allow-Headers', requestHeaders.join(', ')],
      ['Access-Control-Max-Age', '600'],
    ],
  };
}
