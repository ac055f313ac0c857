// The hub as the commands reach it: the typed client with a service account's token. Waits and repeats where that is
// safe, and turns every failure into the hub's own errors.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConsoleClient, ConsoleError, consoleClient, HubConnectionError } from 'reeve-agent/console';
import { type ErrorCode, errorCodes, HubError } from '../../shared/error.ts';
import { UsageError } from '../commands/output.ts';

export interface HubConnection {
  /** Without a slash at the end. */
  readonly url: string;
  /** A question: repeated while the hub is busy or cannot be reached. */
  read<T>(ask: (hub: ConsoleClient) => Promise<T>): Promise<T>;
  /** A change: repeated only where the hub refused it as one too many. */
  write<T>(ask: (hub: ConsoleClient) => Promise<T>): Promise<T>;
}

const tries = 5;
const maxWaitMs = 30_000;
const firstWaitMs = 500;
/** The request was not carried out, and may be later. */
const refusedForNow = new Set(['rate_limited', 'too_busy', 'overloaded', 'shutting_down', 'disk_full']);

/** @throws UsageError without an address or a token */
export function connect(
  { url, token }: { readonly url: string; readonly token: string },
  allowInsecure: boolean,
): HubConnection {
  if (url === '') throw new UsageError("Set REEVE_URL to the hub's address.");
  if (token === '') throw new UsageError('Set REEVE_TOKEN to the token of a service account.');
  let client: ConsoleClient;
  try {
    client = consoleClient({ url, operatorToken: token.trim(), timeout: 60_000, allowInsecure });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(`REEVE_URL or REEVE_TOKEN does not fit: ${message}`);
  }
  const ask = async <T>(
    call: (hub: ConsoleClient) => Promise<T>,
    mayRepeat: (error: unknown) => boolean,
  ): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await call(client);
      } catch (error) {
        if (attempt === tries || !mayRepeat(error)) throw hubErrorOf(error);
        const seconds = error instanceof ConsoleError ? error.retryAfter : null;
        const wait = Math.min(maxWaitMs, seconds === null ? firstWaitMs * 2 ** attempt : seconds * 1000);
        await sleep(wait);
      }
    }
  };
  const isRefusedForNow = (error: unknown): boolean =>
    error instanceof ConsoleError && refusedForNow.has(error.code);
  return {
    url: url.replace(/(?<!\/)\/+$/, ''),
    read: (call) =>
      ask(
        call,
        (error) =>
          error instanceof HubConnectionError ||
          isRefusedForNow(error) ||
          (error instanceof ConsoleError && error.status >= 500),
      ),
    write: (call) => ask(call, isRefusedForNow),
  };
}

function hubErrorOf(error: unknown): unknown {
  if (error instanceof HubConnectionError) return new HubError('unavailable', error.message);
  if (!(error instanceof ConsoleError)) return error;
  const code = (errorCodes as readonly string[]).includes(error.code)
    ? (error.code as ErrorCode)
    : 'internal';
  return new HubError(code, error.message);
}
