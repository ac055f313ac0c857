// Versions with the same document, and so with the same hash.
import type { JSX } from 'react';

interface HashedVersion {
  readonly version: number;
  readonly revision_hash: string;
}

const maxNames = 3;

/** The other versions with the same document, newest first. */
export const sameVersions = <V extends HashedVersion>(of: HashedVersion, among: readonly V[]): readonly V[] =>
  among.filter((one) => one.revision_hash === of.revision_hash && one.version !== of.version);

export function SameVersions({
  of,
  among,
}: {
  readonly of: HashedVersion;
  readonly among: readonly HashedVersion[];
}): JSX.Element | null {
  const same = sameVersions(of, among);
  if (same.length === 0) return null;
  const names = same.slice(0, maxNames).map(({ version }) => `v${version}`);
  return (
    <span className="muted" title="Identical document (same hash)">
      same as {names.join(', ')}
      {same.length > maxNames && ' …'}
    </span>
  );
}
