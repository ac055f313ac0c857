// The limit of what a tab remembers of approvals: a tab that is open for a week does not grow.

/** Approvals that are remembered: several times those that are decided together. */
export const maxRemembered = 1_000;

/** The entries with this one as the newest, without the oldest beyond the limit. */
export function withNewest<T>(
  entries: { readonly [id: string]: T },
  id: string,
  value: T,
): { readonly [id: string]: T } {
  const { [id]: _, ...others } = entries;
  return Object.fromEntries([...Object.entries(others), [id, value] as const].slice(-maxRemembered));
}
