// Stored records in the words of the console API: times as ISO 8601 UTC.

/** Epoch milliseconds as ISO 8601 UTC with milliseconds. */
export const iso = (ms: number): string => new Date(ms).toISOString();

export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));
