// The choice of a range of time, below its button: ranges before now, a typed range, and two instants. On a phone, the
// environment is here too.
import { Popover } from '@base-ui/react/popover';
import { type JSX, type RefObject, useState } from 'react';
import { usePrefs } from '../lib/prefs.ts';
import {
  fieldText,
  fixedRange,
  instantOf,
  isCompared,
  rangeBefore,
  ranges,
  readRange,
  type Span,
} from '../lib/range.ts';
import { type Search, useFilters } from '../lib/search.ts';
import { serverNow } from '../lib/server-time.ts';
import { Field, Form } from '../ui/form.tsx';
import { Button } from '../ui/parts.tsx';
import { EnvironmentRadios } from './environments.tsx';

/** The part of the range that applies to the page. */
export interface RangeScope {
  /** Reason why the range does not apply; undefined where it does. */
  readonly noRange: string | undefined;
  /** Reason why the page has no figures of the range before; null where it has them. */
  readonly noCompare: string | null;
}

export interface RangePanelProps extends RangeScope {
  readonly span: Span;
  readonly withEnvironment: boolean;
  /** The button that opens and closes the panel. */
  readonly anchor: RefObject<HTMLButtonElement | null>;
  readonly onClose: () => void;
}

export function RangePanel({
  span,
  noRange,
  noCompare,
  withEnvironment,
  anchor,
  onClose,
}: RangePanelProps): JSX.Element {
  const [search, change] = useFilters();
  const { utc } = usePrefs();
  const choose = (range: Search): void => {
    change(range);
    onClose();
  };
  return (
    <Popover.Root
      open
      onOpenChange={(_, { event }) => {
        // The button closes the panel by itself.
        if (!(event.target instanceof Node && anchor.current?.contains(event.target))) onClose();
      }}
    >
      <Popover.Portal>
        <Popover.Positioner className="menu-place" anchor={anchor} align="end" sideOffset={4}>
          <Popover.Popup aria-label="Time range" className="range-panel" finalFocus={anchor}>
            {withEnvironment && <EnvironmentRadios />}
            {noRange === undefined ? (
              <>
                <div className="range-choices">
                  {ranges.map(([length, label]) => (
                    <Button
                      key={length}
                      kind="quiet"
                      aria-pressed={span.range === length}
                      onClick={() => choose(rangeBefore(length))}
                    >
                      {label}
                    </Button>
                  ))}
                </div>
                <Button
                  kind="quiet"
                  aria-pressed={isCompared(search)}
                  cannot={noCompare}
                  onClick={() => change({ compare: isCompared(search) ? 'off' : undefined })}
                >
                  Compare with previous
                </Button>
                <Typed utc={utc} onRange={choose} />
                <Ends key={`${span.from} ${utc}`} span={span} utc={utc} onRange={choose} />
              </>
            ) : (
              <p className="muted">{noRange}</p>
            )}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

interface EntryProps {
  readonly utc: boolean;
  readonly onRange: (range: Search) => void;
}

function Typed({ utc, onRange }: EntryProps): JSX.Element {
  const [text, setText] = useState('');
  const rangeOf = (value: string): Search | null => readRange(value, serverNow(), utc);
  const submit = (): void => {
    const range = rangeOf(text);
    if (range !== null) onRange(range);
  };
  return (
    <Form label="Typed range" className="range-form" onSubmit={submit}>
      <Field
        label="Range"
        value={text}
        maxLength={60}
        onValue={setText}
        placeholder="2d, or yesterday 14:00-15:00"
        validate={(value) =>
          rangeOf(value) === null
            ? 'Enter a length such as 2d, or a day with times: yesterday 14:00-15:00.'
            : null
        }
      />
      <Button submit>Use range</Button>
    </Form>
  );
}

function Ends({ span, utc, onRange }: EntryProps & { readonly span: Span }): JSX.Element {
  const [from, setFrom] = useState(fieldText(span.from, utc));
  const [until, setUntil] = useState(span.open ? '' : fieldText(span.until, utc));
  const [first, last] = [instantOf(from, utc), until === '' ? null : instantOf(until, utc)];
  const wrong = Number.isNaN(first)
    ? 'Enter a start time.'
    : last !== null && last <= first
      ? 'The end time is before the start time. Enter a later end time.'
      : null;
  const zone = utc ? 'UTC' : 'local time';
  const submit = (): void => {
    if (wrong !== null) return;
    const range = fixedRange({ from: first, until: last ?? first });
    onRange(last === null ? { ...range, to: undefined } : range);
  };
  return (
    <Form label="Start and end" className="range-form" onSubmit={submit}>
      <Field label={`From (${zone})`} type="datetime-local" value={from} onValue={setFrom} />
      <Field label={`To (${zone})`} type="datetime-local" value={until} onValue={setUntil} />
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
