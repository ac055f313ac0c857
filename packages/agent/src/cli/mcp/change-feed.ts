// Changes that a modern server sends on a stream of their own (`subscriptions/listen`), kept open for all clients.
import type { Timer } from '../../clock.ts';
import { type Fields, fieldsOf, without } from '../../fields.ts';
import { subscriptionKey } from './era.ts';
import { codes, type Message } from './message.ts';
import { notification, request, type Wire } from './translation.ts';

const firstWait = 1000;
const longestWait = 30_000;

const lists = ['tools', 'prompts', 'resources'] as const;

export class ChangeFeed {
  readonly #wire: Wire;
  readonly #capabilities: Fields;
  readonly #meta: () => Fields;
  #uris: readonly string[] = [];
  #opens = 0;
  #isOpen = false;
  #wait = firstWait;
  #timer: Timer | null = null;

  /** @param meta of the proxy's own requests */
  constructor(wire: Wire, capabilities: Fields, meta: () => Fields) {
    this.#wire = wire;
    this.#capabilities = capabilities;
    this.#meta = meta;
  }

  get #id(): string {
    return `reeve:listen:${this.#opens}`;
  }

  /** Opens the stream again, for these resources and all lists that the server announces. */
  open(uris: readonly string[] = this.#uris): void {
    this.#uris = uris;
    this.#timer?.cancel();
    if (this.#isOpen) {
      this.#wire.toServer(notification('notifications/cancelled', { requestId: this.#id }));
      this.#isOpen = false;
    }
    const filter: { [name: string]: unknown } = {};
    for (const list of lists) {
      if (fieldsOf(this.#capabilities[list]).listChanged === true) filter[`${list}ListChanged`] = true;
    }
    const subscribes = fieldsOf(this.#capabilities.resources).subscribe === true;
    if (uris.length > 0 && subscribes) filter.resourceSubscriptions = uris;
    if (Object.keys(filter).length === 0) return;
    this.#opens += 1;
    this.#isOpen = true;
    this.#wire.toServer(
      request(this.#id, 'subscriptions/listen', { notifications: filter, _meta: this.#meta() }),
    );
  }

  /** True when the message belongs to the stream. A change goes to the client as one of no request. */
  take(message: Message): boolean {
    if (message.kind === 'response') {
      if (!String(message.id).startsWith('reeve:listen:')) return false;
      if (message.id === this.#id && this.#isOpen) this.#ended(message.error?.code === codes.method);
      return true;
    }
    const meta = fieldsOf(message.params._meta);
    if (!String(meta[subscriptionKey]).startsWith('reeve:listen:')) return false;
    if (message.method === 'notifications/subscriptions/acknowledged') {
      this.#wait = firstWait;
      return true;
    }
    const { _meta, ...params } = message.params;
    const others = without(meta, subscriptionKey);
    const kept = Object.keys(others).length > 0 ? { ...params, _meta: others } : params;
    this.#wire.toClient(notification(message.method, kept), null);
    return true;
  }

  /** The server was started again: nothing of the stream is left. */
  restarted(): void {
    this.#isOpen = false;
    this.open();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #ended(isForever: boolean): void {
    this.#isOpen = false;
    if (isForever) return;
    this.#timer = this.#wire.clock.after(this.#wait, () => this.open());
    this.#wait = Math.min(longestWait, this.#wait * 2);
  }
}
