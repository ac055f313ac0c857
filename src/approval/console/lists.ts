// Lists of approvals in the console API: all of them newest first, and pending ones with the first to expire first.
import type { z } from 'zod';
import { approvalGrammar } from '../../event/rules/query/fields.ts';
import { type Caller, List } from '../../http/contract/call.ts';
import { type CursorScope, openCursor, sealCursor } from '../../http/contract/cursor.ts';
import type { Hub } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { validationFailed } from '../../http/contract/validation.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { Approval } from '../record.ts';
import type { ApprovalMatches, ApprovalSearch } from '../use-cases/search.ts';
import type { ApprovalPage, Approvals } from '../use-cases.ts';
import { creationCursor, deadlineCursor, readCreation, readDeadline } from './cursors.ts';
import { renderForPeople } from './render.ts';
import type { approvalRoutes } from './routes.ts';

type UserCaller = Extract<Caller, { kind: 'user' }>;
type ListQuery = z.output<typeof approvalRoutes.listApprovals.query>;
type CursorPlace = Pick<Approval, 'createdAt' | 'deadline' | 'id'>;

/** A list in one order: the scope of its cursors, and their text. */
interface ListOrder {
  readonly list: CursorScope['list'] & `approvals${string}`;
  readonly cursorOf: (place: CursorPlace) => string;
}
const newestFirst: ListOrder = { list: 'approvals', cursorOf: creationCursor };
const byDeadline: ListOrder = { list: 'approvals_pending', cursorOf: deadlineCursor };

/** The request for a list, with what all lists need of it. */
interface ListRequest {
  readonly hub: Hub;
  readonly query: ListQuery;
  readonly caller: UserCaller;
  readonly filter: Parameters<Approvals['list']>[1];
}

export function listApprovals(hub: Hub, query: ListQuery, caller: UserCaller) {
  const { env, agent_id: agentId, status, since, until, search, sort } = query;
  const filter = { env: env ?? null, ...omitUndefined({ status, agentId, since, until, search }) };
  const request = { hub, query, caller, filter };
  if (query.group !== undefined) return listMembers(request, query.group);
  return sort === 'expires_at' ? listByDeadline(request) : listNewest(request);
}

function listNewest(request: ListRequest) {
  const { hub, caller, filter } = request;
  const principal = principalOf(caller);
  return listPage(request, {
    order: newestFirst,
    placeIn: readCreation,
    search: (search) => hub.app.approvalSearches.search(principal, search),
    page: (page) => hub.app.approvals.list(principal, filter, page),
  });
}

/** @throws HubError validation_failed for another status than `pending` */
async function listByDeadline(request: ListRequest) {
  const { status, ...filter } = request.filter;
  if (status !== undefined && status !== 'pending') {
    throw validationFailed([
      { loc: ['query', 'status'], msg: 'must be pending or absent with sort=expires_at' },
    ]);
  }
  const { hub, caller } = request;
  const principal = principalOf(caller);
  return listPage(
    { ...request, filter },
    {
      order: byDeadline,
      placeIn: readDeadline,
      search: (search) => hub.app.approvalSearches.searchPending(principal, search),
      page: (page) => hub.app.approvals.listPending(principal, filter, page),
    },
  );
}

/** The parts that the two orders of a list read differently. */
interface ListReads<Place> {
  readonly order: ListOrder;
  readonly placeIn: (cursor: string) => Place;
  readonly search: (search: ApprovalSearch<Place>) => Promise<ApprovalMatches>;
  readonly page: (page: {
    readonly limit: number;
    readonly offset: number;
    readonly after?: Place;
  }) => Promise<ApprovalPage>;
}

async function listPage<Place>(
  { hub, query, caller, filter }: ListRequest,
  { order, placeIn, search, page }: ListReads<Place>,
) {
  const cursor = openListCursor(hub, caller, order, query.cursor);
  const after = cursor === undefined ? undefined : placeIn(cursor);
  const { limit, offset, q } = query;
  if (q === undefined) {
    const start = after === undefined ? {} : { after };
    return pageList(hub, caller, order, query, await page({ limit, offset, ...start }));
  }
  const terms = await hub.app.eventSearches.read(principalOf(caller), q, approvalGrammar);
  return matchList(hub, caller, order, limit, await search({ query: terms, filter, limit, after }));
}

async function listMembers({ hub, query, caller, filter: { env } }: ListRequest, key: string) {
  const cursor = openListCursor(hub, caller, byDeadline, query.cursor);
  const after = cursor === undefined ? undefined : readDeadline(cursor);
  const { limit } = query;
  const request = { key, env, limit, after };
  const members = await hub.app.approvalGroups.listMembers(principalOf(caller), request);
  return matchList(hub, caller, byDeadline, limit, members);
}

const scopeOf = ({ tenantId }: UserCaller, { list }: ListOrder): CursorScope => ({ tenantId, list });

const openListCursor = (hub: Hub, caller: UserCaller, order: ListOrder, cursor: string | undefined) =>
  cursor === undefined ? undefined : openCursor(hub, scopeOf(caller, order), cursor);

/** The list of a search. An answer that is too large for all of them goes on behind the last one that it contains. */
function matchList(
  hub: Hub,
  caller: UserCaller,
  order: ListOrder,
  limit: number,
  { items, next }: ApprovalMatches,
) {
  const now = hub.clock.now();
  const cursorOf = (place: CursorPlace) => ({
    cursor: sealCursor(hub, scopeOf(caller, order), order.cursorOf(place)),
    limit,
    offset: 0,
  });
  return new List(
    items.map((item) => renderForPeople(item, now)),
    (sent) => {
      const last = sent < items.length ? items[sent - 1] : next;
      return last ? cursorOf(last) : null;
    },
  );
}

/** The list of a page of the store. */
function pageList(
  hub: Hub,
  caller: UserCaller,
  order: ListOrder,
  { limit, offset, cursor }: ListQuery,
  { items, more, places, visible }: ApprovalPage,
) {
  const now = hub.clock.now();
  return new List(
    visible.map((one) => renderForPeople(one, now)),
    (sent) => {
      const next = places[sent] ?? items.length;
      if (next >= items.length && !more) return null;
      // A client that pages by offset continues by offset. New approvals shift offsets, but not cursors.
      if (offset > 0 && cursor === undefined) return { offset: offset + next };
      const last = items[next - 1];
      if (!last) return null;
      return { cursor: sealCursor(hub, scopeOf(caller, order), order.cursorOf(last)), limit, offset: 0 };
    },
  );
}
