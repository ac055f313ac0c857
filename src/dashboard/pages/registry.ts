// Every page: its address, its name in the navigation, and the chunk that holds it. A new page is a folder beside this
// file and a row here.
import type { ComponentType } from 'react';
import type { IconName } from '../ui/icons.tsx';

type Load = () => Promise<{ readonly default: ComponentType }>;

export type Workspace = 'Operate' | 'Govern' | 'Prove';

export interface PageEntry {
  /** Below /dashboard. */
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  readonly workspace: Workspace;
  /** The letter that leads here after `g`. */
  readonly key: string;
  /** Why the time range of the top bar does not apply; absent where it does. */
  readonly noRange?: string;
  readonly load: Load;
}

/** A page of the account menu. */
export interface AdminEntry {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  readonly load: Load;
}

/** The page of one thing, below a page of the navigation. */
export interface ThingEntry {
  readonly path: string;
  /** Path of the page that lists such things. */
  readonly parent: string;
  readonly load: Load;
}

export const workspaces: readonly Workspace[] = ['Operate', 'Govern', 'Prove'];

const current = 'This page displays the current state, so the time range does not apply.';
const ownPeriod = 'This page has its own filter for the period.';

export const pages: readonly PageEntry[] = [
  {
    path: '/',
    label: 'Overview',
    icon: 'home',
    workspace: 'Operate',
    key: 'o',
    load: () => import('./home/page.tsx'),
  },
  {
    path: '/inbox',
    label: 'Inbox',
    icon: 'approvals',
    workspace: 'Operate',
    key: 'i',
    noRange: 'The inbox lists everything that is pending, so the time range does not apply.',
    load: () => import('./approvals/page.tsx'),
  },
  {
    path: '/explore',
    label: 'Explore',
    icon: 'events',
    workspace: 'Operate',
    key: 'e',
    load: () => import('./events/page.tsx'),
  },
  {
    path: '/fleet',
    label: 'Fleet',
    icon: 'agents',
    workspace: 'Operate',
    key: 'f',
    noRange: current,
    load: () => import('./agents/page.tsx'),
  },
  {
    path: '/policies',
    label: 'Policies',
    icon: 'contracts',
    workspace: 'Govern',
    key: 'p',
    noRange: current,
    load: () => import('./policies/page.tsx'),
  },
  {
    path: '/tools',
    label: 'Tools',
    icon: 'tools',
    workspace: 'Govern',
    key: 'l',
    noRange: current,
    load: () => import('./tools/page.tsx'),
  },
  {
    path: '/changes',
    label: 'Changes',
    icon: 'compositions',
    workspace: 'Govern',
    key: 'c',
    noRange: 'Changes are listed newest first, so the time range does not apply.',
    load: () => import('./changes/page.tsx'),
  },
  {
    path: '/test',
    label: 'Test',
    icon: 'playground',
    workspace: 'Govern',
    key: 't',
    noRange: current,
    load: () => import('./playground/page.tsx'),
  },
  {
    path: '/runs',
    label: 'Runs',
    icon: 'runs',
    workspace: 'Prove',
    key: 'r',
    noRange: 'Runs are listed by their last activity, so the time range does not apply.',
    load: () => import('./runs/page.tsx'),
  },
  {
    path: '/audit',
    label: 'Audit',
    icon: 'audit',
    workspace: 'Prove',
    key: 'a',
    noRange: ownPeriod,
    load: () => import('./audit/page.tsx'),
  },
  {
    path: '/evidence',
    label: 'Evidence',
    icon: 'keys',
    workspace: 'Prove',
    key: 'v',
    noRange: 'Evidence is verified as a whole, so the time range does not apply.',
    load: () => import('./evidence/page.tsx'),
  },
];

const people = (): Promise<typeof import('./settings/people.tsx')> => import('./settings/people.tsx');

export const adminPages: readonly AdminEntry[] = [
  { path: '/admin/keys', label: 'Keys', icon: 'keys', load: () => import('./keys/page.tsx') },
  { path: '/admin/channels', label: 'Channels', icon: 'channels', load: () => import('./channels/page.tsx') },
  { path: '/admin/people', label: 'People', icon: 'person', load: people },
  {
    path: '/admin/service-accounts',
    label: 'Service accounts',
    icon: 'terminal',
    load: () => import('./settings/service-accounts-page.tsx'),
  },
  {
    path: '/admin/environments',
    label: 'Environments',
    icon: 'columns',
    load: () => import('./settings/environments-page.tsx'),
  },
  {
    path: '/admin/assistant',
    label: 'Assistant',
    icon: 'settings',
    load: () => import('./settings/assistant-page.tsx'),
  },
  {
    path: '/admin/retention',
    label: 'Retention',
    icon: 'trash',
    load: () => import('./settings/retention-page.tsx'),
  },
  { path: '/admin/system', label: 'System', icon: 'system', load: () => import('./system/page.tsx') },
];

/** The pages of the signed-in person. */
export const ownPages: readonly AdminEntry[] = [
  { path: '/me', label: 'Profile', icon: 'person', load: () => import('./settings/profile-page.tsx') },
  {
    path: '/me/security',
    label: 'Security',
    icon: 'keys',
    load: () => import('./settings/security-page.tsx'),
  },
];

export const thingPages: readonly ThingEntry[] = [
  { path: '/approvals/$id', parent: '/inbox', load: () => import('./approvals/one.tsx') },
  { path: '/events/$id', parent: '/explore', load: () => import('./events/detail.tsx') },
  { path: '/agents/$id', parent: '/fleet', load: () => import('./agents/one.tsx') },
  { path: '/agents/$id/$tab', parent: '/fleet', load: () => import('./agents/one.tsx') },
  { path: '/contracts/$id', parent: '/policies', load: () => import('./contracts/detail.tsx') },
  { path: '/compositions/$id', parent: '/policies', load: () => import('./compositions/detail.tsx') },
  { path: '/bundles/$id', parent: '/policies', load: () => import('./bundles/detail.tsx') },
  { path: '/rulesets/$id', parent: '/policies', load: () => import('./rulesets/detail.tsx') },
  { path: '/tools/$id', parent: '/tools', load: () => import('./tools/one.tsx') },
  { path: '/runs/$agent/$session', parent: '/runs', load: () => import('./runs/one.tsx') },
  { path: '/admin/channels/$id', parent: '/admin/channels', load: () => import('./channels/one.tsx') },
  { path: '/changes/new', parent: '/changes', load: () => import('./changes/new.tsx') },
  { path: '/changes/deployment/$id', parent: '/changes', load: () => import('./changes/deployment.tsx') },
];

/**
 * The page of the navigation or of the account menu that an address belongs to.
 * @param path of the router, with or without the console's base path
 */
export function pageAt(path: string): PageEntry | AdminEntry {
  const [folder = '', ...rest] = path
    .replace(/^\/dashboard(?=\/|$)/, '')
    .split('/')
    .filter(Boolean);
  const whole = `/${[folder, ...rest].join('/')}`;
  const own = [...adminPages, ...ownPages].find(
    (page) => page.path === whole || (folder === 'admin' && whole.startsWith(`${page.path}/`)),
  );
  if (own) return own;
  const parent = thingPages.find((page) => page.path.startsWith(`/${folder}/`))?.parent ?? `/${folder}`;
  return (pages.find((page) => page.path === parent) ?? pages[0]) as PageEntry;
}
