// What both APIs show alike: times as ISO 8601 UTC, and what was found in a document.
import type { Finding } from '../../domain/finding.ts';

/** Epoch milliseconds as ISO 8601 UTC with milliseconds. */
export const iso = (ms: number): string => new Date(ms).toISOString();

export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

export const renderFindings = (findings: readonly Finding[]) => findings.map((finding) => ({ ...finding }));
