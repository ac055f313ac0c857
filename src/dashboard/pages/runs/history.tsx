// The history of a run: its events in the order of time, and beside them the explanation of one.
import { Link } from '@tanstack/react-router';
import { type JSX, useEffect, useMemo } from 'react';
import { argumentLine } from '../../../approval/rules/argument-line.ts';
import { linkTo } from '../../lib/address.ts';
import type { HostedReply } from '../../lib/hosted.ts';
import { byCursor, useHostedPages } from '../../lib/hosted-query.ts';
import { readOn } from '../../lib/query.ts';
import { useFilter } from '../../lib/search.ts';
import { duration, textOrNull } from '../../lib/text.ts';
import { CallArguments } from '../../ui/arguments.tsx';
import { ReportVerdict } from '../../ui/call-verdict.tsx';
import { DataParagraph } from '../../ui/names.tsx';
import { usePhone } from '../../ui/narrow.ts';
import { Button, Data, Line, Name, Time, TimeWords } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Section } from '../../ui/section.tsx';
import { Explain } from '../events/explain.tsx';
import type { Run } from './run.ts';

type Event = HostedReply<'hostedSearchEvents'>['events'][number];

/** Pages that load by themselves until one has the event of the address. */
const maxSearchedPages = 10;

export function RunHistory({
  run,
  isPeek,
}: {
  readonly run: Run;
  /** Without the explanation: a press leads to the page of the event, as on a phone. */
  readonly isPeek: boolean;
}): JSX.Element {
  const query = { agent_id: run.agent_id, session_id: run.session_id, limit: 200 };
  const eventsQuery = useHostedPages('hostedSearchEvents', { query }, byCursor);
  const events = useMemo(
    () => (eventsQuery.data?.pages ?? []).flatMap((page) => page.events).reverse(),
    [eventsQuery.data],
  );
  const isPhone = usePhone();
  const [eventId, showEvent] = useFilter('event');
  const isSplit = !isPeek && !isPhone;
  const current = isSplit ? events.find(({ id }) => id === eventId) : undefined;
  const start = Date.parse(run.started_at);
  const isAbsent = isSplit && eventId !== undefined && eventsQuery.data !== undefined && !current;
  const mayReadOn =
    isAbsent &&
    eventsQuery.hasNextPage &&
    !eventsQuery.isFetchNextPageError &&
    eventsQuery.data.pages.length < maxSearchedPages;
  useEffect(() => {
    if (mayReadOn) readOn(eventsQuery);
  });
  return (
    <div className={isSplit ? 'run-split' : undefined}>
      <Section title="History" label>
        <QueryResult query={eventsQuery} rows={6}>
          {() => null}
        </QueryResult>
        {eventsQuery.hasNextPage && (
          <div>
            <Button busy={eventsQuery.isFetchingNextPage} onClick={() => void eventsQuery.fetchNextPage()}>
              Show earlier events
            </Button>
          </div>
        )}
        <ol className="timeline">
          {events.map((event) => (
            <li
              key={event.id}
              className="timeline-row run-step"
              aria-current={event === current ? 'true' : undefined}
            >
              <TimeWords at={event.timestamp} className="step-time numbers">
                +{duration(Date.parse(event.timestamp) - start)}
              </TimeWords>
              <ReportVerdict verdict={event.action} mode={event.mode} />
              <span className="step-what">
                {isSplit ? (
                  <Button kind="quiet" aria-pressed={event === current} onClick={() => showEvent(event.id)}>
                    <Name text={event.tool_name} />
                  </Button>
                ) : (
                  <Link {...linkTo.event(event.id)}>
                    <Name text={event.tool_name} />
                  </Link>
                )}
                <Line mono text={argumentLine(event.tool_args)} />
                <DecidedBy event={event} />
              </span>
            </li>
          ))}
        </ol>
      </Section>
      {isSplit && (
        <div className="run-why">
          {current ? (
            <Why key={current.id} event={current} />
          ) : (
            <Section title="Explain">
              <p className="muted">
                {isAbsent && !mayReadOn && (
                  <>
                    <Link {...linkTo.event(eventId)}>The call of this address</Link> is not among the events
                    beside.{' '}
                  </>
                )}
                Choose a call in the history to see why it was allowed, denied or asked.
              </p>
            </Section>
          )}
        </div>
      )}
    </div>
  );
}

function DecidedBy({ event }: { readonly event: Event }): JSX.Element | null {
  const name = textOrNull(event.decision_name);
  return name === null ? null : (
    <span className="muted">
      by <Data text={name} max={60} />
    </span>
  );
}

function Why({ event }: { readonly event: Event }): JSX.Element {
  return (
    <>
      {event.decision !== 'workflow' && <Explain id={event.id} verdict={event.action} mode={event.mode} />}
      <Section title="Event">
        <DataParagraph text={textOrNull(event.reason)} mono={false} max={600} />
        <CallArguments args={event.tool_args} />
        <p className="muted">
          <Time at={event.timestamp} />, event {event.seq} in order of arrival.{' '}
          <Link {...linkTo.event(event.id)}>View event</Link>
        </p>
      </Section>
    </>
  );
}
