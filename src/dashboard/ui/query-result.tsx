// The result of a query: its data, a placeholder while it loads, or the error and what to do. Data that could not be
// refreshed stays on the page with the time at which it was read.
import type { JSX, ReactNode } from 'react';
import type { ApiError } from '../lib/api.ts';
import { now } from '../lib/browser.ts';
import { usePrefs } from '../lib/prefs.ts';
import { maxWaitMs, type PagedList } from '../lib/query.ts';
import { minuteTime } from '../lib/text.ts';
import { useNow } from '../lib/ticker.ts';
import { DataParagraph } from './names.tsx';
import { Button, Data, Late, Notice, Skeleton } from './parts.tsx';

/** Whole seconds until then, counted down: a number that stood still would be a lie a second later. */
function useSecondsTo(at: number): number {
  useNow(1_000);
  return Math.max(0, Math.ceil((at - now()) / 1000));
}

/** Announced once, with the notice around it. */
function RetryTime({ at }: { readonly at: number }): JSX.Element {
  const seconds = useSecondsTo(at);
  return <p aria-live="off">{seconds > 0 ? `Try again in ${seconds} s.` : 'Try again now.'}</p>;
}

function AutomaticRetry({ error: { retryAt, retryAfter } }: { readonly error: ApiError }): JSX.Element {
  // The console never waits longer than maxWaitMs, even if the hub asks for more.
  const early = Math.max(0, (retryAfter ?? 0) * 1000 - maxWaitMs);
  const seconds = useSecondsTo((retryAt ?? 0) - early);
  return (
    <span aria-live="off">{`The console tries again automatically${seconds > 0 ? ` in ${seconds} s` : ''}.`}</span>
  );
}

/** The time of data that could not be refreshed. */
function DataTime({ at }: { readonly at: number }): JSX.Element {
  const { utc } = usePrefs();
  return <>Data shown is from {minuteTime(at, utc)}.</>;
}

/** In place of the hub's sentence, which names a header. */
const changedSentence =
  'Another user made a change first. Nothing was done. Check the new state on this page, then try again.';

/**
 * The hub's error sentence, and what to do.
 * @param seenAt when the data below was read, in epoch milliseconds; absent: there is no data
 */
export function Failed({
  error,
  onRetry,
  seenAt,
}: Readonly<{ error: ApiError; onRetry?: () => void; seenAt?: number | undefined }>): JSX.Element {
  const forbidden = error.status === 403;
  return (
    <Notice
      tone="deny"
      icon={forbidden ? 'slash' : 'triangle'}
      role="alert"
      acts={onRetry && !forbidden && error.status !== 404 && <Button onClick={onRetry}>Retry</Button>}
    >
      <p>
        <strong>{forbidden ? 'Permission denied. ' : ''}</strong>
        <Data text={error.code === 'changed' ? changedSentence : error.message} mono={false} />
      </p>
      {forbidden && error.code !== 'role_required' && (
        <p>Ask an admin to do this, or to give you the admin role.</p>
      )}
      {error.retryAt !== null && <RetryTime at={error.retryAt} />}
      {error.status >= 500 && error.requestId !== null && (
        <p className="muted">
          Request ID for the hub's operators: <Data text={error.requestId} max={40} />
        </p>
      )}
      {seenAt !== undefined && (
        <p>
          <DataTime at={seenAt} />
        </p>
      )}
    </Notice>
  );
}

/** A query in the cache. */
export interface QueryState<T> extends PagedList {
  readonly data: T | undefined;
  readonly error: ApiError | null;
  /** Error of the last attempt, while the next one is scheduled. */
  readonly failureReason?: ApiError | null;
  /** Epoch milliseconds. */
  readonly dataUpdatedAt?: number;
  refetch(): unknown;
}

/** A placeholder (default: `rows` grey rows), and the reason for the delay if the hub asked to wait. */
export function QueryPending({
  query: { failureReason: why = null },
  rows,
  placeholder,
}: {
  readonly query: Pick<QueryState<unknown>, 'failureReason'>;
  readonly rows?: number | undefined;
  readonly placeholder?: ReactNode;
}): JSX.Element {
  return (
    <>
      {why && (
        <p className="notice notice-ask" role="status">
          <span>
            <Data text={why.message} mono={false} /> <AutomaticRetry error={why} />
          </span>
        </p>
      )}
      {placeholder ?? <Skeleton {...(rows === undefined ? {} : { rows })} />}
    </>
  );
}

/** The frame reports an unreachable hub (0), and a form over the page an ended session (401). */
const isReportable = (error: ApiError | null | undefined): error is ApiError =>
  error !== null && error !== undefined && ![0, 401].includes(error.status);

/** Above data that could not be refreshed: why, and from when it is. Null after a successful refresh. */
export function StaleNotice({ query }: { readonly query: QueryState<unknown> }): JSX.Element | null {
  const { error, failureReason: why, dataUpdatedAt: at } = query;
  const retry = (): void => void query.refetch();
  if (isReportable(error)) return <Failed error={error} onRetry={retry} seenAt={at} />;
  if (!isReportable(why)) return null;
  return (
    <Notice tone="ask" icon="triangle" role="status" acts={<Button onClick={retry}>Try now</Button>}>
      <DataParagraph text={why.message} mono={false} />
      <p>
        <AutomaticRetry error={why} /> {at !== undefined && <DataTime at={at} />}
      </p>
    </Notice>
  );
}

export interface QueryResultProps<T> {
  readonly query: QueryState<T>;
  /** Number of grey rows in the placeholder. */
  readonly rows?: number;
  /** Replaces the grey rows. It has the height of the data, so that nothing below moves. */
  readonly placeholder?: ReactNode;
  /** The data belongs to the previous filters. */
  readonly isOld?: boolean;
  /** Appears in place of data without content: a sentence, or a state of its own; false for data with content. */
  readonly none?: (data: T) => ReactNode;
  readonly children: (data: T) => ReactNode;
}

/** A query in its four states. */
export function QueryResult<T>(props: QueryResultProps<T>): ReactNode {
  const { query, rows, placeholder, isOld = false, none, children } = props;
  if (query.data !== undefined) {
    const instead = none?.(query.data) || null;
    return (
      <>
        {isOld && (
          <Late>
            <p className="notice notice-ask" role="status">
              Search in progress. These are the earlier results.
            </p>
          </Late>
        )}
        <StaleNotice query={query} />
        {typeof instead === 'string' ? <p className="muted">{instead}</p> : (instead ?? children(query.data))}
      </>
    );
  }
  if (query.error) return <Failed error={query.error} onRetry={() => void query.refetch()} />;
  return <QueryPending query={query} rows={rows} placeholder={placeholder} />;
}

/** Beside controls that work without the data: why it is missing or old. Null while it loads. */
export const QueryProblem = ({ query }: { readonly query: QueryState<unknown> }): JSX.Element | null =>
  query.data === undefined && !query.failureReason ? null : (
    <QueryResult query={query} rows={1}>
      {() => null}
    </QueryResult>
  );
