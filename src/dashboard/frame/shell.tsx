// The frame around every page: navigation rail, top bar, state of the connection, and global keys.
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import {
  type JSX,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { tinykeys } from 'tinykeys';
import { keepScope } from '../lib/arrival.ts';
import { useCommand } from '../lib/commands.ts';
import { signedOut } from '../lib/me.ts';
import { changePrefs, prefs, usePrefs, utcInAddress } from '../lib/prefs.ts';
import { useCall } from '../lib/query.ts';
import { usePageScroll } from '../lib/scroll.ts';
import { useEnv, useFilter, useFilters } from '../lib/search.ts';
import { useStore } from '../lib/store.ts';
import { linkOnScreen } from '../lib/thing-link.ts';
import { type PageEntry, pageAt, pages, type Workspace, workspaces } from '../pages/registry.ts';
import { copyAndSay } from '../ui/copy-button.tsx';
import { Icon } from '../ui/icons.tsx';
import { isTyping, useKeys } from '../ui/keys.ts';
import { usePhone, useSlimRail } from '../ui/narrow.ts';
import { peekHost } from '../ui/peek.tsx';
import { Alerts } from './alerts.tsx';
import { ConnectionBar, LiveState } from './connection.tsx';
import { EnvironmentRadios } from './environments.tsx';
import { Late } from './late.tsx';
import { Person } from './person.tsx';
import { RangeButton } from './scope.tsx';
import { Mark } from './sign-in.tsx';

/** Time limit for a page's letter after `g`, in milliseconds. */
const leaderMs = 1_500;
const barPages = ['/', '/inbox', '/explore', '/fleet'];

export function Shell({ children }: { readonly children: ReactNode }): JSX.Element {
  const isOut = useStore(signedOut);
  const { railClosed } = usePrefs();
  const isSlim = useSlimRail();
  const [help, setHelp] = useState(false);
  const [more, setMore] = useState(false);
  const [palette, setPalette] = useState(false);
  const closePalette = useCallback(() => setPalette(false), []);
  const closeMore = useCallback(() => setMore(false), []);
  const closeHelp = useCallback(() => setHelp(false), []);
  usePaletteKey(useCallback(() => setPalette(true), []));
  const env = useEnv();
  const path = useLocation({ select: ({ pathname }) => pathname });
  const page = useArrival(path);
  useLeader();
  useKeptScope();
  useCommand('keys', () => setHelp(true));
  useCommand(
    'copyLink',
    () => void copyAndSay({ text: linkOnScreen(), noun: 'link', otherwise: 'Copy the address of the page.' }),
  );
  return (
    <div className={`shell ${railClosed || isSlim ? 'rail-closed' : ''} ${env ? `shell-${env}` : ''}`}>
      <a className="skip" href="#content">
        Skip to main content
      </a>
      <Rail />
      <TopBar onPalette={() => setPalette(true)} />
      <ConnectionBar />
      <main ref={page} id="content" className="content" tabIndex={-1} aria-label={pageAt(path).label}>
        {children}
      </main>
      <div id={peekHost} className="peek-host" />
      <nav className="bottom-bar" aria-label="Pages">
        {pages
          .filter(({ path }) => barPages.includes(path))
          .map((page) => (
            <PageLink key={page.path} page={page} />
          ))}
        <button type="button" className="rail-link row" onClick={() => setMore(true)}>
          <Icon name="more" size={20} />
          <span>More</span>
        </button>
      </nav>
      <Late name="list of pages" load={loadPages} open={more} onClose={closeMore} />
      <Late name="palette" load={loadPalette} open={palette} onClose={closePalette} />
      <Late name="keyboard shortcuts" load={loadKeys} open={help} onClose={closeHelp} />
      <Late name="sign-in" load={loadSignIn} open={isOut} onClose={stayOpen} />
      <Alerts />
    </div>
  );
}

const loadPalette = () => import('./palette.tsx');
const loadPages = () => import('./all-pages.tsx');
const loadSignIn = () => import('./sign-in-again.tsx');
const stayOpen = (): void => undefined;
const loadKeys = () => import('./keys-help.tsx');

/** Ctrl-K or Cmd-K, wherever the focus is. */
function usePaletteKey(open: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      event.preventDefault();
      open();
    };
    return tinykeys(window, { 'Control+K': press, 'Meta+K': press }, { ignore: () => false });
  }, [open]);
}

/**
 * After a key or a click in the navigation, the page gets the focus: screen readers announce its name, and Tab enters
 * it.
 */
function useArrival(path: string): RefObject<HTMLElement | null> {
  const page = useRef<HTMLElement>(null);
  usePageScroll(page, path);
  const last = useRef(path);
  useEffect(() => {
    if (last.current === path) return;
    last.current = path;
    const { activeElement } = document;
    if (activeElement === document.body || activeElement?.closest('nav')) {
      page.current?.focus({ preventScroll: true });
    }
  }, [path]);
  return page;
}

/** A reload and another page of this tab begin with the same range, environment and time zone. */
function useKeptScope(): void {
  const [search, change] = useFilters();
  const isUtc = useStore(utcInAddress);
  const lastZone = useRef(search.tz);
  useEffect(() => {
    if (lastZone.current !== search.tz) {
      lastZone.current = search.tz;
      utcInAddress.set(search.tz === 'utc');
    } else if ((search.tz === 'utc') !== isUtc) change({ tz: isUtc ? 'utc' : undefined }, true);
  });
  useEffect(() => keepScope(search as { [name: string]: string }), [search]);
}

/** After `g`, a letter opens a page, even if the current page uses the letter. */
function useLeader(): void {
  const navigate = useNavigate();
  useEffect(() => {
    const go =
      (to: string) =>
      (event: KeyboardEvent): void => {
        event.stopPropagation();
        event.preventDefault();
        void navigate({ to });
      };
    const bindings = Object.fromEntries(pages.map(({ key, path }) => [`g ${key}`, go(path)]));
    const ignore = (event: KeyboardEvent): boolean => isTyping(event) || !prefs.get().letterKeys;
    return tinykeys(window, bindings, { capture: true, timeout: leaderMs, ignore });
  }, [navigate]);
}

function Rail(): JSX.Element {
  const { railClosed } = usePrefs();
  return (
    <nav className="rail" aria-label="Main">
      <div className="rail-head row">
        <Mark />
        <span className="rail-name">Reeve</span>
      </div>
      {workspaces.map((workspace) => (
        <WorkspaceLinks key={workspace} workspace={workspace} />
      ))}
      <button
        type="button"
        className="rail-link rail-fold row"
        aria-expanded={!railClosed}
        onClick={() => changePrefs({ railClosed: !railClosed })}
      >
        <Icon name="menu" size={20} />
        <span>{railClosed ? 'Expand navigation' : 'Collapse'}</span>
      </button>
    </nav>
  );
}

export function WorkspaceLinks({
  workspace,
  onGo,
}: Readonly<{ workspace: Workspace; onGo?: () => void }>): JSX.Element {
  const id = useId();
  return (
    <div className="rail-group">
      <h2 id={id} className="rail-heading">
        {workspace}
      </h2>
      <ul aria-labelledby={id}>
        {pages
          .filter((page) => page.workspace === workspace)
          .map((page) => (
            <li key={page.path}>
              <PageLink page={page} {...(onGo ? { onGo } : {})} />
            </li>
          ))}
      </ul>
    </div>
  );
}

function PageLink({ page, onGo }: { readonly page: PageEntry; readonly onGo?: () => void }): JSX.Element {
  const isCurrent = pageAt(useLocation({ select: ({ pathname }) => pathname })) === page;
  return (
    <Link
      to={page.path}
      className="rail-link row"
      activeOptions={{ exact: true, includeSearch: true }}
      aria-current={isCurrent ? 'page' : undefined}
      title={page.label}
      {...(onGo ? { onClick: onGo } : {})}
    >
      <Icon name={page.icon} size={20} />
      <span>{page.label}</span>
      {page.path === '/inbox' && <PendingCount />}
    </Link>
  );
}

/** Number of pending approvals, counted by the hub. */
function PendingCount(): JSX.Element | null {
  const { data } = useCall('statsOverview');
  if (!data || data.pending_approvals === 0) return null;
  return (
    <span className="badge" title="Pending approvals in all environments">
      {data.pending_approvals}
      <span className="heard"> pending</span>
    </span>
  );
}

function TopBar({ onPalette }: { readonly onPalette: () => void }): JSX.Element {
  const path = useLocation({ select: ({ pathname }) => pathname });
  const page = pageAt(path);
  const [view] = useFilter('view');
  // Fleet and policies show the current state; the calls in their lists, of an agent and of a contract have a range.
  const isRanged =
    /^\/(agents|contracts)\//.test(path) ||
    ('rangeViews' in page && path === page.path && page.rangeViews?.includes(view));
  const pageRange = 'noRange' in page && !isRanged ? page.noRange : undefined;
  const noRange = path === '/explore' && view === 'tail' ? tailRange : pageRange;
  const isPhone = usePhone();
  useKeys({
    e: () => document.querySelector<HTMLElement>('.top-bar .env-radios input:checked')?.focus(),
  });
  return (
    <header className="top-bar row">
      <Breadcrumb page={page} />
      <button
        type="button"
        className="button search-button"
        onClick={onPalette}
        aria-keyshortcuts="Control+K"
        title="Search pages, things and actions"
      >
        <Icon name="search" />
        <span className="search-words">Search</span>
        <span className="key" aria-hidden="true">
          Ctrl K
        </span>
      </button>
      <span className="grow" />
      {!isPhone && <EnvironmentRadios />}
      <RangeButton
        noRange={'workspace' in page ? noRange : adminRange}
        noCompare={path === '/' ? null : onlyOverview}
      />
      <LiveState />
      <Person />
    </header>
  );
}

const tailRange = 'The tail shows calls when the hub stores them, so the time range does not apply.';
const onlyOverview = 'Only Overview shows its figures beside those of the range before.';
const adminRange = 'Settings are not bound to a time, so the time range does not apply.';

/** The workspace and the page that the address belongs to. */
function Breadcrumb({ page }: { readonly page: ReturnType<typeof pageAt> }): JSX.Element {
  return (
    <nav aria-label="Breadcrumb" className="breadcrumb row">
      <span className="breadcrumb-workspace">{'workspace' in page ? page.workspace : 'Account'}</span>
      <strong>{page.label}</strong>
    </nav>
  );
}
