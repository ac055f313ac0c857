// GET /api/v1/health/probe: how a request reaches this node, for who proves the master secret. For everybody else the
// path does not exist. `reeve doctor` asks it, and answers it itself where no hub runs yet.
import { clientAddress } from '../http/address.ts';
import { createDownload } from '../http/download.ts';
import { noStore, plain } from '../http/encode.ts';
import type { Exposition } from '../http/pipeline.ts';
import { HubError } from '../shared/error.ts';
import { type Clock, pause } from '../shared/ports/clock.ts';
import type { Log } from '../shared/ports/log.ts';
import type { Secrets } from '../shared/ports/secrets.ts';
import { snakeKeys } from '../shared/snake-keys.ts';

export const probePath = '/api/v1/health/probe';
/** Milliseconds since 1970, a dot, and the proof over path and time. */
export const proofHeader = 'x-probe-proof';

/** A proof is good for so long, in both directions. Milliseconds. */
const proofMs = 60_000;
/** A stream sends a byte so often, and ends after so many. */
export const byteEveryMs = 500;
export const bytes = 6;

type Prover = Pick<Secrets, 'proof' | 'equal'>;

const textOf = (at: string): string => `${probePath} ${at}`;

export const proofOf = (secrets: Pick<Secrets, 'proof'>, now: number): string =>
  `${now}.${secrets.proof('probe', textOf(String(now)))}`;

export function isProof(secrets: Prover, header: string, now: number): boolean {
  const [, at = '', proof = ''] = /^(\d{1,15})\.([0-9a-f]{64})$/.exec(header) ?? [];
  if (at === '' || Math.abs(now - Number(at)) > proofMs) return false;
  return secrets.equal(proof, secrets.proof('probe', textOf(at)));
}

/** A request as it arrived. */
export interface ProbeReport {
  /** The client's address: behind trusted proxies the one that they name. */
  readonly address: string;
  /** The peer of the connection: the last proxy, if there is one. */
  readonly peer: string;
  readonly forwardedFor: string | null;
  readonly protocol: string;
  readonly host: string | null;
  /** The Upgrade header, without which there is no WebSocket. */
  readonly upgrade: string | null;
  /** Epoch milliseconds. */
  readonly time: number;
}

export function probeReport(
  { remote, headers }: { readonly remote: string; readonly headers: ReadonlyMap<string, string> },
  trustedProxies: readonly string[],
  now: number,
): ProbeReport {
  const forwarded = headers.get('x-forwarded-for') ?? null;
  return {
    address: clientAddress(trustedProxies)(remote, forwarded ?? ''),
    peer: clientAddress([])(remote, ''),
    forwardedFor: forwarded,
    protocol: headers.get('x-forwarded-proto') ?? 'http',
    host: headers.get('host') ?? null,
    upgrade: headers.get('upgrade') ?? null,
    time: now,
  };
}

export const isStreamAsked = (headers: ReadonlyMap<string, string>): boolean =>
  (headers.get('accept') ?? '').includes('text/event-stream');

async function* slowBytes(clock: Pick<Clock, 'after'>): AsyncGenerator<string, undefined> {
  for (let sent = 0; sent < bytes; sent++) {
    yield ':\n';
    await pause(clock, byteEveryMs);
  }
  return undefined;
}

export function probeOf({
  secrets,
  clock,
  log,
  trustedProxies,
}: {
  readonly secrets: Prover;
  readonly clock: Clock;
  readonly log: Log;
  readonly trustedProxies: readonly string[];
}): Exposition {
  return {
    path: probePath,
    async answer(raw) {
      await raw.body();
      const isAllowed =
        raw.method === 'GET' && isProof(secrets, raw.headers.get(proofHeader) ?? '', clock.now());
      if (!isAllowed) throw new HubError('not_found', 'Not Found');
      if (isStreamAsked(raw.headers) && !raw.upgrade) {
        const headers = [['Content-Type', 'text/event-stream'], ...noStore] as const;
        const pieces = slowBytes(clock);
        const live = createDownload({ pieces, keepalive: null, ended() {} }, { clock, log });
        return { ...plain(200, headers, null), live };
      }
      const text = JSON.stringify(snakeKeys(probeReport(raw, trustedProxies, clock.now())));
      return plain(200, [['Content-Type', 'application/json'], ...noStore], text);
    },
  };
}
