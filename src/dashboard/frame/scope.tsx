// The environment and the range of time in the top bar. All pages share both, and the address contains them.
import { type ComponentType, type JSX, useEffect, useState } from 'react';
import { roleIn } from '../../shared/env-roles.ts';
import { useSignedIn } from '../lib/me.ts';
import { usePrefs } from '../lib/prefs.ts';
import { useCall } from '../lib/query.ts';
import { rangeBefore, ranges, type Span, shifted, spanOf, zoomedOut } from '../lib/range.ts';
import { type Env, useEnv, useFilters } from '../lib/search.ts';
import { serverNow } from '../lib/server-time.ts';
import { clockTime, dayName } from '../lib/text.ts';
import { Icon } from '../ui/icons.tsx';
import { usePhone } from '../ui/narrow.ts';
import { say, useKeys } from '../ui/overlay.tsx';
import type { RangePanelProps } from './range-panel.tsx';

const choices: readonly (readonly [env: Env | undefined, label: string])[] = [
  [undefined, 'All'],
  ['development', 'Development'],
  ['staging', 'Staging'],
  ['production', 'Production'],
];

/** Names of the environments, as the radio group has them. */
export const envLabel = (env: Env | undefined): string => choices.find(([one]) => one === env)?.[1] ?? 'All';

/** One environment or all of them. An environment without a role is off. */
export function EnvironmentRadios(): JSX.Element {
  const [, change] = useFilters();
  const current = useEnv();
  const { roles } = useSignedIn();
  const { data } = useCall('listEnvironments', {});
  return (
    <div role="radiogroup" aria-label="Environment" className="env-radios">
      {choices.map(([env, label]) => {
        const hasRole = env === undefined || roleIn(roles, env) !== null;
        const isProtected = data?.environments.some((one) => one.env === env && one.protected) ?? false;
        return (
          <label
            key={label}
            className={`env-radio env-radio-${env ?? 'all'}`}
            title={hasRole ? undefined : `You have no role in ${env}. Ask an admin.`}
          >
            <input
              type="radio"
              name="environment"
              checked={current === env}
              disabled={!hasRole}
              onChange={() => change({ env })}
            />
            <span>
              {label}
              {isProtected && (
                <>
                  <Icon name="lock" />
                  <span className="heard"> protected</span>
                </>
              )}
            </span>
          </label>
        );
      })}
    </div>
  );
}

/** `Last 7 days`, or the ends of a fixed span. */
export function rangeText(span: Span, utc: boolean): string {
  if (span.range !== null) {
    return ranges.find(([length]) => length === span.range)?.[1] ?? `Last ${span.range}`;
  }
  const end = (instant: number): string => `${dayName(instant, utc)} ${clockTime(instant, utc)}`;
  return `${end(span.from)} – ${span.open ? 'now' : end(span.until)}`;
}

/** @param noRange why the range does not apply to the page; undefined where it does */
export function RangeButton({ noRange }: { readonly noRange: string | undefined }): JSX.Element {
  const [search, change] = useFilters();
  const { utc } = usePrefs();
  const env = useEnv();
  const isPhone = usePhone();
  const [Panel, setPanel] = useState<ComponentType<RangePanelProps> | null>(null);
  const [open, setOpen] = useState(false);
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
  const words = `${rangeText(span, utc)}${isPhone ? `, environment: ${envLabel(env)}` : ''}`;
  return (
    <div className="range">
      <button
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
        <span className="range-words">{words}</span>
      </button>
      {isOff && <span className="heard">{noRange}</span>}
      {open && Panel !== null && (
        <Panel span={span} noRange={noRange} withEnvironment={isPhone} onClose={() => setOpen(false)} />
      )}
    </div>
  );
}
