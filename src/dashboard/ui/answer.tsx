// What stands where an answer of the hub is shown: the answer, its shape while it is awaited, or why it is not there
// and what to do. An answer that could not be read anew stays, and says from when it is.
import type { JSX, ReactNode } from 'react';
import type { ApiError } from '../lib/api.ts';
import { now } from '../lib/browser.ts';
import { usePrefs } from '../lib/prefs.ts';
import { maxWaitMs } from '../lib/query.ts';
import { clockTime } from '../lib/text.ts';
import { useNow } from '../lib/ticker.ts';
import { Icon } from './icons.tsx';
import { Button, Data, Late, Skeleton } from './parts.tsx';

/** At the end of a form: an error that no field shows. */
export const FormFailed = ({ error }: { readonly error: ApiError | null }): JSX.Element | null =>
  error && Object.keys(error.fields).length === 0 ? <Failed error={error} /> : null;

/** Whole seconds until then, counted down: a number that stood still would be a lie a second later. */
function useSecondsTo(at: number): number {
  useNow(1_000);
  return Math.max(0, Math.ceil((at - now()) / 1000));
}

/** Heard once, with the notice around it. */
function TryAgain({ at }: { readonly at: number }): JSX.Element {
  const seconds = useSecondsTo(at);
  return <p aria-live="off">{seconds > 0 ? `Try again in ${seconds} s.` : 'Try again now.'}</p>;
}

function AskedAgain({ of: { retryAt, retryAfter } }: { readonly of: ApiError }): JSX.Element {
  // Nobody waits longer than that, whatever the hub asked for.
  const early = Math.max(0, (retryAfter ?? 0) * 1000 - maxWaitMs);
  const seconds = useSecondsTo((retryAt ?? 0) - early);
  return (
    <span aria-live="off">{`It is asked again by itself${seconds > 0 ? `, in ${seconds} s` : ''}.`}</span>
  );
}

/** What stands there although it could not be read anew. */
function SeenAt({ at }: { readonly at: number }): JSX.Element {
  const { utc } = usePrefs();
  return <>What you see is from {clockTime(at, utc)}.</>;
}

/**
 * What went wrong, and what to do: the hub's own sentence.
 * @param seenAt when what stands below was read, in epoch milliseconds; absent: nothing stands there
 */
export function Failed({
  error,
  onRetry,
  seenAt,
}: {
  readonly error: ApiError;
  readonly onRetry?: () => void;
  readonly seenAt?: number | undefined;
}): JSX.Element {
  const forbidden = error.status === 403;
  return (
    <div className="notice notice-deny" role="alert">
      <Icon name={forbidden ? 'slash' : 'triangle'} />
      <div>
        <p>
          <strong>{forbidden ? 'You may not do this. ' : ''}</strong>
          <Data text={error.message} mono={false} />
        </p>
        {forbidden && <p>Ask an admin of this hub to do it, or to make you one.</p>}
        {error.retryAt !== null && <TryAgain at={error.retryAt} />}
        {seenAt !== undefined && (
          <p>
            <SeenAt at={seenAt} />
          </p>
        )}
      </div>
      {onRetry && !forbidden && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** An answer as the cache holds it; `refetch` asks for it anew. */
export interface Answered<T> {
  readonly data: T | undefined;
  readonly error: ApiError | null;
  /** Why the last try failed, while another one follows by itself. */
  readonly failureReason?: ApiError | null;
  /** Epoch milliseconds. */
  readonly dataUpdatedAt?: number;
  refetch(): unknown;
}

/** While an answer is awaited: its shape, and why it takes long when the hub asked to wait. */
export function Waiting({
  of: { failureReason: why = null },
  rows,
}: {
  readonly of: Pick<Answered<unknown>, 'failureReason'>;
  readonly rows?: number;
}): JSX.Element {
  return (
    <>
      {why && (
        <p className="notice notice-ask" role="status">
          <span>
            <Data text={why.message} mono={false} /> <AskedAgain of={why} />
          </span>
        </p>
      )}
      <Skeleton {...(rows === undefined ? {} : { rows })} />
    </>
  );
}

/** That the hub is away says the frame; that the session ended, the form over the page. */
const isToSay = (error: ApiError | null | undefined): error is ApiError =>
  error !== null && error !== undefined && ![0, 401].includes(error.status);

/** Above what stands there: why it could not be read anew, and from when it is. Null: it could. */
export function NotAnew({ of }: { readonly of: Answered<unknown> }): JSX.Element | null {
  const { error, failureReason: why, dataUpdatedAt: at } = of;
  const ask = (): void => void of.refetch();
  if (isToSay(error)) return <Failed error={error} onRetry={ask} seenAt={at} />;
  if (!isToSay(why)) return null;
  return (
    <div className="notice notice-ask" role="status">
      <Icon name="triangle" />
      <div>
        <p>
          <Data text={why.message} mono={false} />
        </p>
        <p>
          <AskedAgain of={why} /> {at !== undefined && <SeenAt at={at} />}
        </p>
      </div>
      <Button onClick={ask}>Ask now</Button>
    </div>
  );
}

/** An answer in its four states, `isOld` while it is of another question. */
export function Answer<T>({
  of,
  rows,
  isOld = false,
  children,
}: {
  readonly of: Answered<T>;
  readonly rows?: number;
  readonly isOld?: boolean;
  readonly children: (data: T) => ReactNode;
}): ReactNode {
  if (of.data !== undefined) {
    return (
      <>
        {isOld && (
          <Late>
            <p className="notice notice-ask" role="status">
              The hub is still looking. This is what you asked for before.
            </p>
          </Late>
        )}
        <NotAnew of={of} />
        {children(of.data)}
      </>
    );
  }
  if (of.error) return <Failed error={of.error} onRetry={() => void of.refetch()} />;
  return <Waiting of={of} {...(rows === undefined ? {} : { rows })} />;
}

/** Beside what can be used without an answer: why the answer is not there, or is old. Nothing while it is awaited. */
export const Lacking = ({ of }: { readonly of: Answered<unknown> }): JSX.Element | null =>
  of.data === undefined && !of.failureReason ? null : (
    <Answer of={of} rows={1}>
      {() => null}
    </Answer>
  );
