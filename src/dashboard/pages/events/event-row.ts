// A row of the list of events, and the fields of its payload.
import type { Reply } from '../../lib/api.ts';

export type EventRow = Reply<'searchEvents'>[number];

/** A field of the payload; undefined without one. The hub leaves large fields out of lists. */
export const payloadField = ({ payload }: Pick<EventRow, 'payload'>, name: string): unknown =>
  (payload as { readonly [name: string]: unknown } | null)?.[name];
