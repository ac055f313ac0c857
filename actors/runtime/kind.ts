// An actor kind as the system runs it: the definition with its state's type hidden inside.
import type { Awaitable } from '../../src/shared/concurrency/awaitable.ts';
import type { ActorContext, ActorDefinition, Effects, Messages, Outcome } from './define.ts';

/**
 * The operations of a kind, over a state of its own. Each activation keeps no more than that state, because a large
 * fleet keeps one awake per agent.
 */
export interface ActorKind<M extends Messages, Ports> {
  readonly kind: string;
  knows(type: string): boolean;
  /** True if its askers wait longer than others. */
  isPatient(type: string): boolean;
  /** The state: at once where it is known, else when it was read. @throws what building the state throws */
  wake(context: ActorContext<Ports>): Promise<ActorState> | ActorState;
  /** Effects of the activation itself; to be asked for once. */
  onActivate(state: ActorState, context: ActorContext<Ports>): Effects;
  receive(
    state: ActorState,
    context: ActorContext<Ports>,
    type: string,
    body: unknown,
  ): Awaitable<Outcome<unknown>>;
  ring(state: ActorState, context: ActorContext<Ports>, timer: string): Promise<Effects>;
  idle(state: ActorState, now: number): boolean;
  /** Never set: carries the type of the messages. */
  readonly messages?: M;
}

/** A state, whose type its kind alone knows. */
export interface ActorState {
  readonly opaque?: never;
}

const nothing: Effects = {};

/** Makes a definition ready to run. */
export function actorKind<M extends Messages, State extends object, Ports>(
  definition: ActorDefinition<M, State, Ports>,
): ActorKind<M, Ports> {
  const { handlers, patient = [] } = definition;
  // The kind makes every state that it is handed.
  const own = (state: ActorState): State => state as unknown as State;
  return {
    kind: definition.kind,
    knows: (type) => Object.hasOwn(handlers, type),
    isPatient: (type) => patient.includes(type),
    wake: (context) => definition.activate(context) as Promise<ActorState> | ActorState,
    onActivate: (state, context) => definition.onActivate?.(own(state), context) ?? nothing,
    receive(state, context, type, body) {
      // `knows` was asked before: the type names a handler, whose body's type the sender was held to.
      const handle = handlers[type as keyof M];
      return handle(own(state), body as M[keyof M]['body'], context);
    },
    ring: async (state, context, timer) =>
      (await definition.onTimer?.(own(state), timer, context)) ?? nothing,
    idle: (state, now) => definition.idle(own(state), now),
  };
}
