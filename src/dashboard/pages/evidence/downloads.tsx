// Evidence as files for others: the decision bundle of one run, and the links of the audit chain in a period.
import { type JSX, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { ApiError } from '../../lib/api.ts';
import { useHostedAction } from '../../lib/hosted-query.ts';
import { usePrefs } from '../../lib/prefs.ts';
import { fieldText, instantOf, spanOf } from '../../lib/range.ts';
import { serverNow } from '../../lib/server-time.ts';
import { download } from '../../ui/download.ts';
import { Field, Form, useFields } from '../../ui/form.tsx';
import { Button } from '../../ui/parts.tsx';
import { readChain } from '../audit/chain.tsx';
import { saveBundle } from '../runs/evidence.tsx';

/** The decision bundle of a run. */
export function RunDownload(): JSX.Element {
  const fetched = useHostedAction('hostedRunBundle');
  const [{ agent, session }, bind] = useFields({ agent: '', session: '' });
  return (
    <Form
      label="Run"
      by={fetched}
      buttons={
        <Button kind="primary" submit busy={fetched.isPending} disabled={agent === '' || session === ''}>
          Download run
        </Button>
      }
      onSubmit={() =>
        fetched.mutate({ params: { agent_id: agent, session_id: session } }, (bundle) =>
          saveBundle(agent, session, bundle),
        )
      }
    >
      <Field label="Agent" maxLength={255} {...bind('agent', 'agent_id')} />
      <Field label="Session" maxLength={255} {...bind('session', 'session_id')} />
    </Form>
  );
}

/** The button that ends a request. When it goes, its focus moves to the form's own button. */
function Stop({ onStop }: { readonly onStop: () => void }): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const { current } = button;
    const submit = current?.form?.querySelector<HTMLElement>('[type=submit]');
    return () => {
      // Only after this change of the page, the form's button can have the focus.
      if (document.activeElement === current) queueMicrotask(() => submit?.focus());
    };
  }, []);
  return (
    <Button ref={button} onClick={onStop}>
      Stop
    </Button>
  );
}

/** The value of a date-time field for the same instant in the other zone. */
const inOtherZone = (text: string, utc: boolean): string => {
  const instant = instantOf(text, !utc);
  return Number.isNaN(instant) ? text : fieldText(instant, utc);
};

/** The links of a period with the signed head of the last one. */
export function AuditDownload(): JSX.Element {
  const { utc } = usePrefs();
  const [{ from, to }, bind, setRange] = useFields(() => {
    const span = spanOf({}, serverNow());
    return { from: fieldText(span.from, utc), to: fieldText(span.until, utc) };
  });
  const [zoneOfFields, setZoneOfFields] = useState(utc);
  if (zoneOfFields !== utc) {
    setZoneOfFields(utc);
    setRange({ from: inOtherZone(from, utc), to: inOtherZone(to, utc) });
  }
  /** The part that is requested; null if none is. */
  const [part, setPart] = useState<number | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const [error, setError] = useState<ApiError | null>(null);
  const [first, last] = [instantOf(from, utc), instantOf(to, utc)];
  const zone = utc ? 'UTC' : 'local time';
  const save = async (): Promise<void> => {
    const attempt = new AbortController();
    const { signal } = attempt;
    stop.current = attempt;
    setError(null);
    try {
      const [start, end] = [new Date(first).toISOString(), new Date(last).toISOString()];
      const parts = await readChain(setPart, { from: start, to: end }, signal);
      const name = `audit-${start.slice(0, 16)}-${end.slice(0, 16)}.ndjson`.replaceAll(':', '');
      download(name, 'application/x-ndjson', parts);
    } catch (failure) {
      if (signal.aborted) return;
      if (!(failure instanceof ApiError)) throw failure;
      setError(failure);
    } finally {
      setPart(null);
    }
  };
  return (
    <Form
      label="Range of the audit chain"
      by={{ isPending: part !== null, error }}
      onSubmit={() => void save()}
      buttons={
        <>
          <Button kind="primary" submit busy={part !== null} disabled={!(first < last)}>
            Download range
          </Button>
          {part !== null && <Stop onStop={() => stop.current?.abort()} />}
          <span className="muted numbers" role="status">
            {part !== null && `Reading part ${part}…`}
          </span>
        </>
      }
    >
      <Field label={`From (${zone})`} type="datetime-local" {...bind('from')} />
      <Field label={`To (${zone})`} type="datetime-local" {...bind('to')} />
    </Form>
  );
}
