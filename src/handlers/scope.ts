// Which environments a caller sees: a key its own, a user all of them or the one asked for.
import type { Caller } from '../api/call.ts';
import { HubError } from '../domain/error.ts';
import type { Env } from '../domain/ids.ts';

/** Null: every environment. @throws HubError env_mismatch when a key asks for another environment */
export function envSeen(
  caller: Extract<Caller, { kind: 'user' | 'key' }>,
  asked: Env | undefined,
): Env | null {
  if (caller.kind === 'user') return asked ?? null;
  if (asked !== undefined && asked !== caller.env) {
    throw new HubError('env_mismatch', `API key is scoped to '${caller.env}', cannot access env '${asked}'.`);
  }
  return caller.env;
}
