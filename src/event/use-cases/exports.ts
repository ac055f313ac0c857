// Exports of audit events: read page by page while they are sent, two at once of a tenant.
import { noteOf } from '../../audit/note.ts';
import { auditActor } from '../../audit/record.ts';
import type { JsonObject } from '../../contract/record.ts';
import { requireRole } from '../../shared/access.ts';
import { actorName, type Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { StoredEvent } from '../record.ts';
import type { EventFilter } from '../rules/filter.ts';
import { eventGrammar } from '../rules/query/fields.ts';
import { narrowedByQuery } from '../rules/query/narrow.ts';
import { printQuery } from '../rules/query/print.ts';
import { eventsSeenBy } from './search.ts';

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

export function createEventExports(
  ports: Pick<AppPorts, 'admission' | 'store' | 'clock' | 'secrets'>,
): EventExports {
  const { store } = ports;
  const { admission } = ports;

  /** The export is recorded before its first event is sent. */
  async function* read(
    principal: Principal,
    visible: EventFilter,
  ): AsyncGenerator<readonly StoredEvent[], void, undefined> {
    const { tenantId, actor } = principal;
    const note = noteOf(ports, tenantId, auditActor(principal), {
      action: 'user.exported_events',
      subject: { id: auditActor(principal).id, name: actorName(actor) },
      summary: `${actorName(actor)} exported audit events.`,
      details: JSON.parse(JSON.stringify({ ...visible, ...textOf(visible) })) as JsonObject,
    });
    await store.audit.append([note]);
    const filter = narrowedByQuery(visible);
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
      const permit = admission.take(principal, 'eventExports');
      try {
        return {
          pages: read(principal, eventsSeenBy(principal, filter)),
          end: permit.release,
        };
      } catch (error) {
        permit.release();
        throw error;
      }
    },
  };
}
