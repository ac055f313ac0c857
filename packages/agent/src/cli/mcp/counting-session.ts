// The session that a client chooses for the counts of its calls, where the proxy's operator lets it.
import { fieldsOf } from '../../fields.ts';
import type { Request } from './message.ts';

/** A text that the hub accepts as a name of a run. */
const sessionName = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

/**
 * Null: the client chooses none.
 * @param key of `_meta`; absent: clients may not choose
 */
export function sessionOf({ params }: Request, key: string | undefined): string | null {
  const session = key === undefined ? undefined : fieldsOf(params._meta)[key];
  return typeof session === 'string' && sessionName.test(session) ? session : null;
}
