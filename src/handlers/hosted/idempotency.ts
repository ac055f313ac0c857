// Idempotency-Key of the requests that make something: what is made gets an id that follows from the key and the body,
// so that the store itself makes it once, on any node and for ever.
import type { Request } from '../../api/call.ts';
import { validationFailed } from '../../api/validation.ts';
import { type HubError, refused } from '../../domain/error.ts';
import { actorName } from '../../domain/principal.ts';
import type { Hub } from '../common/hub.ts';
import { type HostedCaller, principalOf } from './principal.ts';

const printable = /^[\x20-\x7e]{1,128}$/;
/** Characters of an id that follow from the key alone. */
const familyLength = 18;

/** @throws HubError validation_failed for a header that is no key */
export function idempotencyKeyOf(request: Request): string | null {
  const key = request.header('idempotency-key');
  if (key === null || printable.test(key)) return key;
  throw validationFailed([
    { loc: ['header', 'idempotency-key'], msg: 'must be 1 to 128 printable ASCII characters' },
  ]);
}

/**
 * The id of what a request makes: a UUID of version 8 (RFC 9562), the first half of the key, the second of the body.
 * Null without a key.
 */
export function idFor(
  { secrets }: Pick<Hub, 'secrets'>,
  caller: HostedCaller,
  request: Request,
  route: string,
  body: unknown,
): string | null {
  const key = idempotencyKeyOf(request);
  if (key === null) return null;
  const { tenantId, actor } = principalOf(caller);
  const who = 'id' in actor ? actor.id : actorName(actor);
  const family = secrets.sha256(JSON.stringify(['idempotency', tenantId, who, route, key]));
  const rest = secrets.sha256(JSON.stringify(body));
  return `${family.slice(0, 8)}-${family.slice(8, 12)}-8${family.slice(12, 15)}-a${rest.slice(0, 3)}-${rest.slice(3, 15)}`;
}

/**
 * What an earlier request with the key made, among what there is.
 * @throws HubError unprocessable (idempotency_key_reused) when its body was another
 */
export function madeBefore<T>(id: string, items: readonly T[], idOf: (item: T) => string): T | null {
  const found = items.find((item) => idOf(item).slice(0, familyLength) === id.slice(0, familyLength));
  if (found !== undefined && idOf(found) !== id) {
    throw refused('idempotency_key_reused', 'This Idempotency-Key was sent with another body before.');
  }
  return found ?? null;
}

/** The error of a repeat that cannot be answered as the first was. */
export const replayRefused = (what: string): HubError =>
  refused('idempotency_replay_refused', `This Idempotency-Key has made ${what} already.`);

export const replayed = { 'Idempotency-Replayed': 'true' } as const;
