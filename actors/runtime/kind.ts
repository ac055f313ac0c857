// An actor kind as the system runs it: the definition with its state's type hidden inside.
import type { Awaitable } from '../../src/shared/concurrency/awaitable.ts';
import type { ActorContext, ActorDefinition, Effects, Messages, Outcome } from './define.ts';

/** One activation's state, with its operations. */
export interface LiveActor {
  receive(type: string, body: unknown): Awaitable<Outcome<unknown>>;
  ring(timer: string): Promise<Effects>;
  idle(): boolean;
  /** Effects of the activation itself; to be asked for once. */
  onActivate(): Effects;
}

export interface ActorKind<M extends Messages, Ports> {
  readonly kind: string;
  knows(type: string): boolean;
  /** True if its askers wait longer than others. */
  isPatient(type: string): boolean;
  /** At once where the state is, else when it was read. @throws what building the state throws */
  wake(context: ActorContext<Ports>): Promise<LiveActor> | LiveActor;
  /** Never set: carries the type of the messages. */
  readonly messages?: M;
}

const nothing: Effects = {};

/** A class, because a large fleet keeps one per agent awake: its methods are shared. */
class Awake<M extends Messages, State, Ports> implements LiveActor {
  readonly #definition: ActorDefinition<M, State, Ports>;
  readonly #state: State;
  readonly #context: ActorContext<Ports>;

  constructor(definition: ActorDefinition<M, State, Ports>, state: State, context: ActorContext<Ports>) {
    this.#definition = definition;
    this.#state = state;
    this.#context = context;
  }

  onActivate(): Effects {
    return this.#definition.onActivate?.(this.#state, this.#context) ?? nothing;
  }

  receive(type: string, body: unknown): Awaitable<Outcome<unknown>> {
    // `knows` was asked before: the type names a handler, whose body's type the sender was held to.
    const handle = this.#definition.handlers[type as keyof M];
    return handle(this.#state, body as M[keyof M]['body'], this.#context);
  }

  async ring(timer: string): Promise<Effects> {
    return (await this.#definition.onTimer?.(this.#state, timer, this.#context)) ?? nothing;
  }

  idle(): boolean {
    return this.#definition.idle(this.#state, this.#context.now());
  }
}

/** Makes a definition ready to run. */
export function actorKind<M extends Messages, State, Ports>(
  definition: ActorDefinition<M, State, Ports>,
): ActorKind<M, Ports> {
  const { handlers, patient = [] } = definition;
  return {
    kind: definition.kind,
    knows: (type) => Object.hasOwn(handlers, type),
    isPatient: (type) => patient.includes(type),
    wake(context) {
      const state = definition.activate(context);
      if (!(state instanceof Promise)) return new Awake(definition, state, context);
      return state.then((read) => new Awake(definition, read, context));
    },
  };
}
