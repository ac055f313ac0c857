// The entries of the palette: pages, the current page's commands, global actions, and the hub's objects by name with
// their actions.
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { linkTo, type ThingLink } from '../lib/address.ts';
import { call, type Reply } from '../lib/api.ts';
import { askFor, type CommandName, commandOf, commands, type Offer, offers } from '../lib/commands.ts';
import { useHosted } from '../lib/hosted-query.ts';
import { envRefusal, refusalOf, useActionBlockReason } from '../lib/may.ts';
import { type Me, signOut, useSignedIn } from '../lib/me.ts';
import { changePrefs, chooseTheme, type Prefs, themeChoice, themes, usePrefs } from '../lib/prefs.ts';
import { useCall } from '../lib/query.ts';
import { envs, type Search } from '../lib/search.ts';
import { useStore } from '../lib/store.ts';
import { refreshAll } from '../live/cache.ts';
import { adminPages, ownPages, pages } from '../pages/registry.ts';
import type { IconName } from '../ui/icons.tsx';
import { say } from '../ui/messages.tsx';

export interface Entry {
  /** Stable key of the entry, for the list of recent choices. */
  readonly id: string;
  readonly label: string;
  readonly kind: 'page' | 'here' | 'action' | Thing;
  readonly icon: IconName;
  /** Keys to press in sequence. */
  readonly keys: readonly string[];
  /** Reason why the entry is disabled. */
  readonly why: string | null;
  /** Matches the text, whatever the label contains. */
  readonly isMatch: boolean;
  readonly go: () => void;
}

type SearchResult = Reply<'searchThings'>['results'][number];
type Thing = SearchResult['type'] | 'ruleset';

type Go = (path: string, search?: { readonly [name: string]: string }) => void;
type Open = (link: ThingLink) => void;

type More = Partial<Pick<Entry, 'keys' | 'why' | 'isMatch'>>;

const entry = (
  id: string,
  kind: Entry['kind'],
  label: string,
  icon: IconName,
  go: () => void,
  more: More = {},
): Entry => ({ id, kind, label, icon, go, keys: [], why: null, isMatch: false, ...more });

const action = (id: string, label: string, icon: IconName, go: () => void, more?: More): Entry =>
  entry(id, 'action', label, icon, go, more);

export function useEntries(text: string): readonly Entry[] {
  const navigate = useNavigate();
  const me = useSignedIn();
  const current = usePrefs();
  const here = useStore(offers);
  const cannot = useActionBlockReason('makeSampleRun');
  const things = useThings(text.trim());
  return useMemo(() => {
    const go: Go = (path, search = {}) => void navigate({ to: path, search: search as never });
    const open: Open = (link) => void navigate({ ...link });
    const narrow = (env: string | undefined): void =>
      void navigate({ to: '.', search: ((before: Search) => ({ ...before, env })) as never });
    return [
      ...offered(here),
      ...pages.map(({ path, label, icon, key }) =>
        entry(`page ${path}`, 'page', label, icon, () => go(path), { keys: ['g', key] }),
      ),
      ...[...adminPages, ...ownPages].map(({ path, label, icon }) =>
        entry(`page ${path}`, 'page', label, icon, () => go(path)),
      ),
      ...leading(here, me, go),
      ...views(go),
      ...environments(me, narrow),
      ...looks(current),
      ...always(cannot),
      ...queries(text.trim(), go),
      ...things(open),
    ];
  }, [navigate, me, current, here, cannot, things, text]);
}

/** Commands of the current page. */
const offered = (here: ReadonlyMap<CommandName, Offer>): readonly Entry[] =>
  [...here].map(([name, { of, label, why }]) => {
    const { label: plain, icon, key } = commandOf(name);
    const words = label ?? (of === null ? plain : `${plain} ${of}`);
    const keys = key === undefined ? [] : [key];
    return entry(`do ${name}`, 'here', words, icon, () => askFor(name, of), { keys, why });
  });

/** Commands of other pages. */
const leading = (here: ReadonlyMap<CommandName, Offer>, me: Me, go: Go): readonly Entry[] =>
  (Object.keys(commands) as CommandName[]).flatMap((name) => {
    const { path, label, icon, search, operation } = commandOf(name);
    if (path === undefined || here.has(name)) return [];
    const isSearchAlone = name === 'liveTail';
    const lead = (): void => {
      if (!isSearchAlone) askFor(name);
      go(path, search);
    };
    return action(`do ${name}`, label, icon, lead, { why: refusalOf(me.roles, operation) });
  });

const views = (go: Go): readonly Entry[] => [
  action('denied', 'Show denied calls', 'slash', () => go('/explore', { verdict: 'call_denied' })),
  action('drift', 'Show out-of-date agents', 'triangle', () =>
    go('/fleet', { view: 'agents', status: 'drift' }),
  ),
  action('history', 'Show decided approvals', 'approvals', () => go('/inbox', { view: 'decided' })),
];

const environments = ({ roles }: Me, narrow: (env: string | undefined) => void): readonly Entry[] => [
  action('env all', 'Switch to all environments', 'system', () => narrow(undefined)),
  ...envs.map((env) =>
    action(`env ${env}`, `Switch to ${env}`, 'system', () => narrow(env), { why: envRefusal(roles, env) }),
  ),
];

type Switch = 'utc' | 'compact' | 'chartsAsTables' | 'railClosed' | 'letterKeys';

/** Preferences that are on or off: what to press while they are. */
const switches: readonly (readonly [
  id: string,
  Switch,
  on: string,
  off: string,
  IconName,
  keys?: readonly string[],
])[] = [
  ['utc', 'utc', 'Show local times', 'Show times in UTC', 'events'],
  ['compact', 'compact', 'Use comfortable rows', 'Use compact rows', 'menu'],
  ['tables', 'chartsAsTables', 'Show charts', 'Show charts as tables', 'columns', ['Shift T']],
  ['rail', 'railClosed', 'Expand navigation', 'Collapse navigation', 'menu'],
  ['letters', 'letterKeys', 'Turn off single-letter keys', 'Turn on single-letter keys', 'keyboard'],
];

const looks = (current: Prefs): readonly Entry[] => [
  ...themes
    .filter(([theme]) => theme !== themeChoice.get())
    .map(([theme]) => action(theme, `Use the ${theme} theme`, 'sun', () => chooseTheme(theme))),
  ...switches.map(([id, name, on, off, icon, keys = []]) =>
    action(id, current[name] ? on : off, icon, () => changePrefs({ [name]: !current[name] }), { keys }),
  ),
];

/** The hub sends no frames about the sample run, so the visible data reloads. */
async function changeSample(make: boolean): Promise<void> {
  try {
    await (make ? call('makeSampleRun') : call('deleteSampleRun'));
    refreshAll();
    say(make ? 'Sample run loaded. Open Runs or Approvals to view it.' : 'Sample run deleted.', 'allow');
  } catch (failure) {
    say((failure as Error).message, 'deny');
  }
}

const leave = (): void => void signOut().catch((error: Error) => say(error.message, 'deny'));

const always = (cannot: string | null): readonly Entry[] => [
  action('sample', 'Load sample run', 'runs', () => void changeSample(true), { why: cannot }),
  action('no sample', 'Delete sample run', 'trash', () => void changeSample(false), { why: cannot }),
  action('out', 'Sign out', 'person', leave),
];

const all = { query: { limit: 1000 } };
/** Maximum of the newest runs and rulesets. */
const newest = 200;
/** Characters that the hub's search takes, at most. */
const maxSearchLength = 200;

/** Icon of each kind of thing that the hub finds, and its page. */
const places: {
  readonly [T in SearchResult['type']]: readonly [icon: IconName, link: (result: SearchResult) => ThingLink];
} = {
  approval: ['approvals', ({ id }) => linkTo.approval(id)],
  event: ['events', ({ id }) => linkTo.event(id)],
  deployment: ['compositions', ({ id }) => linkTo.deployment(id)],
  run: ['runs', ({ name, hint }) => linkTo.run(hint, name)],
  agent: ['agents', ({ id }) => linkTo.agent(id)],
  contract: ['contracts', ({ id }) => linkTo.contract(id)],
  composition: ['compositions', ({ id }) => linkTo.composition(id)],
  bundle: ['bundles', ({ id }) => linkTo.bundle(id)],
  tool: ['tools', ({ id }) => linkTo.tool(id)],
  channel: ['channels', ({ id }) => linkTo.channel(id)],
  key: ['keys', () => page('/admin/keys')],
  service_account: ['terminal', () => page('/admin/service-accounts')],
  person: ['person', () => page('/admin/people')],
};

const page = (to: string): ThingLink => ({ to, params: {} as never });

const entryOf = (result: SearchResult, open: Open): Entry => {
  const { type, id, name, hint } = result;
  const [icon, link] = places[type];
  const label = hint === '' || name.includes(hint) ? name : `${name} · ${hint}`;
  const key = type === 'run' ? `run ${hint} ${name}` : `${type} ${id}`;
  return entry(key, type, label, icon, () => open(link(result)), { isMatch: true });
};

/** A text with a field is a query of Explore. */
const queries = (text: string, go: Go): readonly Entry[] =>
  /[\w*]:\S/.test(text)
    ? [
        action('search calls', `Search calls: ${text}`, 'search', () => go('/explore', { q: text }), {
          isMatch: true,
        }),
      ]
    : [];

/** All named objects, for a typed text. Without a text, the list would have thousands of entries. */
function useThings(text: string): (open: Open) => readonly Entry[] {
  const enabled = text.length > 1;
  const query = { q: text.slice(0, maxSearchLength) };
  const results = useCall('searchThings', { query }, { enabled, keep: true }).data?.results;
  const bundles = useCall('listBundles', all).data;
  const compositions = useCall('listCompositions', all).data;
  const contracts = useCall('listContracts', all).data;
  const waiting = useCall('listApprovals', { query: { sort: 'expires_at', limit: 200 } }).data;
  const rulesets = useHosted('hostedListRulesets', { query: { limit: newest } }, { enabled }).data;
  const runs = useHosted('hostedListRuns', { query: { limit: newest } }, { enabled }).data;
  return useMemo(() => {
    if (!enabled) return (): readonly Entry[] => [];
    return (open: Open): readonly Entry[] => {
      const one = (kind: 'composition' | 'bundle' | 'contract' | 'ruleset', id: string): Entry =>
        entry(`${kind} ${id}`, kind, id, `${kind}s`, () => open(linkTo[kind](id)));
      const act = (name: CommandName, link: ThingLink, of: string, label: string, detail = ''): Entry =>
        action(`${name} ${of} ${detail}`, label, commandOf(name).icon, () => {
          askFor(name, of, detail);
          open(link);
        });
      const listed = [
        ...(compositions ?? []).flatMap(({ name }) => [
          one('composition', name),
          act('deploy', linkTo.composition(name), name, `Deploy ${name}`),
        ]),
        ...(bundles ?? []).flatMap(({ name, deployed_envs: running }) => [
          one('bundle', name),
          act('deploy', linkTo.bundle(name), name, `Deploy bundle ${name}`),
          ...running.flatMap((env) => [
            act('rollBack', linkTo.bundle(name), name, `Roll back ${name} in ${env}`, env),
            act('undeploy', linkTo.bundle(name), name, `Undeploy ${name} from ${env}`, env),
          ]),
        ]),
        ...(contracts ?? []).map(({ contract_id: id }) => one('contract', id)),
        ...(rulesets?.rulesets ?? []).map(({ name }) => one('ruleset', name)),
        ...(runs?.runs ?? []).map(({ agent_id: agent, session_id: session }) =>
          entry(`run ${agent} ${session}`, 'run', `${session} from ${agent}`, 'runs', () =>
            open(linkTo.run(agent, session)),
          ),
        ),
        ...(waiting ?? []).map(({ id, tool_name: tool, agent_id: agent }) =>
          entry(`approval ${id}`, 'approval', `Decide ${tool} from ${agent}`, 'approvals', () =>
            open(linkTo.approval(id)),
          ),
        ),
      ];
      const ids = new Set(listed.map(({ id }) => id));
      const others = (results ?? []).map((result) => entryOf(result, open));
      return [...listed, ...others.filter(({ id }) => !ids.has(id))];
    };
  }, [enabled, results, bundles, compositions, contracts, waiting, rulesets, runs]);
}
