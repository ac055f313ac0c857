// Fields for the ends of a period, in the viewer's time zone or in UTC.
import { type JSX, useState } from 'react';
import { minuteMs } from '../../../shared/duration.ts';
import { usePrefs } from '../../lib/prefs.ts';
import { useFilters } from '../../lib/search.ts';
import { Form } from '../../ui/form.tsx';
import { Button, Field } from '../../ui/parts.tsx';
import { instantsOf, type Span } from './filters.ts';

/** The value of a date-time field for an instant. */
const fieldText = (instant: number, utc: boolean): string => {
  const shift = utc ? 0 : new Date(instant).getTimezoneOffset() * minuteMs;
  return new Date(instant - shift).toISOString().slice(0, 16);
};

const instantOf = (text: string, utc: boolean): number => Date.parse(utc ? `${text}Z` : text);

export function OwnRange({ span }: { readonly span: Span }): JSX.Element {
  const { utc } = usePrefs();
  const ends = { from: fieldText(span.from, utc), until: span.open ? '' : fieldText(span.until, utc) };
  // With other ends, the form starts again with them.
  return <Ends key={`${ends.from} ${ends.until} ${utc}`} initialEnds={ends} utc={utc} />;
}

function Ends({
  initialEnds,
  utc,
}: {
  readonly initialEnds: { readonly from: string; readonly until: string };
  readonly utc: boolean;
}): JSX.Element {
  const [, change] = useFilters();
  const [{ from, until }, setEnds] = useState(initialEnds);
  const [first, last] = [instantOf(from, utc), until === '' ? null : instantOf(until, utc)];
  const wrong = Number.isNaN(first)
    ? 'Enter a start time.'
    : last !== null && last <= first
      ? 'The end time is before the start time. Enter a later end time.'
      : null;
  const zone = utc ? 'UTC' : 'local time';
  return (
    <Form
      className="own-range"
      label="Time range"
      onSubmit={() => {
        if (wrong !== null) return;
        const ends = instantsOf({ from: first, until: last ?? first });
        change({ since: ends.since, until: last === null ? undefined : ends.until });
      }}
    >
      <Field
        label={`From (${zone})`}
        type="datetime-local"
        value={from}
        onValue={(next) => setEnds({ from: next, until })}
      />
      <Field
        label={`To (${zone})`}
        type="datetime-local"
        value={until}
        onValue={(next) => setEnds({ from, until: next })}
      />
      <Button submit disabled={wrong !== null}>
        Apply time range
      </Button>
      {wrong ? (
        <p className="field-error" role="alert">
          {wrong}
        </p>
      ) : (
        until === '' && <p className="muted">Leave the end empty to follow new events.</p>
      )}
    </Form>
  );
}
