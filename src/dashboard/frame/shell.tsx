// The frame around every page: navigation rail, top bar, state of the connection, and global keys.
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { type JSX, type ReactNode, type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { now } from '../lib/browser.ts';
import { useCommand } from '../lib/commands.ts';
import { signedOut, useSignedIn } from '../lib/me.ts';
import { changePrefs, prefs, usePrefs } from '../lib/prefs.ts';
import { useCall } from '../lib/query.ts';
import { envs, type Search, useEnv, useFilters } from '../lib/search.ts';
import { useStore } from '../lib/store.ts';
import { type PageEntry, pages } from '../pages/registry.ts';
import { Icon } from '../ui/icons.tsx';
import { Dialog, isTyping, Messages } from '../ui/overlay.tsx';
import { Select } from '../ui/parts.tsx';
import { Alerts } from './alerts.tsx';
import { ConnectionBar, LiveState } from './connection.tsx';
import { Late } from './late.tsx';
import { Person } from './person.tsx';
import { Mark, SignInForm } from './sign-in.tsx';

/** Keeps the environment between pages. Other filters belong to one page. */
const onlyEnv = (before: Search): Search => (before.env ? { env: before.env } : {});

/** Time limit for a page's letter after `g`, in milliseconds. */
const leaderMs = 1_500;
const barPages = ['/', '/approvals', '/events', '/agents'];

export function Shell({ children }: { readonly children: ReactNode }): JSX.Element {
  const me = useSignedIn();
  const isOut = useStore(signedOut);
  const { railClosed } = usePrefs();
  const [help, setHelp] = useState(false);
  const [more, setMore] = useState(false);
  const [palette, setPalette] = useState(false);
  const closePalette = useCallback(() => setPalette(false), []);
  const closeHelp = useCallback(() => setHelp(false), []);
  usePaletteKey(useCallback(() => setPalette(true), []));
  const env = useEnv();
  const path = useLocation({ select: ({ pathname }) => pathname });
  const page = useArrival(path);
  useLeader();
  useCommand('keys', () => setHelp(true));
  return (
    <div className={`shell ${railClosed ? 'rail-closed' : ''} ${env ? `shell-${env}` : ''}`}>
      <a className="skip" href="#content">
        Skip to main content
      </a>
      <Rail />
      <TopBar onHelp={() => setHelp(true)} onPalette={() => setPalette(true)} />
      <ConnectionBar />
      <main ref={page} id="content" className="content" tabIndex={-1} aria-label={pageName(path)}>
        {children}
      </main>
      <nav className="bottom-bar" aria-label="Pages">
        {pages
          .filter(({ path }) => barPages.includes(path))
          .map((page) => (
            <PageLink key={page.path} page={page} />
          ))}
        <button type="button" className="rail-link" onClick={() => setMore(true)}>
          <Icon name="more" size={20} />
          <span>More</span>
        </button>
      </nav>
      <Dialog title="All pages" open={more} onClose={() => setMore(false)}>
        <nav aria-label="All pages">
          <ul className="more-pages">
            {pages.map((page) => (
              <li key={page.path}>
                <PageLink page={page} onGo={() => setMore(false)} />
              </li>
            ))}
          </ul>
        </nav>
      </Dialog>
      <Late name="palette" load={loadPalette} open={palette} onClose={closePalette} />
      <Late name="keyboard shortcuts" load={loadKeys} open={help} onClose={closeHelp} />
      <Dialog title="Sign in again" open={isOut} held onClose={() => undefined}>
        <p className="page-says">Your session ended. Your unsaved text is still here. Sign in to continue.</p>
        <SignInForm email={me.email} />
      </Dialog>
      <Alerts />
      <Messages />
    </div>
  );
}

const loadPalette = () => import('./palette.tsx');
const loadKeys = () => import('./keys-help.tsx');

/** Ctrl-K or Cmd-K, wherever the focus is. */
function usePaletteKey(open: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [open]);
}

/** @param path of the router, with or without the console's base path */
const pageName = (path: string): string => {
  const [folder] = path
    .replace(/^\/dashboard(?=\/|$)/, '')
    .split('/')
    .filter(Boolean);
  return pages.find((page) => page.path === `/${folder ?? ''}`)?.label ?? 'Home';
};

/**
 * Scrolls a new page to its top. After a key or a click in the navigation, the page gets the focus: screen readers
 * announce its name, and Tab enters it.
 */
function useArrival(path: string): RefObject<HTMLElement | null> {
  const page = useRef<HTMLElement>(null);
  const last = useRef(path);
  useEffect(() => {
    if (last.current === path) return;
    last.current = path;
    if (page.current) page.current.scrollTop = 0;
    const { activeElement } = document;
    if (activeElement === document.body || activeElement?.closest('nav')) {
      page.current?.focus({ preventScroll: true });
    }
  }, [path]);
  return page;
}

/** After `g`, a letter opens a page, even if the current page uses the letter. */
function useLeader(): void {
  const navigate = useNavigate();
  useEffect(() => {
    let pressedAt = 0;
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (!prefs.get().letterKeys) return;
      const isLed = now() - pressedAt < leaderMs;
      pressedAt = event.key === 'g' ? now() : 0;
      const page = isLed ? pages.find(({ key }) => key === event.key) : undefined;
      if (!page) return;
      pressedAt = 0;
      event.stopPropagation();
      event.preventDefault();
      void navigate({ to: page.path, search: onlyEnv as never });
    };
    addEventListener('keydown', press, { capture: true });
    return () => removeEventListener('keydown', press, { capture: true });
  }, [navigate]);
}

function Rail(): JSX.Element {
  const { railClosed } = usePrefs();
  return (
    <nav className="rail" aria-label="Main">
      <div className="rail-head">
        <Mark />
        <span className="rail-name">Reeve</span>
      </div>
      {(['work', 'hosted', 'admin'] as const).map((group) => {
        const own = pages.filter((page) => page.group === group);
        return (
          own.length > 0 && (
            <ul key={group} className="rail-group">
              {own.map((page) => (
                <li key={page.path}>
                  <PageLink page={page} />
                </li>
              ))}
            </ul>
          )
        );
      })}
      <button
        type="button"
        className="rail-link rail-fold"
        aria-expanded={!railClosed}
        onClick={() => changePrefs({ railClosed: !railClosed })}
      >
        <Icon name="menu" size={20} />
        <span>{railClosed ? 'Expand navigation' : 'Collapse'}</span>
      </button>
    </nav>
  );
}

function PageLink({ page, onGo }: { readonly page: PageEntry; readonly onGo?: () => void }): JSX.Element {
  return (
    <Link
      to={page.path}
      search={onlyEnv as never}
      className="rail-link"
      activeOptions={{ exact: page.path === '/', includeSearch: false }}
      activeProps={{ 'aria-current': 'page' }}
      title={page.label}
      {...(onGo ? { onClick: onGo } : {})}
    >
      <Icon name={page.icon} size={20} />
      <span>{page.label}</span>
      {page.path === '/approvals' && <PendingCount />}
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

function TopBar({
  onHelp,
  onPalette,
}: {
  readonly onHelp: () => void;
  readonly onPalette: () => void;
}): JSX.Element {
  const [{ env = '' }, change] = useFilters();
  const name = pageName(useLocation({ select: ({ pathname }) => pathname }));
  return (
    <header className="top-bar">
      <span className="top-name" aria-hidden="true">
        {name}
      </span>
      <Select
        compact
        label="Environment"
        className={`env-switch ${env ? `env-${env}` : ''}`}
        value={env}
        onValue={(next) => change({ env: next })}
        options={[['', 'All environments'], ...envs.map((one) => [one, one] as const)]}
      />
      <span className="grow" />
      <button
        type="button"
        className="button button-quiet"
        onClick={onPalette}
        aria-label="Search pages and actions"
        aria-keyshortcuts="Control+K"
      >
        <Icon name="search" />
      </button>
      <LiveState />
      <button type="button" className="button button-quiet wide-only" onClick={onHelp} aria-label="Keys">
        <Icon name="keyboard" />
      </button>
      <Person />
    </header>
  );
}
