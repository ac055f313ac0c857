// Schemas that records and routes of every noun share. One object each: the OpenAPI document describes it once.
import { z } from 'zod';
import { environments, hasControl, isWellFormed } from './ids.ts';
import { parseInstant } from './instant.ts';

export const env = z.enum(environments);
export const uuid = z.uuid();
/** An instant on the wire: ISO 8601, UTC; milliseconds on the console API, microseconds on the hosted one. */
export const isoInstant = z.iso.datetime();
/** A JSON object of any content. */
export const anyObject = z.record(z.string(), z.unknown());

const wellFormed = (text: string): boolean => isWellFormed(text) && !text.includes('\u0000');

/** Free text: at most `max` characters, no NUL, no lone surrogate. */
export const text = (max: number, min = 0) =>
  z.string().min(min).max(max).refine(wellFormed, 'must be valid Unicode text without NUL');

/** A one-line name or id: 1 to `max` characters, no control characters. */
export const line = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => isWellFormed(value) && !hasControl(value), 'must not contain control characters');

/** Agent ids, session ids, names of rulesets and environments, ids of approvals. */
export const identifier = z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,127}$/, {
  error:
    'must have 1 to 128 letters, digits, dots, underscores and hyphens, and begin with a letter or digit',
});

/**
 * An ISO 8601 instant in a query or body, any offset (none: UTC); becomes epoch milliseconds, microseconds as a
 * fraction.
 */
export const instantInput = z
  .string()
  .max(40)
  .transform((value, context) => {
    const ms = parseInstant(value);
    if (ms === null) context.addIssue({ code: 'custom', message: 'must be an ISO 8601 time' });
    return ms ?? 0;
  });
