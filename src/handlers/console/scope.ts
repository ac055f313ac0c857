// Which environments a caller sees: a key its own, a user all of them or the one asked for.
import type { Caller } from '../../api/call.ts';
import type { Env } from '../../domain/ids.ts';

/** Null: every environment. That a key asks for its own is the route's declaration's business. */
export function envSeen(
  caller: Extract<Caller, { kind: 'user' | 'key' }>,
  asked: Env | undefined,
): Env | null {
  if (caller.kind === 'user') return asked ?? null;
  return caller.env;
}
