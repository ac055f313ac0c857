// Open requests `subscriptions/listen` of modern clients, which the proxy acknowledges.

import { type Fields, fieldsOf } from '../../fields.ts';
import { subscriptionKey } from './era.ts';
import { codes, failureOf, type Id, type Request } from './message.ts';
import { notification, type Wire } from './translation.ts';

/** Resources that one client may await changes of. */
const maxUris = 1000;

export class Listens {
  readonly #wire: Wire;
  /** Resources by open request. */
  readonly #uris = new Map<Id, readonly string[]>();

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /** @param capabilities of the server: every list that it has may change behind a proxy */
  listen({ id, params }: Request, capabilities: Fields): void {
    const { notifications } = params;
    if (typeof notifications !== 'object' || notifications === null) {
      const reason = 'subscriptions/listen needs the member notifications';
      return void this.#wire.toClient(failureOf(id, codes.params, reason), id);
    }
    const sent = fieldsOf(notifications);
    const honored: { [name: string]: unknown } = {};
    for (const list of ['tools', 'prompts', 'resources']) {
      if (sent[`${list}ListChanged`] === true && capabilities[list] !== undefined)
        honored[`${list}ListChanged`] = true;
    }
    const subscribes = fieldsOf(capabilities.resources).subscribe === true;
    const { resourceSubscriptions } = sent;
    const uris = (Array.isArray(resourceSubscriptions) && subscribes ? resourceSubscriptions : [])
      .filter((uri): uri is string => typeof uri === 'string')
      .slice(0, maxUris);
    if (uris.length > 0) honored.resourceSubscriptions = uris;
    this.#uris.set(id, uris);
    const acknowledged = { notifications: honored, _meta: { [subscriptionKey]: id } };
    this.#wire.toClient(notification('notifications/subscriptions/acknowledged', acknowledged), id);
  }

  /** True when the request was one of these. */
  cancel(id: Id): boolean {
    return this.#uris.delete(id);
  }

  /** Resources that a client awaits changes of, each once. */
  get uris(): readonly string[] {
    return [...new Set([...this.#uris.values()].flat())];
  }
}
