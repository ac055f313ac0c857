// The lanes of a run on one axis: its calls, and each run that it started.
import { type JSX, useEffect } from 'react';
import { displayWord } from '../../../../packages/agent/src/rules/state-words.ts';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { readOn, usePageRows, usePages } from '../../lib/query.ts';
import { count, counted, duration, milliseconds, visible } from '../../lib/text.ts';
import { type Bar, countWords, groupBars, Lane, Lanes } from '../../ui/lanes.tsx';
import { NameLink } from '../../ui/names.tsx';
import { Name, PreciseTime } from '../../ui/parts.tsx';
import { QuerySection } from '../../ui/section.tsx';
import type { Run } from './run.ts';

type Call = Reply<'runTimeline'>['calls'][number];

const pageSize = 1_000;
/** The first of a run. A page may have few of them, so the pages are bounded too. The page names the cut. */
const [maxCalls, maxPages] = [2_000, 4];
/** The hub's limit. */
const maxChildren = 50;

/** The most severe first. */
const tones: readonly (readonly [Call['verdict'], string])[] = [
  ['denied', 'deny'],
  ['asked', 'ask'],
  ['would_deny', 'observe'],
  ['allowed', 'allow'],
];

export function RunLanes({ run }: { readonly run: Run }): JSX.Element {
  const params = { agent_id: run.agent_id, session_id: run.session_id };
  const timelineQuery = usePages('runTimeline', { params, query: { limit: pageSize } });
  const calls = usePageRows(timelineQuery, ({ reply }) => reply.calls);
  const children = usePageRows(timelineQuery, ({ reply }) => reply.children);
  const isFull = calls.length >= maxCalls || (timelineQuery.data?.pages.length ?? 0) >= maxPages;
  useEffect(() => {
    if (!isFull) readOn(timelineQuery);
  });
  const isCut = timelineQuery.hasNextPage && isFull;
  const items = calls.map((call) => {
    const from = Date.parse(call.at);
    return { ...call, from, to: from + (call.duration_ms ?? 0) };
  });
  const periods = children.map(({ started_at: start, last_activity_at: last }) => ({
    from: Date.parse(start),
    to: Date.parse(last),
  }));
  const ends = [
    { from: Date.parse(run.started_at), to: Date.parse(run.last_activity_at) },
    ...periods,
    ...items,
  ];
  const axis = {
    from: ends.reduce((min, { from }) => Math.min(min, from), Number.POSITIVE_INFINITY),
    until: ends.reduce((max, { to }) => Math.max(max, to), 0),
  };
  const since = (at: number): string => `+${duration(Math.max(0, at - axis.from))}`;
  return (
    <QuerySection title="Timeline" label query={timelineQuery} rows={2}>
      {() => (
        <>
          <Lanes
            isWide
            foot={[<PreciseTime key="from" at={new Date(axis.from).toISOString()} />, since(axis.until)]}
          >
            <Lane
              name={counted(calls.length, 'call')}
              axis={axis}
              none={isCut ? 'None on the first pages' : 'None yet'}
              bars={groupBars(items, axis, (group, { from, to }): Bar => {
                const [first] = group;
                const verdicts = group.map(({ verdict }) => verdict);
                const took = first.duration_ms === null ? '' : `, took ${milliseconds(first.duration_ms)}`;
                return {
                  key: first.event_id,
                  ...{ from, to },
                  words:
                    group.length === 1
                      ? `${visible(first.tool_name).slice(0, 80)} ${displayWord(first.verdict)}, ${since(from)}${took}`
                      : `${counted(group.length, 'call')}: ${countWords(verdicts.map(displayWord))}, from ${since(from)}`,
                  tone: tones.find(([verdict]) => verdicts.includes(verdict))?.[1] ?? 'plain',
                };
              })}
            />
            {children.map((child, at) => {
              const { from = axis.from, to = axis.until } = periods[at] ?? {};
              return (
                <Lane
                  key={`${child.agent_id} ${child.session_id}`}
                  name={
                    <>
                      <NameLink link={linkTo.run(child.agent_id, child.session_id)} text={child.session_id} />
                      {child.agent_id !== run.agent_id && <Name text={child.agent_id} />}
                    </>
                  }
                  axis={axis}
                  bars={[
                    {
                      key: 'run',
                      ...{ from, to },
                      words: `${counted(child.calls, 'call')}, ${since(from)} to ${since(to)}`,
                      tone: 'plain',
                    },
                  ]}
                />
              );
            })}
          </Lanes>
          {isCut && <p className="muted">First {count(calls.length)} calls. The history has the others.</p>}
          {children.length >= maxChildren && <p className="muted">First {maxChildren} child runs.</p>}
        </>
      )}
    </QuerySection>
  );
}
