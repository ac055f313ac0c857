// The keys whose large arguments of approvals give way when the quota of an environment is full. Pure.

/** One key's share of an environment's quota. */
export interface Holding {
  /** Null: arguments without a key, which count as one key's. */
  readonly keyId: string | null;
  readonly bytes: number;
}

/** Arguments that may be removed. */
export interface RemovableArgs {
  readonly id: string;
  readonly bytes: number;
}

/** A request for room. */
export interface ArgumentRequest {
  readonly keyId: string;
  readonly bytes: number;
}

/** Bytes that must be removed before the request fits into the quota; 0 or less when it fits. */
export const missingBytes = (holdings: readonly Holding[], request: ArgumentRequest, quota: number): number =>
  holdings.reduce((sum, { bytes }) => sum + bytes, request.bytes) - quota;

/**
 * The keys that give way to a request, largest holding first: a key that would hold less than the requesting key gives
 * nothing. So a key that floods the quota removes its own arguments alone.
 */
export function largestHolders(
  holdings: readonly Holding[],
  request: ArgumentRequest,
): readonly (string | null)[] {
  const own = holdings.find(({ keyId }) => keyId === request.keyId)?.bytes ?? 0;
  const floor = own + request.bytes;
  return holdings
    .map(({ keyId, bytes }) => ({ keyId, bytes: keyId === request.keyId ? floor : bytes }))
    .filter(({ bytes }) => bytes >= floor)
    .sort((a, b) => b.bytes - a.bytes)
    .map(({ keyId }) => keyId);
}

/** The first of them that make the room, or null when all together are too small. */
export function enoughToRemove(
  removable: readonly RemovableArgs[],
  missing: number,
): readonly string[] | null {
  const ids: string[] = [];
  let left = missing;
  for (const { id, bytes } of removable) {
    if (left <= 0) break;
    ids.push(id);
    left -= bytes;
  }
  return left <= 0 ? ids : null;
}
