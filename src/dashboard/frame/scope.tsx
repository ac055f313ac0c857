// The range of time in the top bar. All pages share it, and the address contains it.
import { type ComponentType, type JSX, useEffect, useRef, useState } from 'react';
import { usePrefs } from '../lib/prefs.ts';
import { isCompared, rangeBefore, ranges, type Span, shifted, spanOf, zoomedOut } from '../lib/range.ts';
import { useEnv, useFilters } from '../lib/search.ts';
import { serverNow } from '../lib/server-time.ts';
import { clockTime, dayName } from '../lib/text.ts';
import { Icon } from '../ui/icons.tsx';
import { useKeys } from '../ui/keys.ts';
import { say } from '../ui/messages.tsx';
import { usePhone } from '../ui/narrow.ts';
import { envLabel } from './environments.tsx';
import type { RangePanelProps, RangeScope } from './range-panel.tsx';

/** `Last 7 days`, or the ends of a fixed span. */
export function rangeText(span: Span, utc: boolean): string {
  if (span.range !== null) {
    return ranges.find(([length]) => length === span.range)?.[1] ?? `Last ${span.range}`;
  }
  const end = (instant: number): string => `${dayName(instant, utc)} ${clockTime(instant, utc)}`;
  return `${end(span.from)} – ${span.open ? 'now' : end(span.until)}`;
}

export function RangeButton({ noRange, noCompare }: RangeScope): JSX.Element {
  const [search, change] = useFilters();
  const { utc } = usePrefs();
  const env = useEnv();
  const isPhone = usePhone();
  const [Panel, setPanel] = useState<ComponentType<RangePanelProps> | null>(null);
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const span = spanOf(search, serverNow());
  const isOff = noRange !== undefined && !isPhone;
  useEffect(() => {
    if (!open || Panel !== null) return;
    import('./range-panel.tsx').then(
      ({ RangePanel }) => setPanel(() => RangePanel),
      () => {
        setOpen(false);
        say('The time ranges did not load because the hub did not respond. Reload the page.', 'deny');
      },
    );
  }, [open, Panel]);
  const keys = {
    t: () => setOpen(true),
    '[': () => change(shifted(span, -1, serverNow())),
    ']': () => change(shifted(span, 1, serverNow())),
    '\\': () => change(zoomedOut(span, serverNow())),
    '.': () => change(rangeBefore(span.range ?? '24h')),
  };
  useKeys(noRange === undefined ? keys : {});
  const comparison = noCompare === null && isCompared(search) ? ' ± compare' : '';
  const words = `${rangeText(span, utc)}${comparison}${isPhone ? `, environment: ${envLabel(env)}` : ''}`;
  return (
    <>
      <button
        ref={button}
        type="button"
        className="button range-button"
        aria-expanded={open}
        aria-disabled={isOff || undefined}
        title={noRange ?? `Time range: ${words}`}
        onClick={() => {
          if (!isOff) setOpen(!open);
        }}
      >
        <Icon name="clock" />
        <span className="heard">Time range: </span>
        <span className={isPhone ? 'heard' : undefined}>{words}</span>
      </button>
      {isOff && <span className="heard">{noRange}</span>}
      {open && Panel !== null && (
        <Panel
          {...{ span, noRange, noCompare }}
          withEnvironment={isPhone}
          anchor={button}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}
