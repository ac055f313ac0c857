// Small parts that every page uses: buttons, fields, times, untrusted texts, verdicts, empty states.
import {
  type ComponentProps,
  type JSX,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useId,
  useState,
} from 'react';
import { displayWord } from '../../../packages/agent/src/rules/state-words.ts';
import { after } from '../lib/browser.ts';
import { usePrefs } from '../lib/prefs.ts';
import { absolute, endCut, middleCut, preciseTime, relative, visible } from '../lib/text.ts';
import { useNow } from '../lib/ticker.ts';
import { Icon, type IconName } from './icons.tsx';
import { say } from './messages.tsx';

export interface ButtonProps extends Omit<ComponentProps<'button'>, 'type'> {
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  readonly icon?: IconName;
  readonly submit?: boolean;
  /** The action is in progress: the button is disabled and announces it. */
  readonly busy?: boolean;
  /** Keyboard shortcut of the button. */
  readonly hint?: string;
  /** Reason why the button is off. It can still be focused, so that everybody can learn the reason. */
  readonly cannot?: string | null;
}

export function Button({
  kind = 'plain',
  icon,
  submit,
  busy,
  hint,
  cannot = null,
  children,
  ...rest
}: ButtonProps): JSX.Element {
  const id = useId();
  const off =
    cannot === null
      ? {}
      : {
          'aria-disabled': true,
          'aria-describedby': id,
          title: cannot,
          // A touch screen has no tooltips.
          onClick: (event: MouseEvent) => {
            event.preventDefault();
            say(cannot);
          },
        };
  return (
    <button
      aria-keyshortcuts={hint}
      {...rest}
      type={submit ? 'submit' : 'button'}
      className={`button button-${kind} ${rest.className ?? ''}`}
      disabled={rest.disabled || busy}
      aria-busy={busy || undefined}
      {...off}
    >
      {icon && <Icon name={icon} />}
      {children}
      {hint && (
        <span className="key" aria-hidden="true">
          {hint}
        </span>
      )}
      {cannot !== null && (
        <span id={id} hidden>
          {cannot}
        </span>
      )}
    </button>
  );
}

interface PreciseTimeProps {
  readonly at: string;
  readonly format?: typeof preciseTime;
}

/** Words for a time, such as the time left. The absolute time is in the tooltip. */
export function TimeWords({
  at,
  className,
  children,
}: Readonly<{ at: string; className?: string | undefined; children: ReactNode }>): JSX.Element {
  const { utc } = usePrefs();
  return (
    <time dateTime={at} title={absolute(Date.parse(at), utc)} className={className}>
      {children}
    </time>
  );
}

/** A relative time. The absolute time is in the tooltip. */
export function Time({ at, className }: Readonly<{ at: string | null; className?: string }>): JSX.Element {
  const now = useNow(10_000);
  if (at === null) return <span className="muted">never</span>;
  return (
    <TimeWords at={at} className={className}>
      {relative(Date.parse(at), now)}
    </TimeWords>
  );
}

/** An absolute time. The relative time is in the tooltip. @param format default: with milliseconds */
export function PreciseTime({ at, format = preciseTime }: PreciseTimeProps): JSX.Element {
  const now = useNow(10_000);
  const { utc } = usePrefs();
  const instant = Date.parse(at);
  return (
    <time dateTime={at} title={`${relative(instant, now)} (${absolute(instant, utc)})`}>
      {format(instant, utc)}
    </time>
  );
}

const cutAt = 160;

export interface DataProps {
  readonly text: string;
  /** Characters. A longer text is cut in the middle. */
  readonly max?: number | undefined;
  readonly mono?: boolean;
  /** The console's own words around the text, in a sentence. */
  readonly before?: string;
  readonly after?: string;
}

/**
 * An untrusted text: never markup, no change of direction, cut in the middle if it is longer than `max`. A button shows
 * all of it. For a `max` below 160, which is for links and headings, a tooltip shows 500 characters.
 */
export function Data({ text, max = cutAt, mono = true, before = '', after = '' }: DataProps): JSX.Element {
  const [whole, setWhole] = useState(false);
  const visibleText = visible(text);
  const cut = visibleText.length > max && !whole;
  const hasButton = visibleText.length > max && max >= cutAt;
  return (
    <>
      {before}
      <bdi
        className={mono ? 'data' : 'data data-prose'}
        title={cut && !hasButton ? middleCut(visibleText, 500) : undefined}
      >
        {cut ? middleCut(visibleText, max) : visibleText}
        {hasButton && (
          <button
            type="button"
            className="link"
            data-folded={cut || undefined}
            onClick={() => setWhole(!whole)}
          >
            {whole ? 'Show less' : `Show all ${visibleText.length.toLocaleString('en')} characters`}
          </button>
        )}
      </bdi>
      {after}
    </>
  );
}

/** An id in one line. A row cuts it in the middle, and the tooltip has the complete text. */
export const Name = ({ text }: { readonly text: string }): JSX.Element => {
  const visibleText = visible(text);
  const cutText = middleCut(visibleText, 120);
  return (
    <bdi
      className="data one-line id"
      title={middleCut(visibleText, 500)}
      data-end={[...cutText].slice(-5).join('')}
    >
      <span>{cutText}</span>
    </bdi>
  );
};

/** Other untrusted text in one line: prose, display names, arguments. The column cuts its end. */
export const Line = ({ text, mono = false }: Readonly<{ text: string; mono?: boolean }>): JSX.Element => {
  const start = endCut(visible(text), 500);
  return (
    <bdi className={`data one-line ${mono ? '' : 'data-prose'}`} title={start}>
      {start}
    </bdi>
  );
};

const verdicts: { readonly [verdict: string]: readonly [tone: string, icon: IconName] } = {
  allowed: ['allow', 'check'],
  approved: ['allow', 'check'],
  current: ['allow', 'check'],
  denied: ['deny', 'slash'],
  'would deny': ['observe', 'ring'],
  asked: ['ask', 'diamond'],
  pending: ['ask', 'diamond'],
  enforce: ['plain', 'check'],
  'out of date': ['drift', 'triangle'],
  unknown: ['unknown', 'dash'],
  // Runs and their events.
  running: ['plain', 'play'],
  completed: ['allow', 'check'],
  stale: ['unknown', 'dash'],
  warned: ['drift', 'triangle'],
  advanced: ['plain', 'right'],
  updated: ['plain', 'right'],
  // Deliveries and coverage.
  queued: ['plain', 'right'],
  delivered: ['allow', 'check'],
  failed: ['deny', 'slash'],
  expired: ['unknown', 'dash'],
  'observed only': ['observe', 'ring'],
  enforced: ['allow', 'check'],
  ungoverned: ['drift', 'triangle'],
};

/** Agents report outcomes in any word. */
export const lookOf = (label: string): readonly [tone: string, icon: IconName] =>
  (Object.hasOwn(verdicts, label) && verdicts[label]) || ['unknown', 'dash'];

/** A verdict or status: colour, icon and word. */
export function Verdict({ word }: { readonly word: string }): JSX.Element {
  const label = displayWord(word);
  const [tone, icon] = lookOf(label);
  return (
    <span className={`verdict tone-${tone}`}>
      <Icon name={icon} />
      {visible(label)}
    </span>
  );
}

export const Env = ({ name }: { readonly name: string }): JSX.Element => (
  <span className={`env env-${['production', 'staging', 'development'].includes(name) ? name : 'other'}`}>
    {visible(name)}
  </span>
);

/** Displays its children after a short delay, so that a fast answer causes no flicker. */
export function Late({ children }: { readonly children: ReactNode }): ReactNode {
  const [isDue, setDue] = useState(false);
  useEffect(() => {
    const timer = after(150, () => setDue(true));
    return () => timer.cancel();
  }, []);
  return isDue ? children : null;
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

interface EmptyProps {
  readonly title: string;
  /** Description of what will appear here, and how to make it. */
  readonly text?: ReactNode;
  readonly children?: ReactNode;
}

export const Empty = ({ title, text, children }: EmptyProps): JSX.Element => (
  <div className="empty">
    <p className="empty-title">{title}</p>
    {text && <p>{text}</p>}
    {children}
  </div>
);

/** Icons of notices about a result. */
export const toneIcons = { allow: 'check', ask: 'triangle', deny: 'slash' } as const;

interface NoticeProps {
  readonly tone: 'allow' | 'ask' | 'deny';
  readonly icon?: IconName;
  readonly role?: 'status' | 'alert' | undefined;
  readonly label?: string;
  /** Buttons beside the text. */
  readonly acts?: ReactNode;
  readonly children: ReactNode;
}

/** A message in the page that stays. */
export const Notice = ({ tone, icon, role, label, acts, children }: NoticeProps): JSX.Element => (
  // biome-ignore lint/a11y/useAriaPropsSupportedByRole: a notice with a label has a role
  <div className={`notice notice-${tone}`} role={role} aria-label={label}>
    {icon && <Icon name={icon} />}
    <div>{children}</div>
    {acts}
  </div>
);

/** A text begins with a capital letter, whatever word its number is. */
const sentence = (text: ReactNode): ReactNode =>
  typeof text === 'string' ? text.charAt(0).toUpperCase() + text.slice(1) : text;

/** The head of a tab: its state in a sentence, and its actions. */
export const TabHead = ({
  summary,
  children,
}: Readonly<{ summary?: ReactNode; children?: ReactNode }>): JSX.Element => (
  <div className="page-head row wrap apart">
    {summary ? <p className="page-says">{sentence(summary)}</p> : <span />}
    {children && <div className="decide-buttons">{children}</div>}
  </div>
);

export function PageHead({
  title,
  summary,
  children,
}: Readonly<{ title: string; summary?: ReactNode; children?: ReactNode }>): JSX.Element {
  useEffect(() => {
    document.title = `${title} · Reeve`;
  }, [title]);
  return (
    <header className="page-head row wrap apart">
      <div>
        <h1>{title}</h1>
        {summary && <p className="page-says">{sentence(summary)}</p>}
      </div>
      {children && <div className="decide-buttons">{children}</div>}
    </header>
  );
}
