// Parts of the tables of events (src/http/contract/frames.ts), and the event that no noun owns. Browser-safe.

import { z } from 'zod';

export interface FrameDeclaration {
  /** When it is sent, and to whom where that is not everybody on the stream. */
  readonly summary: string;
  /** The event's data, as clients receive it. */
  readonly data: z.ZodType;
}

/** The events of a stream, by the name that stands in the `event:` line. */
export type FrameTable = { readonly [type: string]: FrameDeclaration };

type Fields<D> = D extends { readonly type: string } ? Omit<D, 'type'> : never;

/** Makes the data of an event, held to its declaration by the compiler. */
export const eventMaker =
  <T extends FrameTable>(_table: T) =>
  <K extends keyof T & string>(type: K, fields: Fields<z.input<T[K]['data']>>): { readonly type: K } => ({
    type,
    ...fields,
  });

export const event = <const K extends string, S extends z.ZodRawShape>(
  type: K,
  summary: string,
  fields: S,
) => ({
  summary,
  data: z.object({ type: z.literal(type), ...fields }),
});

export const hex = (characters: number) => z.string().regex(new RegExp(`^[0-9a-f]{${characters}}$`));
export const version = z.number().int().min(1);

/** W3C Trace Context of the frame's subject: only with `trace=1`, and only where the hub traces. */
export const traceparent = z.string().optional();

const resyncReason = z.enum(['position_unknown', 'position_gone', 'too_far_behind']);
export type ResyncReason = z.output<typeof resyncReason>;

export const resync = event(
  'resync',
  'Frames were missed and cannot be resent: read the current state again.',
  {
    /** Absent where the hub itself lost frames. */
    reason: resyncReason.optional(),
  },
);
