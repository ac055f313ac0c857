// Asks the store again whether those who hold streams may: every few minutes, and at once when revocations may have
// been missed. Ends nothing itself: it returns what was revoked or ended. Keeps promise P53.
import { singleFlight } from '../../shared/concurrency/single-flight.ts';
import { rolesText } from '../../shared/env-roles.ts';
import type { Control } from '../../shared/frame.ts';
import { type Clock, pause } from '../../shared/ports/clock.ts';
import type { Log } from '../../shared/ports/log.ts';
import type { LiveCaller } from './stream.ts';

export interface RecheckOptions {
  /** Callers with open streams, with repeats. */
  readonly callers: () => Iterable<LiveCaller>;
  /** True if the store still knows the caller's key or login. @throws if the store cannot be reached */
  readonly isStillValid: (caller: LiveCaller) => Promise<boolean>;
  readonly ended: (control: Control) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Recheck {
  /** A round now; another after the one under way. */
  now(): void;
  close(): void;
}

const everyMs = 5 * 60_000;
/** Questions at once. */
const atOnce = 50;
/** Until those are asked again for whom the store had no answer. */
const againMs = 1000;

/** The login that a caller came by; null for a token that ends by itself. */
const loginOf = (caller: Exclude<LiveCaller, { kind: 'key' }>): string | null =>
  caller.kind === 'user' ? caller.tokenHash : caller.loginHash;

const tokenIdOf = (caller: LiveCaller): string | null =>
  caller.kind === 'hostedOperator' ? (caller.tokenId ?? null) : null;

function nameOf(caller: LiveCaller): string {
  const tokenId = tokenIdOf(caller);
  if (tokenId !== null) return `token ${tokenId}`;
  if (caller.kind === 'key') return `key ${caller.keyHash}`;
  const login = loginOf(caller);
  // Streams of one login can have other roles: a message about a change was missed.
  return login === null ? `tenant ${caller.tenantId}` : `login ${login} ${rolesText(caller.roles)}`;
}

function endOf(caller: LiveCaller): Control {
  const tokenId = tokenIdOf(caller);
  if (tokenId !== null) return { kind: 'operator_token_revoked', tokenId };
  const { tenantId } = caller;
  if (caller.kind === 'key')
    return { kind: 'key_revoked', tenantId, keyId: caller.keyId, keyHash: caller.keyHash };
  const tokenHash = loginOf(caller);
  // A token that ends by itself is in order, unless its tenant is closed.
  return tokenHash === null ? { kind: 'tenant_closed', tenantId } : { kind: 'login_ended', tokenHash };
}

export function createRecheck({ callers, isStillValid, ended, clock, log }: RecheckOptions): Recheck {
  let closed = false;

  /** Returns the callers for whom the store had no answer. */
  async function ask(callers: readonly LiveCaller[]): Promise<readonly LiveCaller[]> {
    const unknown: LiveCaller[] = [];
    for (let i = 0; i < callers.length && !closed; i += atOnce) {
      const slice = callers.slice(i, i + atOnce);
      const answers = await Promise.allSettled(slice.map(isStillValid));
      for (const [j, caller] of slice.entries()) {
        const answer = answers[j];
        if (answer?.status !== 'fulfilled') unknown.push(caller);
        else if (!answer.value) ended(endOf(caller));
      }
    }
    return unknown;
  }

  async function round(): Promise<void> {
    const distinct = new Map<string, LiveCaller>();
    for (const caller of callers()) distinct.set(nameOf(caller), caller);
    let left: readonly LiveCaller[] = [...distinct.values()];
    for (;;) {
      left = await ask(left);
      if (left.length === 0 || closed) return;
      log.debug({ callers: left.length }, 'cannot check the permissions of streams; the check is retried');
      await pause(clock, againMs);
    }
  }

  const rounds = singleFlight(round, () => closed);
  const now = (): void => void rounds.ask();
  const timer = clock.every(everyMs, now);
  return {
    now,
    close() {
      closed = true;
      timer.cancel();
    },
  };
}
