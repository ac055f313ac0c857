// Lines of an export as `reeve export-events` reads them from the hub, page by page.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, errorCodes, HubError } from '../../shared/error.ts';
import { camelKeys } from '../../shared/snake-keys.ts';

export interface LineRequest {
  /** Without a slash at the end. */
  readonly url: string;
  readonly token: string;
  readonly kind: string;
  readonly format: string;
  /** Seconds. */
  readonly wait: number;
}

export type LinePage =
  | {
      readonly isExpired: false;
      /** Complete lines, each with its line end; empty: nothing came. */
      readonly text: string;
      /** Behind the last line; null: nothing was ever stored. */
      readonly next: string | null;
      /** False if later lines were stored. */
      readonly isComplete: boolean;
    }
  | { readonly isExpired: true; readonly oldest: string; readonly removed: number | null };

const linesPerPage = 1_000;
/** Beyond the wait: for the hub's answer and its transfer. */
const answerMs = 60_000;
const firstPauseMs = 500;
const maxPauseMs = 5_000;
/** The hub, or what is before it, may answer later. */
const isPassing = (error: unknown): boolean =>
  error instanceof HubError &&
  ['rate_limited', 'overloaded', 'unavailable', 'shutting_down', 'internal', 'disk_full'].includes(
    error.code,
  );

interface ErrorBody {
  readonly code?: string;
  readonly detail?: unknown;
  readonly oldestCursor?: string;
  readonly linesRemoved?: number | null;
}

/** @throws HubError */
async function readPage(
  { url, token, kind, format, wait }: LineRequest,
  after: string | null,
  signal: AbortSignal,
): Promise<LinePage> {
  const query = new URLSearchParams({ format, wait: String(wait), limit: String(linesPerPage) });
  if (after !== null) query.set('after', after);
  const late = AbortSignal.timeout(wait * 1000 + answerMs);
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${url}/api/v1/exports/${kind}?${query}`, {
      headers: { Authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.any([signal, late]),
    });
    text = await response.text();
  } catch (error) {
    if (signal.aborted) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new HubError('unavailable', `The hub at ${url} does not answer: ${(cause as Error).message}`);
  }
  if (response.ok) {
    if (text !== '' && !text.endsWith('\n')) throw new HubError('unavailable', 'The answer was cut off.');
    const { headers } = response;
    const isComplete = headers.get('x-search-complete') !== 'false';
    return { isExpired: false, text, next: headers.get('x-next-cursor'), isComplete };
  }
  return errorPage(response.status, text);
}

function errorPage(status: number, text: string): LinePage {
  let body: ErrorBody = {};
  try {
    body = camelKeys(JSON.parse(text)) as ErrorBody;
  } catch {
    // Not the hub's answer, but that of something before it.
  }
  if (body.code === 'cursor_expired' && body.oldestCursor !== undefined)
    return { isExpired: true, oldest: body.oldestCursor, removed: body.linesRemoved ?? null };
  const code =
    errorCodes.find((one) => one === body.code) ??
    ((status >= 500 ? 'unavailable' : 'bad_request') as ErrorCode);
  throw new HubError(code, typeof body.detail === 'string' ? body.detail : `The hub answered ${status}.`);
}

/**
 * Reads a page. While the hub cannot answer, it is asked again for good, with pauses up to 5 s.
 * @param onPause called before the first pause
 * @throws HubError for a refusal; an abort error
 */
export async function readLines(
  request: LineRequest,
  after: string | null,
  signal: AbortSignal,
  onPause: (error: HubError) => void,
): Promise<LinePage> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await readPage(request, after, signal);
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (attempt === 0) onPause(error as HubError);
      await sleep(Math.min(maxPauseMs, firstPauseMs * 2 ** attempt), undefined, { signal });
    }
  }
}

/** The cursor of a line of any format. @throws SyntaxError for what is no line of an export */
export function cursorOfLine(line: string): string {
  const { cursor, unmapped } = JSON.parse(line) as {
    readonly cursor?: unknown;
    readonly unmapped?: { readonly cursor?: unknown };
  };
  const text = cursor ?? unmapped?.cursor;
  if (typeof text !== 'string') throw new SyntaxError('The line has no cursor.');
  return text;
}
