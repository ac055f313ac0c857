// Timeline of an agent in the range, on one axis: its streams, its documents, its calls and its approvals.
import { type JSX, useEffect, useMemo } from 'react';
import { displayWord } from '../../../../packages/agent/src/rules/state-words.ts';
import { minuteMs } from '../../../shared/duration.ts';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { rangeOf } from '../../lib/moving-range.ts';
import { usePrefs } from '../../lib/prefs.ts';
import { readOn, usePageRows, usePages } from '../../lib/query.ts';
import { fixedRange, type Span, spanOf } from '../../lib/range.ts';
import { type Env as EnvName, useEnv, useFilters } from '../../lib/search.ts';
import { count, counted, middleCut, minuteTime, visible } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { countText, type Slot, type Track } from '../../ui/chart.ts';
import { type Bar, countWords, groupBars, Lane, Lanes } from '../../ui/lanes.tsx';
import { Env } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { sumOf } from '../../ui/ribbon.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { TimeChart } from '../../ui/time-chart.tsx';
import { chartAxisOf } from '../events/filters.ts';
import { bucketsOfReply } from '../events/sample-events.ts';
import { useHistogram } from '../events/use-histogram.ts';

const lookMs = 15_000;
const pageSize = 500;
/** The newest in the range. The page names the cut. */
const maxApprovals = 2_000;

export function AgentTimeline({ id }: { readonly id: string }): JSX.Element {
  const [search] = useFilters();
  const env = useEnv();
  const { utc } = usePrefs();
  const span = spanOf(search, useNow(minuteMs));
  const axis = chartAxisOf(span);
  const timelineQuery = usePages(
    'agentTimeline',
    { params: { agent_id: id }, query: { limit: pageSize, ...(env ? { env } : {}) } },
    { moving: rangeOf(search), ...(span.open ? { refetchMs: lookMs } : {}) },
  );
  const approvals = usePageRows(timelineQuery, ({ reply }) => reply.approvals);
  const isCut = timelineQuery.hasNextPage && approvals.length >= maxApprovals;
  useEffect(() => {
    if (approvals.length < maxApprovals) readOn(timelineQuery);
  });
  const at = (time: number): string => minuteTime(time, utc);
  const period = (from: number, to: number | null): string =>
    `${at(from)} to ${to === null ? 'now' : at(to)}`;
  const approvalItems = approvals.map(({ from, to, ...one }) => ({
    ...one,
    status: displayWord(one.status),
    from: Date.parse(from),
    to: to === null ? null : Date.parse(to),
  }));
  /** A group leads to its minutes, which part it. In a range of no more than these it leads to the approval. */
  const linkOf = (group: readonly { readonly from: number }[], approval: string): Bar['link'] => {
    const times = group.map(({ from }) => from);
    const from = Math.floor(Math.min(...times) / minuteMs) * minuteMs;
    const until = (Math.floor(Math.max(...times) / minuteMs) + 1) * minuteMs;
    if (until - from >= axis.until - axis.from) return linkTo.approval(approval);
    return { to: '.', search: { ...search, ...fixedRange({ from, until }) } as never };
  };
  return (
    <QuerySection title="Timeline" label query={timelineQuery} rows={3}>
      {({ pages: [first] }) => (
        <>
          {env === undefined && first?.reply.env && (
            <p className="muted">
              In <Env name={first.reply.env} />
            </p>
          )}
          <Lanes>
            <Lane
              name="Streams"
              axis={axis}
              bars={(first?.reply.streams ?? []).map((stream) => streamBar(stream, period))}
            />
            <Lane
              name="Documents"
              axis={axis}
              bars={(first?.reply.documents ?? []).map((document) => documentBar(document, at))}
            />
            <div className="lane-chart">
              <dt className="heard">Calls</dt>
              <dd>
                <Calls
                  id={id}
                  env={env ?? first?.reply.env ?? undefined}
                  span={span}
                  documents={first?.reply.documents ?? []}
                />
              </dd>
            </div>
            <Lane
              name="Approvals"
              axis={axis}
              bars={groupBars(approvalItems, axis, (group, { from, to }): Bar => {
                const [{ id: key }] = group;
                const statuses = group.map(({ status }) => status);
                const isOne = group.length === 1;
                return {
                  key,
                  ...{ from, to },
                  words: isOne
                    ? `Approval ${statuses.join('')}, ${period(from, to)}`
                    : `${counted(group.length, 'approval')}: ${countWords(statuses)}, ${period(from, to)}`,
                  tone: toneOf(statuses),
                  link: isOne ? linkTo.approval(key) : linkOf(group, key),
                };
              })}
            >
              {isCut && (
                <p className="muted">
                  Newest {count(approvals.length)} approvals of this range. For earlier ones, choose a shorter
                  range.
                </p>
              )}
            </Lane>
          </Lanes>
        </>
      )}
    </QuerySection>
  );
}

type Timeline = Reply<'agentTimeline'>;

function streamBar(
  stream: Timeline['streams'][number],
  period: (from: number, to: number | null) => string,
): Bar {
  const from = Date.parse(stream.from);
  const to = stream.to === null ? null : Date.parse(stream.to);
  const transport = stream.transport ? ` by ${stream.transport}` : '';
  const words = `Connected${transport}, ${period(from, to)}${stream.is_end_estimated ? ' at the latest' : ''}`;
  return { key: `${stream.from} ${stream.to}`, from, to, words, tone: 'plain' };
}

function documentBar(document: Timeline['documents'][number], at: (time: number) => string): Bar {
  const from = Date.parse(document.at);
  const { kind, version, bundle_name: name } = document;
  return {
    key: `${document.at} ${kind} ${name}`,
    ...{ from, to: from },
    words: `${at(from)} ${middleCut(visible(name), 60)} v${version} ${kind}`,
    label: `v${version}`,
    tone: kind === 'undeployed' ? 'unknown' : kind === 'running' ? 'allow' : 'drift',
  };
}

const toneOf = (statuses: readonly string[]): string =>
  statuses.every((status) => status === 'approved') ? 'allow' : statuses.includes('denied') ? 'deny' : 'ask';

const tracks: readonly Track[] = [
  { key: 'calls', label: 'calls', color: '--line-strong', text: countText },
  { key: 'denied', label: 'denied', icon: 'slash', color: '--bar-deny', text: countText },
  { key: 'asked', label: 'asked', icon: 'diamond', text: countText },
  { key: 'would_deny', label: 'would deny', icon: 'ring', text: countText },
];

/** The calls of the agent, with a line for each change of its document. A selected range becomes that of the page. */
function Calls({
  id,
  env,
  span,
  documents,
}: {
  readonly id: string;
  readonly env: EnvName | undefined;
  readonly span: Span;
  readonly documents: readonly { readonly at: string }[];
}): JSX.Element {
  const [, change] = useFilters();
  const { from, until, bucketMs: slotMs } = chartAxisOf(span);
  const histogramQuery = useHistogram({ agent_id: id, ...(env ? { env } : {}) }, span);
  const slots = useMemo(
    () =>
      bucketsOfReply(histogramQuery.data ?? []).map(
        (bucket): Slot => ({
          at: bucket.at,
          values: [sumOf(bucket), bucket.denied, bucket.asked, bucket.would_deny],
        }),
      ),
    [histogramQuery.data],
  );
  const marks = useMemo(() => documents.map(({ at }) => Date.parse(at)), [documents]);
  const chart = (isPending: boolean): JSX.Element => (
    <TimeChart
      title="Calls over time"
      shape="lanes"
      tracks={tracks}
      slots={slots}
      absent={0}
      sums={tracks.map((_, track) => slots.reduce((sum, { values }) => sum + (values[track] ?? 0), 0))}
      marks={marks}
      isPending={isPending}
      onRange={(since, to) => change(fixedRange({ from: since, until: to }))}
      {...{ from, until, slotMs }}
    />
  );
  return (
    <QueryResult query={histogramQuery} placeholder={chart(true)}>
      {() => chart(false)}
    </QueryResult>
  );
}
