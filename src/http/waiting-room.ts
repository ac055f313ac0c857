// Requests for streams that wait before anything is done for them. A fleet that comes back asks for thousands in one
// moment: as long as it waits here, nothing is kept of a request but what came with it.
import { Queue } from '../shared/concurrency/queue.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { RawRequest } from './raw.ts';

/** Of one credential: as many as its tenant may open at once. */
const maxAtOnce = 512;
const maxWaitMs = 30_000;

interface Client {
  /** False once it has left. */
  readonly open: boolean;
}

interface Guest {
  /** Monotonic milliseconds. */
  readonly deadline: number;
  readonly client: Client;
  /** Never rejects. @param late it has waited for too long */
  serve(late: boolean): Promise<void>;
}

interface Place {
  serving: number;
  /** First come first. */
  readonly waiting: Queue<Guest>;
}

export class WaitingRoom {
  readonly #clock: Clock;
  /** By credential as it was sent, since nobody has looked at it: one that nobody uses takes no memory. */
  readonly #places = new Map<string, Place>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Serves the request at once, or when it is its turn among those that bring the same credential. */
  enter({ headers }: Pick<RawRequest, 'headers'>, client: Client, serve: Guest['serve']): void {
    const credential = headers.get('authorization') ?? headers.get('cookie') ?? '';
    let place = this.#places.get(credential);
    if (!place) {
      place = { serving: 0, waiting: new Queue() };
      this.#places.set(credential, place);
    }
    if (place.serving < maxAtOnce) {
      place.serving++;
      this.#serve(credential, place, serve);
      return;
    }
    place.waiting.add({ deadline: this.#clock.monotonic() + maxWaitMs, client, serve });
  }

  /** Those that have waited too long hear it. To be called every few seconds. */
  sweep(): void {
    const now = this.#clock.monotonic();
    for (const { waiting } of this.#places.values()) {
      for (let guest = waiting.first; guest && guest.deadline <= now; guest = waiting.first) {
        waiting.shift();
        if (guest.client.open) void guest.serve(true);
      }
    }
  }

  #serve(credential: string, place: Place, serve: Guest['serve']): void {
    void serve(false).then(() => this.#next(credential, place));
  }

  /** Hands a place on. */
  #next(credential: string, place: Place): void {
    for (let guest = place.waiting.shift(); guest; guest = place.waiting.shift()) {
      if (!guest.client.open) continue;
      this.#serve(credential, place, guest.serve);
      return;
    }
    if (--place.serving === 0) this.#places.delete(credential);
  }
}
