// The stream of decision events: what is stored, as it is stored, in the words of GET /v1/events. Owns no socket.

import type { RulesetVersionKey } from '../../bundle/record.ts';
import { renderEvent } from '../../event/hosted/event.ts';
import { filterOf } from '../../event/hosted/handlers.ts';
import { policyVersionOf, type StoredEvent } from '../../event/record.ts';
import { fits } from '../../event/use-cases/tail.ts';
import type { Hub } from '../../http/contract/handler.ts';
import { listedText } from '../../http/contract/listed.ts';
import type { EventSource, History, StreamHandlers } from '../../http/contract/stream.ts';
import { listedEnvs } from '../../shared/access.ts';
import { type Audience, eventsOf, type Frame, tenantOfEvents } from '../../shared/frame.ts';
import { environments } from '../../shared/ids.ts';
import type { HostedStreamQuery } from './hosted-stream-routes.ts';

/** A place among the events, as clients send it back. */
const place = /^\d{1,16}$/;

export const eventStreams = (
  hub: Hub,
): Pick<StreamHandlers, 'admitEvents'> & { readonly events: EventSource } => ({
  events: {
    history: (audience, place, max) => historyOf(hub, audience, tenantIn(audience), place, max),
    async follow(audience, deliver, lost = () => {}) {
      const tenantId = tenantIn(audience);
      const following = await hub.app.eventTail.follow(tenantId, {
        async take(events) {
          for (const placed of await framesOf(hub, audience, tenantId, events)) await deliver(placed);
        },
        lost: (seq) => lost(String(seq)),
      });
      return { position: String(following.seq), stop: following.stop };
    },
  },

  async admitEvents(caller, query) {
    const { tenantId } = caller;
    const audience = eventsOf(tenantId);
    const streamFilter = filterOf(query as HostedStreamQuery<'hostedEventStream'>, caller);
    const filter =
      streamFilter && caller.kind !== 'hostedKey'
        ? { ...streamFilter, env: listedEnvs({ env: null, envRoles: caller.roles }, streamFilter.env) }
        : streamFilter;
    return {
      caller:
        caller.kind === 'hostedKey' ? { ...caller, kind: 'key', env: caller.env ?? 'production' } : caller,
      admitted: {
        audience,
        agentId: null,
        bundleName: null,
        pinned: true,
        skips: ({ event }) => event !== undefined && (filter === null || !fits(filter, event)),
        history: (lastEventId) => historyAfter(hub, audience, tenantId, lastEventId),
        catchUp: async () => [],
        announce: async () => {},
        closed: () => {},
      },
    };
  },
});

const framesOf = (hub: Hub, audience: Audience, tenantId: string, events: readonly StoredEvent[]) =>
  Promise.all(
    events.map(async (event) => {
      const env = environments.find((one) => one === event.env) ?? 'production';
      const ruleset = await hub.app.runs.names.resolve(tenantId, env, policyVersionOf(event));
      return { position: String(event.seq), frame: new EventFrame(audience, event, ruleset) };
    }),
  );

function historyOf(hub: Hub, audience: Audience, tenantId: string, seq: number, max?: number): History {
  const missed = hub.app.eventTail.missed(tenantId, seq, max);
  return {
    async next() {
      const page = await missed.next();
      if (page === 'gone') return page;
      return { frames: await framesOf(hub, audience, tenantId, page.events), more: page.more };
    },
    again: () => missed.again(),
  };
}

function historyAfter(hub: Hub, audience: Audience, tenantId: string, lastEventId: string): History {
  const seq = place.test(lastEventId) ? Number(lastEventId) : Number.NaN;
  if (!Number.isSafeInteger(seq)) return { next: async () => 'gone', again: async () => {} };
  return historyOf(hub, audience, tenantId, seq);
}

function tenantIn(audience: Audience): string {
  const tenantId = tenantOfEvents(audience);
  if (tenantId === null) throw new Error(`${audience} does not follow events`);
  return tenantId;
}

/** A decision event on its way to those who follow: written once, when somebody wants it. */
class EventFrame implements Frame {
  readonly audience: Audience;
  readonly type = '';
  readonly event: StoredEvent;
  readonly #ruleset: RulesetVersionKey | null;
  #json: Buffer | null = null;

  constructor(audience: Audience, event: StoredEvent, ruleset: RulesetVersionKey | null) {
    this.audience = audience;
    this.event = event;
    this.#ruleset = ruleset;
  }

  get json(): Uint8Array {
    this.#json ??= Buffer.from(listedText(renderEvent(this.event, this.#ruleset)));
    return this.#json;
  }
}
