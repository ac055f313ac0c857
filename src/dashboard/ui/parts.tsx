// The small parts that every page is made of: buttons, fields, times, texts of strangers, verdicts, empty states.
import { type ComponentProps, type JSX, type ReactNode, useEffect, useId, useState } from 'react';
import { after } from '../lib/browser.ts';
import { usePrefs } from '../lib/prefs.ts';
import { absolute, middleCut, relative, visible } from '../lib/text.ts';
import { useNow } from '../lib/ticker.ts';
import { Icon, type IconName } from './icons.tsx';

export interface ButtonProps extends Omit<ComponentProps<'button'>, 'type'> {
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  readonly icon?: IconName;
  readonly submit?: boolean;
  /** In work: it cannot be pressed again, and says so. */
  readonly busy?: boolean;
  /** The key that does the same. */
  readonly hint?: string;
}

export function Button({
  kind = 'plain',
  icon,
  submit,
  busy,
  hint,
  children,
  ...rest
}: ButtonProps): JSX.Element {
  return (
    <button
      {...rest}
      type={submit ? 'submit' : 'button'}
      className={`button button-${kind} ${rest.className ?? ''}`}
      disabled={rest.disabled || busy}
      aria-busy={busy || undefined}
      aria-keyshortcuts={hint}
    >
      {icon && <Icon name={icon} />}
      {children}
      {hint && (
        <span className="key" aria-hidden="true">
          {hint}
        </span>
      )}
    </button>
  );
}

export interface FieldProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange'> {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly help?: ReactNode;
  readonly error?: string | undefined;
}

export function Field({ label, value, onValue, help, error, ...rest }: FieldProps): JSX.Element {
  const id = useId();
  const note = error ?? help;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        {...rest}
        id={id}
        value={value}
        onChange={(event) => onValue(event.target.value)}
        aria-invalid={error ? true : undefined}
        aria-describedby={note ? `${id}-note` : undefined}
      />
      {note && (
        <p id={`${id}-note`} className={error ? 'field-error' : 'field-help'}>
          {note}
        </p>
      )}
    </div>
  );
}

export interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly onValue: (value: string) => void;
  /** The label is only heard. */
  readonly compact?: boolean;
  readonly className?: string;
}

export function Select({
  label,
  value,
  options,
  onValue,
  compact,
  className = '',
}: SelectProps): JSX.Element {
  const id = useId();
  return (
    <div className={`field ${compact ? 'field-compact' : ''} ${className}`}>
      <label htmlFor={id} className={compact ? 'heard' : undefined}>
        {label}
      </label>
      <select id={id} value={value} onChange={(event) => onValue(event.target.value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {middleCut(visible(text), 120)}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Relative on the face, absolute on hover and for who listens. */
export function Time({
  at,
  className,
}: {
  readonly at: string | null;
  readonly className?: string;
}): JSX.Element {
  const now = useNow(10_000);
  const { utc } = usePrefs();
  if (at === null) return <span className="muted">never</span>;
  const instant = Date.parse(at);
  return (
    <time dateTime={at} title={absolute(instant, utc)} className={className}>
      {relative(instant, now)}
    </time>
  );
}

const cutAt = 160;

/** A text of somebody else: never markup, never turned around, cut in the middle when it is long. */
export function Data({
  text,
  max = cutAt,
  mono = true,
}: {
  text: string;
  max?: number;
  mono?: boolean;
}): JSX.Element {
  const [whole, setWhole] = useState(false);
  const shown = visible(text);
  const cut = shown.length > max && !whole;
  return (
    <bdi className={mono ? 'data' : 'data data-prose'}>
      {cut ? middleCut(shown, max) : shown}
      {shown.length > max && max >= cutAt && (
        <button type="button" className="link" onClick={() => setWhole(!whole)}>
          {whole ? 'Show less' : `Show all ${shown.length.toLocaleString('en')} characters`}
        </button>
      )}
    </bdi>
  );
}

/** The same in one line, cut by its column; the whole text is in the title. */
export const Name = ({
  text,
  mono = true,
}: {
  readonly text: string;
  /** False for what people wrote for people, and for their own names. */
  readonly mono?: boolean;
}): JSX.Element => {
  const shown = visible(text);
  return (
    <bdi className={`data one-line ${mono ? '' : 'data-prose'}`} title={middleCut(shown, 500)}>
      {middleCut(shown, 120)}
    </bdi>
  );
};

const verdicts: { readonly [verdict: string]: readonly [tone: string, icon: IconName, word: string] } = {
  allowed: ['allow', 'check', 'allowed'],
  call_allowed: ['allow', 'check', 'allowed'],
  call_executed: ['allow', 'check', 'executed'],
  approved: ['allow', 'check', 'approved'],
  allow: ['allow', 'check', 'allow'],
  current: ['allow', 'check', 'current'],
  denied: ['deny', 'slash', 'denied'],
  call_denied: ['deny', 'slash', 'denied'],
  deny: ['deny', 'slash', 'deny'],
  pending: ['ask', 'hand', 'pending'],
  approve: ['ask', 'hand', 'asks'],
  approval_requested: ['ask', 'hand', 'asks'],
  timeout: ['unknown', 'dash', 'timed out'],
  observed: ['observe', 'eye', 'observed'],
  observe: ['observe', 'eye', 'observe'],
  call_would_deny: ['observe', 'eye', 'would deny'],
  enforce: ['plain', 'check', 'enforce'],
  drift: ['drift', 'triangle', 'drift'],
  unknown: ['unknown', 'dash', 'unknown'],
  // The words of runs and of their events.
  active: ['plain', 'play', 'active'],
  approval_pending: ['ask', 'hand', 'waits'],
  blocked: ['deny', 'slash', 'blocked'],
  completed: ['allow', 'check', 'completed'],
  stale: ['unknown', 'dash', 'stale'],
  block: ['deny', 'slash', 'block'],
  ask: ['ask', 'hand', 'asks'],
  call_blocked: ['deny', 'slash', 'blocked'],
  call_would_block: ['observe', 'eye', 'would block'],
  call_failed: ['drift', 'triangle', 'failed'],
  call_asked: ['ask', 'hand', 'asked'],
  call_approval_requested: ['ask', 'hand', 'asked'],
  call_approval_denied: ['deny', 'slash', 'refused'],
  call_approval_granted: ['allow', 'check', 'approved'],
  call_approval_blocked: ['deny', 'slash', 'refused'],
  call_approval_timeout: ['unknown', 'dash', 'timed out'],
  postcondition_warning: ['drift', 'triangle', 'warned'],
  workflow_stage_advanced: ['plain', 'right', 'stage'],
  workflow_completed: ['allow', 'check', 'workflow done'],
  workflow_state_updated: ['plain', 'right', 'workflow'],
  // Of deliveries and coverage.
  waiting: ['ask', 'hand', 'waiting'],
  delivered: ['allow', 'check', 'delivered'],
  dead: ['deny', 'slash', 'given up'],
  failed: ['deny', 'slash', 'failed'],
  expired: ['unknown', 'dash', 'expired'],
  enforced: ['allow', 'check', 'enforced'],
  ungoverned: ['drift', 'triangle', 'ungoverned'],
};

/** A verdict or status: colour, sign and word together. */
export function Verdict({ of }: { readonly of: string }): JSX.Element {
  const [tone, icon, word] = verdicts[of] ?? ['unknown', 'dash', visible(of)];
  return (
    <span className={`verdict tone-${tone}`}>
      <Icon name={icon} />
      {word}
    </span>
  );
}

export const Env = ({ of }: { readonly of: string }): JSX.Element => (
  <span className={`env env-${['production', 'staging', 'development'].includes(of) ? of : 'other'}`}>
    {visible(of)}
  </span>
);

/** Shows its children once they have been awaited for a moment: what comes fast never flickers. */
export function Late({ children }: { readonly children: ReactNode }): ReactNode {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = after(150, () => setShown(true));
    return () => timer.cancel();
  }, []);
  return shown ? children : null;
}

export const Skeleton = ({ rows = 5 }: { readonly rows?: number }): JSX.Element => (
  <Late>
    <div className="skeleton" aria-busy="true">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <div key={row} className="skeleton-row" />
      ))}
    </div>
  </Late>
);

export const Empty = ({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}): JSX.Element => (
  <div className="empty">
    <p className="empty-title">{title}</p>
    {children}
  </div>
);

export function PageHead({
  title,
  says,
  children,
}: {
  title: string;
  says?: ReactNode;
  children?: ReactNode;
}): JSX.Element {
  useEffect(() => {
    document.title = `${title} · Reeve`;
  }, [title]);
  return (
    <header className="page-head">
      <div>
        <h1>{title}</h1>
        {says && <p className="page-says">{says}</p>}
      </div>
      {children && <div className="page-actions">{children}</div>}
    </header>
  );
}
