// Things of a tenant by the beginning of their names, or by their ids: those that the caller may read. Keeps
// promise P72.
import type { AgentPlace, RegistrationSummary } from '../agent/record.ts';
import type { Bundles } from '../bundle/use-cases/bundles.ts';
import type { Keys } from '../key/use-cases.ts';
import { holdsRole, mayListPeople, seesAgent, seesEnv, visibleEnvOf, visibleEnvs } from '../shared/access.ts';
import { type Env, environments, isAgentId } from '../shared/ids.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import type { Principal } from '../shared/principal.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import { bestMatches, type NameSearch, nameSearch, type Thing, type ThingType } from './rules.ts';

export interface ThingSearches {
  /** The best 20. @throws HubError search_timeout */
  search(principal: Principal, text: string): Promise<readonly Thing[]>;
}

type Ports = Pick<AppPorts, 'store' | 'clock' | 'settings'> & {
  readonly bundles: Pick<Bundles, 'list'>;
  readonly keys: Pick<Keys, 'list'>;
};

const maxResults = 20;
/** Names of one type that are compared: with fewer, none is missed. */
const maxNames = 20_000;
const namesAtOnce = 1_000;
/** Time for events that only their sender knows by the id, in milliseconds: a search of all events takes seconds. */
const callBudgetMs = 30;
/** Visible agents that contain the search, and as many that contain its longest word. */
const maxAgents = 200;
/** Agents that are read at most for each of both, where the principal may not see all. */
const maxLookedAt = 20_000;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const thing = (type: ThingType, id: string, name: string, hint = ''): Thing => ({ type, id, name, hint });

/** The items of a list's pages. */
async function itemsOf<T>(list: (page: PageRequest) => Promise<Page<T>>): Promise<readonly T[]> {
  const items: T[] = [];
  for (;;) {
    const page = await list({ limit: namesAtOnce, offset: items.length });
    items.push(...page.items);
    if (!page.more || page.items.length === 0 || items.length >= maxNames) return items;
  }
}

export const createThingSearches = (ports: Ports): ThingSearches => ({
  async search(principal, text) {
    const search = nameSearch(text);
    if (!search) return [];
    const id = text.trim();
    const [exact, chosen, agent, ...byName] = await Promise.all([
      byId(ports, principal, id.toLowerCase()),
      byChosenId(ports, principal, id),
      agentById(ports, principal, id),
      agents(ports, principal, search, id),
      library(ports, principal, search),
      tools(ports, principal),
      administered(ports, principal),
    ]);
    const others = byName.flat().filter(({ type, id: other }) => type !== 'agent' || other !== agent[0]?.id);
    return [...exact, ...chosen, ...agent, ...bestMatches(others, search, maxResults)].slice(0, maxResults);
  },
});

type AgentName = Pick<RegistrationSummary, 'agentId' | 'displayName' | 'lastEnv' | 'seenEnvs'>;

const agentThings = (principal: Principal, names: readonly AgentName[]): readonly Thing[] =>
  names
    .filter((agent) => seesAgent(principal, agent))
    .map((agent) => {
      const { agentId, displayName } = agent;
      return displayName === null
        ? thing('agent', agentId, agentId, visibleEnvOf(principal, agent) ?? '')
        : thing('agent', agentId, displayName, agentId);
    });

/** The first agents that contain the text, of those that the principal sees. */
async function agentsWith(
  { store }: Ports,
  principal: Principal,
  search: string,
): Promise<readonly RegistrationSummary[]> {
  const visibleAgents: RegistrationSummary[] = [];
  let after: AgentPlace | null = null;
  for (let looked = 0; looked < maxLookedAt; ) {
    const limit = looked === 0 ? maxAgents : namesAtOnce;
    const query = { order: 'agentId', descending: false, limit, after, search } as const;
    const { items, more }: Page<RegistrationSummary> = await store.agents.search(principal.tenantId, query);
    visibleAgents.push(...items.filter((agent) => seesAgent(principal, agent)));
    looked += items.length;
    const last = items.at(-1);
    if (!more || !last || visibleAgents.length >= maxAgents) break;
    after = { agentId: last.agentId, at: 0 };
  }
  return visibleAgents.slice(0, maxAgents);
}

/** Ids with one prefix share its words, so the whole text narrows a fleet further than a word of it. */
async function agents(
  ports: Ports,
  principal: Principal,
  { longest }: NameSearch,
  text: string,
): Promise<readonly Thing[]> {
  const texts = text.length === longest.length ? [longest] : [text, longest];
  const pages = await Promise.all(texts.map((search) => agentsWith(ports, principal, search)));
  const byId = new Map(pages.flat().map((agent) => [agent.agentId, agent]));
  return agentThings(principal, [...byId.values()]);
}

/** The agent with exactly this id. */
async function agentById({ store }: Ports, principal: Principal, id: string): Promise<readonly Thing[]> {
  const agent = isAgentId(id) ? await store.agents.get(principal.tenantId, id) : null;
  return agent && agent.retiredAt === null ? agentThings(principal, [agent]) : [];
}

async function library(
  { store, bundles }: Ports,
  principal: Principal,
  { longest }: NameSearch,
): Promise<readonly Thing[]> {
  const { tenantId } = principal;
  const [contracts, compositions, documents] = await Promise.all([
    itemsOf((page) => store.contracts.list(tenantId, { search: longest }, page)),
    itemsOf((page) => store.compositions.list(tenantId, page)),
    itemsOf((page) => bundles.list(principal, page)),
  ]);
  return [
    ...contracts.map((one) => thing('contract', one.contractId, one.name, one.description ?? '')),
    ...compositions.map(({ name, description }) => thing('composition', name, name, description ?? '')),
    ...documents.map(({ name, latestVersion }) => thing('bundle', name, name, `v${latestVersion}`)),
  ];
}

/** The newest definition of each tool of a server in an environment. */
async function tools({ store }: Ports, principal: Principal): Promise<readonly Thing[]> {
  const envs = environments.filter((env) => seesEnv(principal, env));
  const lists = await Promise.all(
    envs.map((env) =>
      itemsOf((page) => store.tools.listEntries(principal.tenantId, { env, server: null }, page)),
    ),
  );
  const entries = lists.flat();
  const newest = new Map<string, (typeof entries)[number]>();
  for (const entry of entries) {
    const key = JSON.stringify([entry.env, entry.server, entry.tool]);
    if (entry.firstSeenAt >= (newest.get(key)?.firstSeenAt ?? 0)) newest.set(key, entry);
  }
  return [...newest.values()].map(({ id, tool, server, env }) => thing('tool', id, tool, `${server} ${env}`));
}

async function administered({ store, keys }: Ports, principal: Principal): Promise<readonly Thing[]> {
  const { tenantId } = principal;
  const isOperator = holdsRole(principal, 'operator', null);
  const canListPeople = mayListPeople(principal);
  const [channels, apiKeys, users, accounts] = await Promise.all([
    isOperator ? itemsOf((page) => store.channels.list(tenantId, page)) : [],
    isOperator ? itemsOf((page) => keys.list(principal, page)) : [],
    canListPeople ? itemsOf((page) => store.tenants.listUsers(tenantId, page)) : [],
    canListPeople ? itemsOf((page) => store.serviceAccounts.list(tenantId, page)) : [],
  ]);
  return [
    ...channels.map(({ id, name, kind }) => thing('channel', id, name, kind)),
    ...apiKeys.map(({ id, label, prefix, env }) =>
      thing('key', id, label ?? prefix, `${prefix} ${env ?? ''}`.trim()),
    ),
    ...users.map(({ id, email }) => thing('person', id, email)),
    ...accounts.map(({ id, name }) => thing('service_account', id, name)),
  ];
}

/** Records with exactly this id. */
async function byId({ store }: Ports, principal: Principal, id: string): Promise<readonly Thing[]> {
  if (!uuid.test(id)) return [];
  const { tenantId } = principal;
  const [approval, event, deployment] = await Promise.all([
    store.approvals.get(tenantId, id),
    store.events.get(tenantId, id),
    store.deployments.get(tenantId, id),
  ]);
  const isSeen = <T extends { readonly env: string }>(record: T | null): record is T =>
    record !== null && seesEnv(principal, record.env);
  return [
    ...(isSeen(approval) ? [thing('approval', id, approval.toolName, approval.agentId)] : []),
    ...(isSeen(event) ? [thing('event', id, event.toolName, event.agentId)] : []),
    ...(isSeen(deployment)
      ? [thing('deployment', id, `${deployment.bundleName} v${deployment.version}`, deployment.env)]
      : []),
  ];
}

/** Runs and calls with exactly this id, whoever chose it. */
async function byChosenId(
  { clock, settings, store }: Ports,
  principal: Principal,
  id: string,
): Promise<readonly Thing[]> {
  const { tenantId } = principal;
  const env: readonly Env[] | null = visibleEnvs(principal);
  const time = { now: clock.now(), staleAfterMs: settings.runStaleMs };
  const [runs, indexedPage, senderIdPage] = await Promise.all([
    store.runs.list(tenantId, { env, sessionId: id }, { limit: 5, offset: 0 }, time),
    store.events.search(tenantId, { env, callId: id, isStoredCallId: true }, 5, null),
    store.events.search(tenantId, { env, callId: id }, 5, null, 'newest', callBudgetMs),
  ]);
  const calls = new Map([...indexedPage.events, ...senderIdPage.events].map((event) => [event.id, event]));
  return [
    ...runs.items.map(({ agentId, sessionId }) =>
      thing('run', `${agentId}/${sessionId}`, sessionId, agentId),
    ),
    ...[...calls.values()]
      .slice(0, 5)
      .map((event) => thing('event', event.id, event.callId, `${event.toolName} ${event.agentId}`)),
  ];
}
