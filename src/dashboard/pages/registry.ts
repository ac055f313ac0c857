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
  /** Reason why the time range of the top bar does not apply; absent where it does. */
  readonly noRange?: string;
  /** Views of the page in which it does apply; the first view has no name. */
  readonly rangeViews?: readonly (string | undefined)[];
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

type Row = Omit<PageEntry, 'workspace'>;

const rows: { readonly [W in Workspace]: readonly Row[] } = {
  Operate: [
    { path: '/', label: 'Overview', icon: 'home', key: 'o', load: () => import('./home/page.tsx') },
    {
      ...{ path: '/inbox', label: 'Inbox', icon: 'approvals', key: 'i' },
      noRange: 'The inbox lists everything that is pending, so the time range does not apply.',
      load: () => import('./approvals/page.tsx'),
    },
    { path: '/explore', label: 'Explore', icon: 'events', key: 'e', load: () => import('./events/page.tsx') },
    {
      ...{ path: '/fleet', label: 'Fleet', icon: 'agents', key: 'f', noRange: current },
      rangeViews: [undefined, 'matrix', 'agents'],
      load: () => import('./agents/page.tsx'),
    },
  ],
  Govern: [
    {
      ...{ path: '/policies', label: 'Policies', icon: 'contracts', key: 'p', noRange: current },
      rangeViews: [undefined, 'contracts', 'compositions', 'documents'],
      load: () => import('./policies/page.tsx'),
    },
    {
      ...{ path: '/tools', label: 'Tools', icon: 'tools', key: 'l', noRange: current },
      load: () => import('./tools/page.tsx'),
    },
    {
      ...{ path: '/changes', label: 'Changes', icon: 'compositions', key: 'c' },
      load: () => import('./changes/page.tsx'),
    },
    {
      ...{ path: '/test', label: 'Test', icon: 'playground', key: 't' },
      load: () => import('./playground/page.tsx'),
    },
  ],
  Prove: [
    {
      ...{ path: '/runs', label: 'Runs', icon: 'runs', key: 'r' },
      load: () => import('./runs/page.tsx'),
    },
    {
      ...{ path: '/audit', label: 'Audit', icon: 'audit', key: 'a' },
      load: () => import('./audit/page.tsx'),
    },
    {
      ...{ path: '/evidence', label: 'Evidence', icon: 'keys', key: 'v' },
      noRange: 'Evidence is verified as a whole, so the time range does not apply.',
      load: () => import('./evidence/page.tsx'),
    },
  ],
};

export const pages: readonly PageEntry[] = workspaces.flatMap((workspace) =>
  rows[workspace].map((row) => ({ ...row, workspace })),
);

const admin = (path: string, label: string, icon: IconName, load: Load): AdminEntry => ({
  path: `/admin/${path}`,
  label,
  icon,
  load,
});

export const adminPages: readonly AdminEntry[] = [
  admin('keys', 'Keys', 'keys', () => import('./keys/page.tsx')),
  admin('channels', 'Channels', 'channels', () => import('./channels/page.tsx')),
  admin('people', 'People', 'person', () => import('./settings/users.tsx')),
  admin('service-accounts', 'Service accounts', 'terminal', () => import('./settings/service-accounts.tsx')),
  admin('environments', 'Environments', 'columns', () => import('./settings/environments.tsx')),
  admin('assistant', 'Assistant', 'settings', () => import('./settings/ai.tsx')),
  admin('retention', 'Retention', 'trash', () => import('./settings/retention-page.tsx')),
  admin('system', 'System', 'system', () => import('./system/page.tsx')),
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
  { path: '/bundles/$id', parent: '/policies', load: () => import('./documents/bundle.tsx') },
  { path: '/rulesets/$id', parent: '/policies', load: () => import('./documents/ruleset.tsx') },
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
