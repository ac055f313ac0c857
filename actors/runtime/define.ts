// Types of an actor: state, messages, effects, timers. Knows no noun of the product: the runtime hands announcements on
// unread. The runtime keeps promises P1 to P11: `system.ts` in one process, `remote.ts` between nodes.

import type { Announcement } from '../../src/shared/announcement.ts';
import type { Awaitable } from '../../src/shared/concurrency/awaitable.ts';
import type { Control } from '../../src/shared/frame.ts';
import type { Job } from '../../src/shared/ports/jobs.ts';

/**
 * The messages of an actor kind: name → body and reply. Bodies and replies are plain JSON values (they may cross
 * nodes).
 */
export type Messages = { readonly [type: string]: { readonly body: unknown; readonly reply: unknown } };

/** Every actor kind: name → its messages. */
export type Kinds = { readonly [kind: string]: Messages };

/** A message that needs no answer. */
export interface Tell {
  readonly kind: string;
  readonly key: string;
  readonly type: string;
  readonly body: unknown;
}

/**
 * Effects of one message, sent in this order. The runtime sends them after the handler, with every write that it
 * awaited, has resolved; never when it throws.
 */
export interface Effects {
  readonly announcements?: readonly Announcement[];
  readonly control?: readonly Control[];
  readonly tells?: readonly Tell[];
  readonly jobs?: readonly Job[];
  /**
   * Called when all of these have left, to write down that they have; not when one could not. Nobody waits for this
   * call, and a failure is only logged: the sweep must find and repair missing writes.
   */
  readonly onSent?: () => Promise<unknown>;
}

export interface Outcome<Reply> extends Effects {
  readonly reply: Reply;
}

export interface ActorContext<Ports> {
  readonly key: string;
  readonly ports: Ports;
  /** Rises with every owner of the key: the fence of writes that are neither compared nor unique. 0 in one process. */
  readonly epoch: number;
  /** Epoch milliseconds. */
  now(): number;
  /**
   * Calls `onTimer(name)` as a message, not before `at` (epoch ms). Setting a name again moves it. In memory: the sweep
   * is the guarantee.
   */
  setTimer(name: string, at: number): void;
  clearTimer(name: string): void;
}

export interface ActorDefinition<M extends Messages, State, Ports> {
  readonly kind: string;
  /**
   * Builds the state, from the store where it needs that. Runs before the first message; a throw fails the messages
   * waiting (`unavailable`) and is tried again by the next.
   */
  activate(context: ActorContext<Ports>): Promise<State> | State;
  /** Effects of an activation (for example asking edges for their streams). */
  onActivate?(state: State, context: ActorContext<Ports>): Effects;
  /** One that waits for nothing answers at once, so that a whole mailbox of such messages is handled in one go. */
  readonly handlers: {
    readonly [T in keyof M]: (
      state: State,
      body: M[T]['body'],
      context: ActorContext<Ports>,
    ) => Awaitable<Outcome<M[T]['reply']>>;
  };
  onTimer?(state: State, name: string, context: ActorContext<Ports>): Promise<Effects>;
  /**
   * Messages whose askers in the owner's own process wait for up to 30 s: they come by the thousand in one moment, and
   * each waits its turn.
   */
  readonly patient?: readonly (keyof M)[];
  /**
   * True when nothing would be lost by forgetting the state now (no streams); timers are kept by the runtime and count
   * as not idle.
   */
  idle(state: State, now: number): boolean;
}

/** The way to actors, for handlers and edges. */
export interface Actors<K extends Kinds> {
  /**
   * Sends a message and waits for its reply. One message at a time per key; arrival order per sending node.
   * @throws HubError of the handler; `overloaded` when the mailbox is full (1,000); `unavailable` when the owner cannot
   *   be reached in time (5 s; 30 s for what is `patient`)
   */
  ask<Kind extends keyof K & string, T extends keyof K[Kind] & string>(
    kind: Kind,
    key: string,
    type: T,
    body: K[Kind][T]['body'],
  ): Promise<K[Kind][T]['reply']>;
  /**
   * Sends without waiting for the handler. Resolves when the message is in the mailbox (one process) or in the log
   * (cluster).
   */
  tell<Kind extends keyof K & string, T extends keyof K[Kind] & string>(
    kind: Kind,
    key: string,
    type: T,
    body: K[Kind][T]['body'],
  ): Promise<void>;
}
