// Times as the hosted API shows them: RFC 3339 in UTC with microseconds. Signed ones are shown as they were signed.
import { renderMicros } from '../../shared/instant.ts';

/** @param ms epoch milliseconds */
export const micros = renderMicros;

export const microsOrNull = (ms: number | null): string | null => (ms === null ? null : renderMicros(ms));
