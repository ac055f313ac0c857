// A modern client before a modern server: requests pass, and changes come from one stream for all clients.

import type { Fields } from '../../fields.ts';
import { ChangeFeed } from './change-feed.ts';
import { Listens } from './listens.ts';
import type { Id, Message } from './message.ts';
import type { Translation, Wire } from './translation.ts';

export class ModernPassage implements Translation {
  readonly #wire: Wire;
  readonly #capabilities: Fields;
  readonly #listens: Listens;
  readonly #feed: ChangeFeed;

  /** @param meta of the proxy's own requests */
  constructor(wire: Wire, capabilities: Fields, meta: Fields) {
    this.#wire = wire;
    this.#capabilities = capabilities;
    this.#listens = new Listens(wire);
    this.#feed = new ChangeFeed(wire, capabilities, () => meta);
    this.#feed.open();
  }

  fromClient(message: Message): void {
    if (message.kind === 'request' && message.method === 'subscriptions/listen') {
      const before = this.#listens.uris.join();
      this.#listens.listen(message, this.#capabilities);
      return void this.#follow(before);
    }
    if (message.kind === 'notification' && message.method === 'notifications/cancelled') {
      const before = this.#listens.uris.join();
      if (this.#listens.cancel(message.params.requestId as Id)) return void this.#follow(before);
    }
    this.#wire.toServer(message);
  }

  fromServer(message: Message, related: Id | null): void {
    if (!this.#feed.take(message)) this.#wire.toClient(message, related);
  }

  restarted(): void {
    this.#feed.restarted();
  }

  close(): void {
    this.#feed.close();
  }

  #follow(before: string): void {
    const { uris } = this.#listens;
    if (uris.join() !== before) this.#feed.open(uris);
  }
}
