// Calls that stay open at a legacy server while their client gathers answers: each under a random state, used once.
import { randomBytes } from 'node:crypto';
import type { Timer } from '../../clock.ts';
import type { Fields } from '../../fields.ts';
import type { Id, Request, Response } from './message.ts';
import type { Wire } from './translation.ts';

const maxHeld = 1000;

/** A request of the server for its client. */
export interface Question {
  readonly id: Id;
  /** As the client reads it. */
  readonly inputRequest: Fields;
}

/** A call at the server. */
export interface OpenCall {
  readonly upstreamId: Id;
  /** The client's request that awaits the result, or did last. */
  request: Request;
  isAwaited: boolean;
  /** Without an answer, by the name that the client gets. */
  readonly questions: Map<string, Question>;
  /** The server's answer that came while no request awaited it. */
  answer: Response | null;
}

export class HeldCalls {
  readonly #wire: Wire;
  readonly #abandon: (call: OpenCall) => void;
  readonly #calls = new Map<string, { readonly call: OpenCall; readonly timer: Timer }>();

  /** @param abandon takes a call whose client did not come back in time */
  constructor(wire: Wire, abandon: (call: OpenCall) => void) {
    this.#wire = wire;
    this.#abandon = abandon;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** @returns the state for the retry; null when too many calls are held */
  add(call: OpenCall): string | null {
    if (this.#calls.size >= maxHeld) return null;
    const state = randomBytes(16).toString('base64url');
    const timer = this.#wire.clock.after(this.#wire.inputTimeout, () => {
      this.#calls.delete(state);
      this.#abandon(call);
    });
    this.#calls.set(state, { call, timer });
    return state;
  }

  /** The call that a retry goes on with; null: there is none, or it was another request. */
  take({ method, params }: Request): OpenCall | null {
    const { requestState } = params;
    const held = typeof requestState === 'string' ? this.#calls.get(requestState) : undefined;
    if (!held) return null;
    const { request } = held.call;
    const isSame = ['name', 'uri'].every((member) => request.params[member] === params[member]);
    if (request.method !== method || !isSame) return null;
    this.#calls.delete(String(requestState));
    held.timer.cancel();
    return held.call;
  }

  close(): void {
    for (const { timer } of this.#calls.values()) timer.cancel();
    this.#calls.clear();
  }
}
