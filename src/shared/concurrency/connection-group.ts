// The connections that a process holds to one server, as one: an outage is reported once and its end once, and all of
// them can be made to connect again.

export interface ConnectionGroupEvents {
  /** The first connection cannot be used any more. `cause` is a sentence without an address. */
  down(cause: string): void;
  /** Every connection can be used again. */
  up(): void;
}

export class ConnectionGroup {
  readonly #events: ConnectionGroupEvents;
  readonly #unusable = new Set<object>();
  readonly #reconnects = new Set<() => void>();
  #isClosing = false;

  constructor(events: ConnectionGroupEvents) {
    this.#events = events;
  }

  /** The connection cannot be used. Harmless to repeat. */
  down(connection: object, cause: string): void {
    const isFirst = this.#unusable.size === 0;
    this.#unusable.add(connection);
    if (isFirst && !this.#isClosing) this.#events.down(cause);
  }

  /** The connection can be used, or is closed for good. Harmless to repeat. */
  up(connection: object): void {
    if (this.#unusable.delete(connection) && this.#unusable.size === 0 && !this.#isClosing) this.#events.up();
  }

  /** The connection was never used and never will be: neither an outage nor its end. */
  forget(connection: object): void {
    this.#unusable.delete(connection);
  }

  /** The process closes its connections: their ends are no outage, and nothing is reported any more. */
  close(): void {
    this.#isClosing = true;
  }

  /** `reconnect` is called by `reconnectAll` until the returned function is. */
  add(reconnect: () => void): () => void {
    this.#reconnects.add(reconnect);
    return () => void this.#reconnects.delete(reconnect);
  }

  /** The server behind the address is another one by now: every connection is made again. */
  reconnectAll(): void {
    for (const reconnect of [...this.#reconnects]) reconnect();
  }
}
