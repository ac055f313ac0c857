// Exports of audit events: read page by page while they are sent, two at once of a tenant.
import { noteOf } from '../../audit/note.ts';
import { auditActor } from '../../audit/record.ts';
import type { JsonObject } from '../../contract/record.ts';
import { requireRole } from '../../shared/access.ts';
import { HubError } from '../../shared/error.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { StoredEvent } from '../record.ts';
import type { EventFilter } from '../rules/filter.ts';
import { eventGrammar } from '../rules/query/fields.ts';
import { narrowedByQuery } from '../rules/query/narrow.ts';
import { printQuery } from '../rules/query/print.ts';
import { eventsSeenBy } from './search.ts';

/** Exports of a tenant that run at once on a node: each reads on as long as its client does. */
const maxRunning = 2;
/** Events read at a time. */
const pageSize = 500;

export interface EventExport {
  /** Newest first. Events that arrive later are not among them. */
  readonly pages: AsyncIterable<readonly StoredEvent[]>;
  /** Gives the place back. To be called once, when nothing more is read. */
  readonly end: () => void;
}

export interface EventExports {
  /** @throws HubError forbidden; rate_limited while two of the tenant run */
  start(principal: Principal, filter: EventFilter): EventExport;
}

/** The query as people write it. */
const textOf = ({ query }: EventFilter) =>
  query === undefined ? {} : { query: printQuery(query, eventGrammar) };

export function createEventExports(ports: Pick<AppPorts, 'store' | 'clock' | 'secrets'>): EventExports {
  const { store } = ports;
  const running = new Map<string, number>();

  /** The export is recorded before its first event is sent. */
  async function* read(
    principal: Principal,
    filter: EventFilter,
  ): AsyncGenerator<readonly StoredEvent[], void, undefined> {
    const { tenantId, actor } = principal;
    const note = noteOf(ports, tenantId, auditActor(principal), {
      action: 'user.exported_events',
      subject: { id: auditActor(principal).id, name: actorName(actor) },
      summary: `${actorName(actor)} exported audit events.`,
      details: JSON.parse(JSON.stringify({ ...filter, ...textOf(filter) })) as JsonObject,
    });
    await store.audit.append([note]);
    let cursor: string | null = null;
    do {
      const page = await store.events.search(tenantId, filter, pageSize, cursor);
      yield page.events;
      cursor = page.next;
    } while (cursor !== null);
  }

  return {
    start(principal, filter) {
      requireRole(principal, 'viewer');
      const { tenantId } = principal;
      const before = running.get(tenantId) ?? 0;
      if (before >= maxRunning) {
        throw new HubError(
          'rate_limited',
          'Two exports are already running. Wait for one to end, then repeat.',
          {
            retryAfter: 5,
          },
        );
      }
      running.set(tenantId, before + 1);
      return {
        pages: read(principal, narrowedByQuery(eventsSeenBy(principal, filter))),
        end() {
          const left = (running.get(tenantId) ?? 1) - 1;
          if (left > 0) running.set(tenantId, left);
          else running.delete(tenantId);
        },
      };
    },
  };
}
