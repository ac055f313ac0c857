// Searches of approvals by a query: the list, newest first, a portion at a time, as long as there is time.
import type { Query } from '../../event/rules/query/parse.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { ApprovalFilter } from '../port.ts';
import { type Approval, maxInlineArgs } from '../record.ts';
import { type ApprovalViewer, approvalQueryTest, filtersOfQuery } from '../rules/query.ts';
import type { Approvals } from '../use-cases.ts';

export interface ApprovalMatches {
  /** Newest first. */
  readonly items: readonly Approval[];
  /** The last approval that was looked at, where more follow; null at the end. */
  readonly next: Pick<Approval, 'createdAt' | 'id'> | null;
}

export interface ApprovalSearches {
  /**
   * A page of matching approvals, also a short or empty one once the time is over.
   * @param after the page begins behind this approval
   * @throws HubError forbidden, search_timeout
   */
  page(
    principal: Principal,
    query: Query,
    filter: ApprovalFilter,
    limit: number,
    after: Pick<Approval, 'createdAt' | 'id'> | null,
  ): Promise<ApprovalMatches>;
}

const portion = 500;
/** Milliseconds for a page. */
const budgetMs = 1_000;

export function createApprovalSearches({
  store,
  clock,
  approvals,
}: Pick<AppPorts, 'store' | 'clock'> & { readonly approvals: Pick<Approvals, 'list'> }): ApprovalSearches {
  /** With its arguments, where they are kept apart. */
  async function whole(approval: Approval): Promise<Approval> {
    if (approval.argsBytes <= maxInlineArgs) return approval;
    const stored = await store.approvals.getWhole(approval.tenantId, approval.id);
    return { ...approval, toolArgs: stored?.toolArgs ?? null };
  }

  return {
    async page(principal, query, filter, limit, after) {
      const test = approvalQueryTest(query);
      const { actor } = principal;
      const reader: ApprovalViewer = { personId: actor.kind === 'user' ? actor.id : '', now: clock.now() };
      const implied = filtersOfQuery(query);
      const narrowed = { ...implied, ...filter, env: filter.env ?? implied.env ?? null };
      const began = clock.monotonic();
      const items: Approval[] = [];
      let last = after;
      for (;;) {
        const request = { limit: portion, offset: 0, ...(last ? { after: last } : {}) };
        const { items: read, more, visible } = await approvals.list(principal, narrowed, request);
        const currentById = new Map(visible.map((approval) => [approval.id, approval]));
        for (const [i, listed] of read.entries()) {
          last = listed;
          const current = currentById.get(listed.id);
          if (!current || !test.fitsRecord(current, reader)) continue;
          if (!test.fits(test.needsArguments ? await whole(current) : current, reader)) continue;
          items.push(current);
          if (items.length === limit) return { items, next: more || i + 1 < read.length ? last : null };
          if (clock.monotonic() - began > budgetMs) return { items, next: last };
        }
        if (!more) return { items, next: null };
        if (clock.monotonic() - began > budgetMs) return { items, next: last };
      }
    },
  };
}
