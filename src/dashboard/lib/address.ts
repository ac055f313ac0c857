// Addresses of the console: where a thing has its page, and where an address of an earlier console leads. Messages
// contain old addresses for good, so their translations stay.

/** A link of the router: a path with the ids of a thing. */
export interface ThingLink {
  readonly to: string;
  readonly params: never;
}

/**
 * An id as one part of a path. Browsers resolve `.` and `..` even when they are encoded, so these two, and what looks
 * like their replacement, get a `~` in front.
 */
export const partOf = (id: string): string => (/^~*\.{1,2}$/.test(id) ? `~${id}` : id);

export const idOf = (part: string): string => (/^~+\.{1,2}$/.test(part) ? part.slice(1) : part);

const link = (to: string, params: { readonly [name: string]: string }): ThingLink => ({
  to,
  params: Object.fromEntries(Object.entries(params).map(([name, id]) => [name, partOf(id)])) as never,
});

/** The page of each thing. */
export const linkTo = {
  approval: (id: string) => link('/approvals/$id', { id }),
  event: (id: string) => link('/events/$id', { id }),
  agent: (id: string) => link('/agents/$id', { id }),
  agentTab: (id: string, tab: string) => link('/agents/$id/$tab', { id, tab }),
  contract: (id: string) => link('/contracts/$id', { id }),
  composition: (id: string) => link('/compositions/$id', { id }),
  bundle: (id: string) => link('/bundles/$id', { id }),
  ruleset: (id: string) => link('/rulesets/$id', { id }),
  run: (agent: string, session: string) => link('/runs/$agent/$session', { agent, session }),
  channel: (id: string) => link('/admin/channels/$id', { id }),
  tool: (id: string) => link('/tools/$id', { id }),
  deployment: (id: string) => link('/changes/deployment/$id', { id }),
} as const;

type Params = { readonly [name: string]: string };
interface Address {
  readonly path: string;
  readonly search: Params;
}

const pathOf = (...parts: readonly string[]): string =>
  `/${parts.map((part, at) => (at === 0 ? part : encodeURIComponent(partOf(part)))).join('/')}`;

/** A list and its things: `?id=` opened a thing over its list. */
const list =
  (noun: string, path: string, view?: string) =>
  ({ id, ...rest }: Params): Address =>
    id ? { path: pathOf(noun, id), search: rest } : { path, search: view ? { ...rest, view } : rest };

const views: { readonly [view: string]: string } = { history: 'decided', rules: 'assignment' };

/** Target of each page of the earlier console. */
const earlier: { readonly [path: string]: (search: Params) => Address } = {
  '/approvals': ({ view, ...search }) => list('approvals', '/inbox', views[view ?? ''])(search as Params),
  '/events': list('events', '/explore'),
  '/contracts': list('contracts', '/policies'),
  '/compositions': list('compositions', '/policies', 'compositions'),
  '/bundles': list('bundles', '/policies', 'documents'),
  '/rulesets': list('rulesets', '/policies', 'documents'),
  '/agents': ({ view, ...search }) =>
    list('agents', '/fleet', views[view ?? ''] ?? 'agents')(search as Params),
  '/playground': (search) => ({ path: '/test', search }),
  '/keys': (search) => ({ path: '/admin/keys', search }),
  '/channels': ({ id, ...search }) => ({
    path: id ? `/admin/channels/${encodeURIComponent(partOf(id))}` : '/admin/channels',
    search: search as Params,
  }),
  '/settings': (search) => ({ path: '/me', search }),
  '/system': (search) => ({ path: '/admin/system', search }),
  '/runs': ({ agent, session, ...search }) =>
    agent && session ? { path: pathOf('runs', agent, session), search } : { path: '/runs', search },
};

/** Filters of the earlier console whose names changed. */
function withRange({ range, since, until, days, ...search }: Params): Params {
  const length = range || (days && `${days}d`);
  return {
    ...search,
    ...(since ? { from: since } : length ? { from: `now-${length}` } : {}),
    ...(since && until ? { to: until } : {}),
  };
}

/**
 * Translates an address of the earlier console.
 * @param path below /dashboard, with a slash in front
 * @returns the address of today; null if the given one is not of the earlier console
 */
export function translateOld(path: string, search: Params): Address | null {
  const plain = path.length > 1 ? path.replace(/(?<!\/)\/+$/, '') : path;
  const translated = earlier[plain]?.(search) ?? null;
  const hasOldRange = ['range', 'since', 'until', 'days'].some((name) => name in search);
  if (translated === null) return hasOldRange ? { path: plain, search: withRange(search) } : null;
  const result = { path: translated.path, search: withRange(translated.search) };
  // `/runs` keeps its address, and its list has no other filters.
  return result.path === plain && !hasOldRange ? null : result;
}
