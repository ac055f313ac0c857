// Timeline of an agent in the range, on one axis: its streams, its documents and its approvals.
import './timeline.css';
import { Link } from '@tanstack/react-router';
import type { JSX, ReactNode } from 'react';
import { linkTo } from '../../lib/address.ts';
import { usePrefs } from '../../lib/prefs.ts';
import { useCall } from '../../lib/query.ts';
import { instantsOf, spanOf } from '../../lib/range.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { clockTime, middleCut, visible } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { Env } from '../../ui/parts.tsx';
import { QuerySection } from '../../ui/section.tsx';

interface Bar {
  readonly key: string;
  /** Epoch milliseconds; `to` is null for what goes on, and `from` itself for a moment. */
  readonly from: number;
  readonly to: number | null;
  readonly words: string;
  readonly tone: string;
  readonly link?: { readonly to: string };
}

const lookMs = 15_000;

export function AgentTimeline({ id }: { readonly id: string }): JSX.Element {
  const [search] = useFilters();
  const env = useEnv();
  const { utc } = usePrefs();
  const span = spanOf(search, useNow(60_000));
  const timelineQuery = useCall(
    'agentTimeline',
    { params: { agent_id: id }, query: { ...instantsOf(span), ...(env ? { env } : {}) } },
    { keep: true, moves: true, ...(span.open ? { refetchMs: lookMs } : {}) },
  );
  const at = (text: string): string => clockTime(Date.parse(text), utc);
  const period = (from: string, to: string | null): string =>
    `${at(from)} to ${to === null ? 'now' : at(to)}`;
  return (
    <QuerySection title="Timeline" label query={timelineQuery} rows={3}>
      {({ env: timelineEnv, streams, documents, approvals }) => (
        <dl className="timeline-lanes">
          {env === undefined && timelineEnv && (
            <div>
              <dt>Environment</dt>
              <dd>
                <Env name={timelineEnv} />
              </dd>
            </div>
          )}
          <Lane
            name="Streams"
            span={span}
            bars={streams.map(({ from, to, transport, is_end_estimated: isEstimated }) => ({
              key: `${from} ${to}`,
              from: Date.parse(from),
              to: to === null ? null : Date.parse(to),
              words: `Connected${transport ? ` by ${transport}` : ''}, ${period(from, to)}${isEstimated ? ' at the latest' : ''}`,
              tone: 'plain',
            }))}
          />
          <Lane
            name="Documents"
            span={span}
            bars={documents.map((one) => ({
              key: `${one.at} ${one.kind} ${one.bundle_name}`,
              from: Date.parse(one.at),
              to: Date.parse(one.at),
              words: `${at(one.at)} ${middleCut(visible(one.bundle_name), 60)} v${one.version} ${one.kind}`,
              tone: one.kind === 'undeployed' ? 'unknown' : one.kind === 'running' ? 'allow' : 'drift',
            }))}
          />
          <Lane
            name="Approvals"
            span={span}
            bars={approvals.map(({ id: approval, from, to, status }) => ({
              key: approval,
              from: Date.parse(from),
              to: to === null ? null : Date.parse(to),
              words: `Approval ${status}, ${period(from, to)}`,
              tone: status === 'approved' ? 'allow' : status === 'denied' ? 'deny' : 'ask',
              link: linkTo.approval(approval),
            }))}
          />
        </dl>
      )}
    </QuerySection>
  );
}

function Lane({
  name,
  span: { from, until },
  bars,
}: {
  readonly name: string;
  readonly span: { readonly from: number; readonly until: number };
  readonly bars: readonly Bar[];
}): JSX.Element {
  const share = (at: number): number => Math.min(100, Math.max(0, ((at - from) / (until - from)) * 100));
  const content = ({ words, link }: Bar): ReactNode =>
    link ? (
      <Link {...link} title={words}>
        <span className="heard">{words}</span>
      </Link>
    ) : (
      <span className="heard">{words}</span>
    );
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {bars.length === 0 ? (
          <span className="muted">None in this range</span>
        ) : (
          <ol>
            {bars.map((bar) => (
              <li
                key={bar.key}
                className={`tone-${bar.tone}`}
                title={bar.words}
                style={{
                  left: `${share(bar.from)}%`,
                  width: `${share(bar.to ?? until) - share(bar.from)}%`,
                }}
              >
                {content(bar)}
              </li>
            ))}
          </ol>
        )}
      </dd>
    </div>
  );
}
