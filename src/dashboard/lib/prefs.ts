// A person's preferences, stored in this browser under the user id: theme, times, density, columns, splits. Without
// storage, they last as long as the page.
import { useMemo } from 'react';
import { createStore, useStore } from './store.ts';

export type Theme = 'system' | 'light' | 'dark';

export const themes: readonly (readonly [Theme, label: string])[] = [
  ['system', 'System theme'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

export interface Prefs {
  readonly theme: Theme;
  readonly utc: boolean;
  readonly compact: boolean;
  readonly railClosed: boolean;
  readonly notify: boolean;
  readonly chartsAsTables: boolean;
  /** Single-letter keys are active. Speech control needs them off. */
  readonly letterKeys: boolean;
  /** Recent choices in the palette, the latest first. */
  readonly recent: readonly string[];
  /** Hidden columns, by table. */
  readonly hidden: { readonly [table: string]: readonly string[] };
  /** Widths of columns in pixels, by table. */
  readonly widths: { readonly [table: string]: { readonly [column: string]: number } };
  /** Columns that stay in sight, by table. */
  readonly pinned: { readonly [table: string]: readonly string[] };
  /** Width of a side of each split, in pixels. */
  readonly splits: { readonly [name: string]: number };
  /** Ends of snoozed approvals by id, in epoch milliseconds of the hub. */
  readonly snoozed: { readonly [id: string]: number };
}

const fallback: Prefs = {
  theme: 'system',
  utc: false,
  compact: false,
  railClosed: false,
  notify: false,
  chartsAsTables: false,
  letterKeys: true,
  recent: [],
  hidden: {},
  widths: {},
  pinned: {},
  splits: {},
  snoozed: {},
};

/** The newest texts that the browser did not store: they last as long as the page. */
const pageTexts = new Map<string, string | null>();

export function readStored(key: string): string | null {
  const text = pageTexts.get(key);
  if (text !== undefined) return text;
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function writeStored(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
    pageTexts.delete(key);
  } catch {
    pageTexts.set(key, value);
  }
}

let owner = '';
export const prefs = createStore<Prefs>(fallback);

/** The address contains `tz=utc`: a link shows the times of its sender. The frame keeps both the same. */
export const utcInAddress = createStore(false);

/** @param absent the preferences if this browser stores none */
function storedPrefs(absent: Prefs): Prefs {
  const text = readStored(ownKey('prefs'));
  if (text === null) return absent;
  try {
    return { ...fallback, ...JSON.parse(text) };
  } catch {
    // Unreadable content: the defaults apply.
    return fallback;
  }
}

function showStored(): void {
  prefs.set(storedPrefs(fallback));
  if (prefs.get().utc) utcInAddress.set(true);
  showTheme(prefs.get().theme);
}

/** Loads the user's preferences. */
export function loadPrefs(userId: string): void {
  owner = userId;
  showStored();
}

// Another tab changed the preferences.
addEventListener('storage', ({ key }) => {
  // The stored text is newer than this tab's.
  if (key === null) pageTexts.clear();
  else pageTexts.delete(key);
  if (owner && key === ownKey('prefs')) showStored();
});

/** @param change the changed preferences; a function of the stored ones for a change within a list or map */
export function changePrefs(change: Partial<Prefs> | ((stored: Prefs) => Partial<Prefs>)): void {
  // Another tab may have changed others.
  const stored = storedPrefs(prefs.get());
  const changed = typeof change === 'function' ? change(stored) : change;
  prefs.set({ ...stored, ...changed });
  if (changed.utc !== undefined) utcInAddress.set(changed.utc);
  writeStored(ownKey('prefs'), JSON.stringify(prefs.get()));
}

/** The person's preferences. Times are in UTC, too, while the address contains `tz=utc`. */
export function usePrefs(): Prefs {
  const own = useStore(prefs);
  const isUtc = useStore(utcInAddress);
  return useMemo(() => (isUtc && !own.utc ? { ...own, utc: true } : own), [own, isUtc]);
}

/** Storage key for other data of this user, such as saved cases. */
export const ownKey = (name: string): string => `reeve.${name}.${owner}`;

// The theme of the latest person. public/theme.js reads it before the first paint, when the person is still unknown.
const themeKey = 'reeve.theme';

export const themeChoice = createStore<Theme>((readStored(themeKey) as Theme | null) ?? 'system');

export function chooseTheme(theme: Theme): void {
  changePrefs({ theme });
  showTheme(theme);
}

function showTheme(theme: Theme): void {
  writeStored(themeKey, theme === 'system' ? null : theme);
  if (themeChoice.get() === theme) return;
  themeChoice.set(theme);
  applyTheme();
}

const systemDark = matchMedia('(prefers-color-scheme: dark)');

function applyTheme(): void {
  const theme = themeChoice.get();
  const dark = theme === 'dark' || (theme === 'system' && systemDark.matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}
systemDark.addEventListener('change', applyTheme);
