// The filters of a page are in its address, as texts. Empty filters are left out.
import { useLocation, useNavigate } from '@tanstack/react-router';

export interface Search {
  readonly [name: string]: string | undefined;
}

export function parseSearch(text: string): { [name: string]: string } {
  return Object.fromEntries(new URLSearchParams(text));
}

export function writeSearch(search: { readonly [name: string]: unknown }): string {
  const pairs = Object.entries(search).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  const text = new URLSearchParams(
    pairs.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return text === '' ? '' : `?${text}`;
}

/**
 * The filters in the address, and a function that changes them. A missing member keeps its filter, undefined clears it.
 * `replace` adds no history entry.
 */
export function useFilters(): [Search, (changed: Search, replace?: boolean) => void] {
  const search = useLocation({ select: (location) => location.search as Search });
  const navigate = useNavigate();
  return [
    search,
    (changed, replace = false) =>
      void navigate({ to: '.', search: ((before: Search) => ({ ...before, ...changed })) as never, replace }),
  ];
}

/** One filter: its component does not render when another filter changes. Each change adds a history entry. */
export function useFilter(
  name: string,
): readonly [value: string | undefined, change: (value: string | undefined) => void] {
  const value = useLocation({ select: (location) => (location.search as Search)[name] });
  const navigate = useNavigate();
  return [
    value,
    (next) =>
      void navigate({ to: '.', search: ((before: Search) => ({ ...before, [name]: next })) as never }),
  ];
}

/** Parameters that all pages share: the frame keeps them between pages. */
export const scopeNames = ['env', 'from', 'to', 'compare', 'tz'] as const;

export type Env = 'production' | 'staging' | 'development';
export const envs: readonly Env[] = ['production', 'staging', 'development'];

/** The environment selected in the top bar; undefined for all. */
export function useEnv(): Env | undefined {
  const env = useLocation({ select: (location) => (location.search as Search).env });
  return envs.find((one) => one === env);
}
