// Every page: its address, its name in the navigation, and the chunk that holds it. A new page is a folder beside this
// file and a row here.
import type { ComponentType } from 'react';
import type { IconName } from '../ui/icons.tsx';

export interface PageEntry {
  /** Below /dashboard. Details are filters of the same page (`?id=`), so that a list stays where it is. */
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  /** Pages of a group stand together in the rail. */
  readonly group: 'work' | 'hosted' | 'admin';
  /** The letter that leads here after `g`. */
  readonly key: string;
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

/** Pages without a row in the navigation, below a page that has one. */
export const linkedPages: readonly Pick<PageEntry, 'path' | 'load'>[] = [
  { path: '/approvals/$id', load: () => import('./approvals/one.tsx') },
  { path: '/tools/$id', load: () => import('./tools/one.tsx') },
];

export const pages: readonly PageEntry[] = [
  { path: '/', label: 'Home', icon: 'home', group: 'work', key: 'h', load: () => import('./home/page.tsx') },
  {
    path: '/approvals',
    label: 'Approvals',
    icon: 'approvals',
    group: 'work',
    key: 'a',
    load: () => import('./approvals/page.tsx'),
  },
  {
    path: '/events',
    label: 'Events',
    icon: 'events',
    group: 'work',
    key: 'e',
    load: () => import('./events/page.tsx'),
  },
  {
    path: '/contracts',
    label: 'Contracts',
    icon: 'contracts',
    group: 'work',
    key: 'c',
    load: () => import('./contracts/page.tsx'),
  },
  {
    path: '/compositions',
    label: 'Compositions',
    icon: 'compositions',
    group: 'work',
    key: 'o',
    load: () => import('./compositions/page.tsx'),
  },
  {
    path: '/bundles',
    label: 'Bundles',
    icon: 'bundles',
    group: 'work',
    key: 'b',
    load: () => import('./bundles/page.tsx'),
  },
  {
    path: '/agents',
    label: 'Agents',
    icon: 'agents',
    group: 'work',
    key: 't',
    load: () => import('./agents/page.tsx'),
  },
  {
    path: '/tools',
    label: 'Tools',
    icon: 'tools',
    group: 'work',
    key: 'x',
    load: () => import('./tools/page.tsx'),
  },
  {
    path: '/playground',
    label: 'Playground',
    icon: 'playground',
    group: 'work',
    key: 'p',
    load: () => import('./playground/page.tsx'),
  },
  {
    path: '/runs',
    label: 'Runs',
    icon: 'runs',
    group: 'hosted',
    key: 'r',
    load: () => import('./runs/page.tsx'),
  },
  {
    path: '/rulesets',
    label: 'Rulesets',
    icon: 'rulesets',
    group: 'hosted',
    key: 'l',
    load: () => import('./rulesets/page.tsx'),
  },
  {
    path: '/audit',
    label: 'Audit',
    icon: 'audit',
    group: 'hosted',
    key: 'u',
    load: () => import('./audit/page.tsx'),
  },
  {
    path: '/keys',
    label: 'Keys',
    icon: 'keys',
    group: 'admin',
    key: 'k',
    load: () => import('./keys/page.tsx'),
  },
  {
    path: '/channels',
    label: 'Channels',
    icon: 'channels',
    group: 'admin',
    key: 'n',
    load: () => import('./channels/page.tsx'),
  },
  {
    path: '/settings',
    label: 'Settings',
    icon: 'settings',
    group: 'admin',
    key: 's',
    load: () => import('./settings/page.tsx'),
  },
  {
    path: '/system',
    label: 'System',
    icon: 'system',
    group: 'admin',
    key: 'y',
    load: () => import('./system/page.tsx'),
  },
];
