// Searches of approvals by a query: a list in its order, a portion at a time, as long as there is time.
import type { Query } from '../../event/rules/query/parse.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { ApprovalFilter, DeadlinePlace } from '../port.ts';
import { type Approval, maxInlineArgs } from '../record.ts';
import { type ApprovalViewer, approvalQueryTest, filtersOfQuery } from '../rules/query.ts';
import type { ApprovalPage, Approvals } from '../use-cases.ts';

export interface ApprovalMatches {
  /** In the order of the list. */
  readonly items: readonly Approval[];
  /** The last approval that was looked at, where more follow; null at the end. */
  readonly next: Pick<Approval, 'createdAt' | 'deadline' | 'id'> | null;
}

/** A page of at most `limit` approvals of the filter. */
export interface ApprovalSearch<Place> {
  readonly query: Query;
  readonly filter: ApprovalFilter;
  readonly limit: number;
  /** The page begins behind this place; undefined: at the beginning of the list. */
  readonly after: Place | undefined;
}

/** Pages of matching approvals, also short or empty ones once the time is over. */
export interface ApprovalSearches {
  /** Newest first. @throws HubError forbidden, search_timeout */
  search(
    principal: Principal,
    search: ApprovalSearch<Pick<Approval, 'createdAt' | 'id'>>,
  ): Promise<ApprovalMatches>;
  /** Pending ones alone, the first to expire first. @throws HubError forbidden, search_timeout */
  searchPending(principal: Principal, search: ApprovalSearch<DeadlinePlace>): Promise<ApprovalMatches>;
}

const portion = 500;
/** Milliseconds for a page. */
const budgetMs = 1_000;

/** Reads the part of the list behind an approval; without one, the first part of the page. */
type ReadPart = (filter: ApprovalFilter, last: Approval | undefined) => Promise<ApprovalPage>;

export function createApprovalSearches({
  store,
  clock,
  approvals,
}: Pick<AppPorts, 'store' | 'clock'> & {
  readonly approvals: Pick<Approvals, 'list' | 'listPending'>;
}): ApprovalSearches {
  /** With its arguments, where they are kept apart. */
  async function whole(approval: Approval): Promise<Approval> {
    if (approval.argsBytes <= maxInlineArgs) return approval;
    const stored = await store.approvals.getWhole(approval.tenantId, approval.id);
    return { ...approval, toolArgs: stored?.toolArgs ?? null };
  }

  async function search(
    { actor }: Principal,
    { query, filter, limit }: Omit<ApprovalSearch<unknown>, 'after'>,
    read: ReadPart,
  ): Promise<ApprovalMatches> {
    const test = approvalQueryTest(query);
    const reader: ApprovalViewer = { personId: actor.kind === 'user' ? actor.id : '', now: clock.now() };
    const implied = filtersOfQuery(query);
    const narrowed = { ...implied, ...filter, env: filter.env ?? implied.env ?? null };
    const began = clock.monotonic();
    const isLate = (): boolean => clock.monotonic() - began > budgetMs;
    const items: Approval[] = [];
    let last: Approval | undefined;
    for (;;) {
      const { items: part, more, visible } = await read(narrowed, last);
      const currentById = new Map(visible.map((approval) => [approval.id, approval]));
      for (const [i, listed] of part.entries()) {
        last = listed;
        const current = currentById.get(listed.id);
        if (!current || !test.fitsRecord(current, reader)) continue;
        if (!test.fits(test.needsArguments ? await whole(current) : current, reader)) continue;
        items.push(current);
        if (items.length === limit) return { items, next: more || i + 1 < part.length ? last : null };
        if (isLate()) return { items, next: last };
      }
      if (!more || !last) return { items, next: null };
      if (isLate()) return { items, next: last };
    }
  }

  const pageBehind = <Place>(after: Place | undefined) => ({
    limit: portion,
    offset: 0,
    ...omitUndefined({ after }),
  });
  return {
    search: (principal, request) =>
      search(principal, request, (filter, last) =>
        approvals.list(principal, filter, pageBehind(last ?? request.after)),
      ),
    searchPending: (principal, request) =>
      search(principal, request, ({ status: _, ...filter }, last) =>
        approvals.listPending(principal, filter, pageBehind(last ?? request.after)),
      ),
  };
}
