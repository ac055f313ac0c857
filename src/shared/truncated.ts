// The value that replaces a larger field in a reply: its size. Browser-safe.
import { z } from 'zod';

export interface Truncated {
  readonly _truncated: true;
  /** Of the field's JSON, as UTF-8. */
  readonly bytes: number;
}

export const truncated = (bytes: number): Truncated => ({ _truncated: true, bytes });

export const truncatedField = z.object({ _truncated: z.literal(true), bytes: z.number().int() });

/** The schema of a field that a list may leave out. */
export const listed = <T extends z.ZodType>(field: T) => z.union([field, truncatedField]);
