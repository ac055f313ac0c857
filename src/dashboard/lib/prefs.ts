// What a person chose, kept in this browser under their user id: theme, times, density, columns. Storage may be
// refused; then it lasts for the page.
import { createStore, useStore } from './store.ts';

export type Theme = 'system' | 'light' | 'dark';

export interface Prefs {
  readonly theme: Theme;
  readonly utc: boolean;
  readonly compact: boolean;
  readonly railClosed: boolean;
  readonly notify: boolean;
  readonly chartsAsTables: boolean;
  /** A letter alone does something; who speaks to the machine, or slips, turns that off. */
  readonly letterKeys: boolean;
  /** Of the palette, the last one first. */
  readonly recent: readonly string[];
  /** Hidden columns, by table. */
  readonly hidden: { readonly [table: string]: readonly string[] };
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
};

export function readStored(key: string): string | null {
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
  } catch {
    // Refused: it counts until the page is closed.
  }
}

let owner = '';
export const prefs = createStore<Prefs>(fallback);

/** Reads what this user chose. */
export function loadPrefs(userId: string): void {
  owner = userId;
  let stored: Partial<Prefs> = {};
  try {
    stored = JSON.parse(readStored(`reeve.prefs.${userId}`) ?? '{}');
  } catch {
    // Not ours: the defaults count.
  }
  prefs.set({ ...fallback, ...stored });
  showTheme(prefs.get().theme);
}

export function changePrefs(changed: Partial<Prefs>): void {
  prefs.set((before) => ({ ...before, ...changed }));
  writeStored(`reeve.prefs.${owner}`, JSON.stringify(prefs.get()));
}

export const usePrefs = (): Prefs => useStore(prefs);

/** A name for what this user keeps by itself, such as saved cases. */
export const ownKey = (name: string): string => `reeve.${name}.${owner}`;

// What the person who was here last chose: public/theme.js reads it before the first paint, when nobody is known yet.
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
