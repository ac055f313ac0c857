// Runs that were active in the range of the page. The route lists the latest activity first and has no range, so pages
// load until they are older than it. A long list loads no further by itself: each change of the figures reads all of it
// again.
import { type JSX, type ReactNode, useEffect, useState } from 'react';
import { minuteMs } from '../../../shared/duration.ts';
import type { HostedInput } from '../../lib/hosted.ts';
import { byCursor, useHostedPages } from '../../lib/hosted-query.ts';
import { readOn, usePageRows } from '../../lib/query.ts';
import { spanOf } from '../../lib/range.ts';
import { useFilters } from '../../lib/search.ts';
import { count, counted, loadedText } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { Button, Empty } from '../../ui/parts.tsx';
import { isInRange, type Run } from './run.ts';

/** Pages without a run of the range that load by themselves. Then a press on a button reads on. */
const maxEmptyPages = 10;

/** Runs that load by themselves, those of other ranges included. */
const maxRuns = 2_000;

/** Number of the last pages without a run that is visible. */
const emptyPages = (pages: readonly { readonly runs: readonly Run[] }[], visible: readonly Run[]): number => {
  const visibleRuns = new Set(visible);
  const last = pages.findLastIndex(({ runs }) => runs.some((run) => visibleRuns.has(run)));
  return pages.length - 1 - last;
};

/**
 * @param enabled false requests nothing
 * @returns the pages, with `hasNextPage` false where only a press on a button reads on; that button; the runs of the
 *   range; the text of the bar above them; and the text in place of no runs while older ones are not searched
 */
export function useRunsInRange(
  filters: NonNullable<HostedInput['query']>,
  env: string | undefined,
  enabled = true,
) {
  const [search] = useFilters();
  const query = { limit: 100, ...filters };
  const runsQuery = useHostedPages('hostedListRuns', { query }, byCursor, { enabled });
  const loaded = usePageRows(runsQuery, ({ runs }) => runs);
  const span = spanOf(search, useNow(minuteMs));
  const rows = loaded.filter((run) => isInRange(run, span, env));
  const pages = runsQuery.data?.pages ?? [];
  const isPastRange = Date.parse(loaded.at(-1)?.last_activity_at ?? '') < span.from;
  const mayHaveMore = runsQuery.hasNextPage && !isPastRange;
  const question = JSON.stringify([filters, env, search.from, search.to]);
  const [permitted, setPermitted] = useState({ question, pages: 0 });
  const permittedPages = permitted.question === question ? permitted.pages : 0;
  const isLong = loaded.length >= maxRuns || emptyPages(pages, rows) >= maxEmptyPages;
  const isPaused = mayHaveMore && isLong && pages.length >= permittedPages;
  const hasNextPage = mayHaveMore && !isPaused;
  // A press reads on by itself: the end of a long list may be far from the screen.
  useEffect(() => {
    if (pages.length < permittedPages) readOn({ ...runsQuery, hasNextPage });
  });
  const further = isPaused ? (
    <Button onClick={() => setPermitted({ question, pages: pages.length + maxEmptyPages })}>
      Search further
    </Button>
  ) : null;
  const bar: ReactNode = isPaused ? (
    <span className="muted">
      {counted(rows.length, 'run')} of this range among the newest {count(loaded.length)} {further}
    </span>
  ) : (
    loadedText(rows.length, 'run', hasNextPage)
  );
  const cutOff: JSX.Element | null = isPaused ? (
    <Empty
      title={`No run of this range among the newest ${count(loaded.length)}`}
      text="Older runs are not searched yet."
    >
      {further}
    </Empty>
  ) : null;
  return { query: { ...runsQuery, hasNextPage }, total: pages[0]?.total ?? null, rows, bar, cutOff, further };
}
