// Messages between the event loop and a thread of the store. No behaviour.
import type { Noting } from '../../../src/audit/port.ts';
import type { CallLimits } from '../events/calls.ts';
import type { Failure } from '../failure.ts';
import type { Tuning } from '../schema/index.ts';

export type ThreadRole = 'reader' | 'writer';

/** Start data of a thread. */
export interface ThreadStart {
  readonly role: ThreadRole;
  readonly path: string;
  readonly tuning: Tuning;
  /** One Int32: not 0 while the disk has too little room for session values to grow. */
  readonly shortOfSpace: SharedArrayBuffer;
  /** The usual limits by default. */
  readonly callLimits?: CallLimits;
}

export type Call = readonly [id: number, store: string, method: string, args: readonly unknown[]];

/** A write that takes a note along: the arguments of the call `noting`, `write`. */
export type NotedWrite = readonly [store: string, method: string, args: readonly unknown[], noting: Noting];

export type ThreadReply =
  | readonly [id: number, ok: true, value: unknown]
  | readonly [id: number, ok: false, failure: Failure];

export type ToThread =
  | { readonly kind: 'calls'; readonly calls: readonly Call[] }
  /** Answer what is queued, then close the file and end. */
  | { readonly kind: 'close' };

export type FromThread =
  | { readonly kind: 'ready' }
  /** The file could not be opened. */
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'replies'; readonly replies: readonly ThreadReply[] };
