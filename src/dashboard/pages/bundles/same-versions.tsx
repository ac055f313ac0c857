// Versions with the same document, and so with the same hash.
import type { JSX } from 'react';

interface HashedVersion {
  readonly version: number;
  readonly revision_hash: string;
}

const maxNames = 3;

/** The other versions with the same document, newest first. */
export const sameVersions = <V extends HashedVersion>(
  version: HashedVersion,
  among: readonly V[],
): readonly V[] =>
  among.filter((one) => one.revision_hash === version.revision_hash && one.version !== version.version);

export function SameVersions({
  version,
  among,
}: Readonly<{ version: HashedVersion; among: readonly HashedVersion[] }>): JSX.Element | null {
  const same = sameVersions(version, among);
  if (same.length === 0) return null;
  const names = same.slice(0, maxNames).map((one) => `v${one.version}`);
  return (
    <span className="muted" title="Identical document (same hash)">
      same as {names.join(', ')}
      {same.length > maxNames && ' …'}
    </span>
  );
}
