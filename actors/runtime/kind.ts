// An actor kind as the system runs it: the definition with its state's type hidden inside.
import type { ActorContext, ActorDefinition, Effects, Messages, Outcome } from './define.ts';

/** One activation's state and what may be done with it. */
export interface Live {
  receive(type: string, body: unknown): Promise<Outcome<unknown>>;
  ring(timer: string): Promise<Effects>;
  idle(): boolean;
  /** Effects of the activation itself. */
  readonly born: Effects;
}

export interface ActorKind<M extends Messages, Ports> {
  readonly kind: string;
  knows(type: string): boolean;
  wake(context: ActorContext<Ports>): Promise<Live>;
  /** Never set: carries the type of the messages. */
  readonly messages?: M;
}

/** Makes a definition ready to run. */
export function actorKind<M extends Messages, State, Ports>(
  definition: ActorDefinition<M, State, Ports>,
): ActorKind<M, Ports> {
  const { handlers } = definition;
  return {
    kind: definition.kind,
    knows: (type) => Object.hasOwn(handlers, type),
    async wake(context) {
      const state = await definition.activate(context);
      return {
        born: definition.activated?.(state, context) ?? {},
        // `knows` was asked before: the type names a handler, whose body's type the sender was held to.
        receive: async (type, body) => handlers[type as keyof M](state, body as M[keyof M]['body'], context),
        ring: async (timer) => (await definition.onTimer?.(state, timer, context)) ?? {},
        idle: () => definition.idle(state, context.now()),
      };
    },
  };
}
