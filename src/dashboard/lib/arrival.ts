// The address at the start: an address of the earlier console is replaced, and range and environment come back that
// this tab had before.
import { translateOld } from './address.ts';
import { utcInAddress } from './prefs.ts';
import { parseSearch, scopeNames, writeSearch } from './search.ts';

const base = '/dashboard';
const key = 'reeve.scope';

type Scope = { readonly [name: string]: string };

function storedScope(): Scope {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(key) ?? '{}');
    return stored !== null && typeof stored === 'object' ? (stored as Scope) : {};
  } catch {
    return {};
  }
}

const onlyScope = (search: Scope): Scope =>
  Object.fromEntries(
    scopeNames.flatMap((name) => (typeof search[name] === 'string' ? [[name, search[name] as string]] : [])),
  );

/** The address of a change names the environment of the change. The environment of the other pages stays. */
const isChange = (): boolean => location.pathname === `${base}/changes/new`;

/** Range and environment for the links of a page, from its address. */
export const scopeForLinks = (search: Scope): Scope => {
  const { env: _, ...range } = onlyScope(search);
  const { env } = isChange() ? storedScope() : search;
  return { ...range, ...(env ? { env } : {}) };
};

/** Remembers range and environment for the next start in this tab. */
export function keepScope(search: Scope): void {
  try {
    sessionStorage.setItem(key, JSON.stringify(scopeForLinks(search)));
  } catch {
    // Without storage, they last as long as the page.
  }
}

/** Replaces the address before the router reads it. The address wins over what is stored. */
export function arrive(): void {
  const { pathname, search: text, hash } = location;
  if (!pathname.startsWith(base)) return;
  const path = pathname.slice(base.length) || '/';
  const search = parseSearch(text);
  const today = translateOld(path, search) ?? { path, search };
  // A range consists of two parameters, so one of them in the address replaces both.
  const { from, to, ...others } = onlyScope(storedScope());
  const range =
    today.search.from || today.search.to ? {} : { ...(from ? { from } : {}), ...(to ? { to } : {}) };
  const next: Scope = { ...others, ...range, ...today.search };
  utcInAddress.set(next.tz === 'utc');
  const address = `${base}${today.path}${writeSearch(next)}`;
  if (address !== pathname + text) history.replaceState(null, '', address + hash);
}
