// Streams that a revocation or a sign-out ends, also those that were being opened when it came. Keeps promise P36.
import type { Control } from '../../shared/frame.ts';
import type { StreamCaller } from '../contract/stream.ts';

/** Reason why a stream ended. */
export type EndReason =
  | 'client' // the connection is gone
  | 'aged'
  | 'slow' // over its bound, or blocked too long
  | 'revoked'
  | 'signed_out'
  | 'roles_changed'
  | 'tenant_suspended'
  | 'draining'
  | 'failed' // it could not be joined
  | 'flood' // it sent more than it may
  | 'mistakes' // it sent too many messages that were wrong
  | 'silent'; // a WebSocket that answers no pings, or is in the middle of a frame

/** Endings that are remembered for streams whose caller was identified before them. */
const remembered = 1_000;

export class Endings {
  readonly #newest: { readonly at: number; readonly control: Control }[] = [];
  #count = 0;

  /** Number of endings so far. */
  get sequence(): number {
    return this.#count;
  }

  add(control: Control): void {
    this.#newest.push({ at: ++this.#count, control });
    if (this.#newest.length > remembered) this.#newest.shift();
  }

  /** Reason why a stream must end whose caller was identified at this place of the sequence; null: it may go on. */
  missedBy(caller: StreamCaller, sequence: number): EndReason | null {
    for (const { at, control } of this.#newest) {
      const reason = at > sequence ? endReason(control, caller) : null;
      if (reason) return reason;
    }
    return null;
  }
}

/** Reason why a control message ends a stream of this caller; null when it does not concern the caller. */
export function endReason(control: Control, caller: StreamCaller): EndReason | null {
  if (control.kind === 'tenant_closed')
    return caller.tenantId === control.tenantId ? 'tenant_suspended' : null;
  if (control.kind === 'key_revoked') {
    return caller.kind === 'key' && caller.keyHash === control.keyHash ? 'revoked' : null;
  }
  if (control.kind === 'operator_token_revoked') {
    return caller.kind === 'hostedOperator' && caller.tokenId === control.tokenId ? 'revoked' : null;
  }
  const login = loginOf(caller);
  if (login === null) return null;
  if (control.kind === 'login_ended') return login.tokenHash === control.tokenHash ? 'signed_out' : null;
  if (control.kind === 'user_logins_ended') {
    return login.userId === control.userId && login.tokenHash !== control.except ? 'signed_out' : null;
  }
  if (control.kind === 'user_roles_changed') return login.userId === control.userId ? 'roles_changed' : null;
  return null;
}

/** The login by which a caller came, by cookie or by a token that was given to it; null: none. */
function loginOf(caller: StreamCaller): { readonly userId: string; readonly tokenHash: string } | null {
  if (caller.kind === 'user') return caller;
  if (caller.kind === 'key' || caller.loginHash === null) return null;
  return { userId: caller.subject, tokenHash: caller.loginHash };
}
