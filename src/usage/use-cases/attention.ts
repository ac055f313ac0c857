// Items that need attention now: one list from all sources, computed at most once in 5 seconds for a tenant and
// environment, whoever asks.
import { holdsRole, listedEnvs, mayListPeople, requireRole, seesEnv } from '../../shared/access.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { type Env, environments, isInFilter } from '../../shared/ids.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AttentionItem } from '../record.ts';
import {
  type AttentionPorts,
  approvalDeadlines,
  denySpikes,
  expiringKeys,
  failingDeliveries,
  outOfDate,
  silentAgents,
  storeTrouble,
  unableAgents,
  waitingTools,
} from './attention-sources.ts';

export interface Attention {
  /** The most urgent first, at most 50: what the principal may read. */
  get(principal: Principal, env: Env | null): Promise<readonly AttentionItem[]>;
}

const rememberedMs = 5_000;
const maxRemembered = 2_000;
const maxItems = 50;

const environmentSources = [
  approvalDeadlines,
  denySpikes,
  outOfDate,
  silentAgents,
  unableAgents,
  waitingTools,
];
const tenantSources = [failingDeliveries, expiringKeys, storeTrouble];

const orderOf = ({ severity, deadline, since }: AttentionItem): readonly number[] => [
  severity === 'high' ? 0 : 1,
  deadline ?? Number.POSITIVE_INFINITY,
  since ?? Number.POSITIVE_INFINITY,
];

/** By severity, then deadline, then since when. */
export function byUrgency(a: AttentionItem, b: AttentionItem): number {
  const [one, other] = [orderOf(a), orderOf(b)];
  for (const [i, value] of one.entries()) {
    const difference = value === other[i] ? 0 : value - (other[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export function createAttention(ports: AttentionPorts): Attention {
  const remembered = new BoundedMap<Promise<readonly AttentionItem[]>>(maxRemembered);

  function once(
    key: string,
    compute: () => Promise<readonly AttentionItem[]>,
  ): Promise<readonly AttentionItem[]> {
    const now = ports.clock.monotonic();
    const recent = remembered.get(key, now);
    if (recent) return recent;
    const items = compute();
    remembered.set(key, items, now + rememberedMs);
    // A failure is the answer of those alone who wait for it.
    items.catch(() => remembered.delete(key));
    return items;
  }

  const inEnvironment = (tenantId: string, env: Env) =>
    once(`${tenantId}/${env}`, async () =>
      (await Promise.all(environmentSources.map((source) => source(ports, tenantId, env)))).flat(),
    );
  const inTenant = (tenantId: string) =>
    once(tenantId, async () =>
      (await Promise.all(tenantSources.map((source) => source(ports, tenantId)))).flat(),
    );

  /** Failing deliveries about one environment, for principals who do not see all environments. */
  const deliveriesIn = (tenantId: string, env: Env) =>
    once(`${tenantId}/${env}/deliveries`, () => failingDeliveries(ports, tenantId, env));

  return {
    async get(principal, env) {
      requireRole(principal, 'viewer');
      const { tenantId } = principal;
      const visibleEnvs = listedEnvs(principal, env);
      const envs = environments.filter((one) => isInFilter(visibleEnvs, one));
      const isWhole = environments.every((one) => seesEnv(principal, one));
      const lists = await Promise.all([
        inTenant(tenantId),
        ...envs.map((one) => inEnvironment(tenantId, one)),
        ...(isWhole ? [] : envs.map((one) => deliveriesIn(tenantId, one))),
      ]);
      const mayRead = (item: AttentionItem): boolean =>
        (item.env === null || isInFilter(visibleEnvs, item.env)) &&
        (item.kind !== 'delivery_failing' || (item.env === null) === isWhole) &&
        (item.subject.type !== 'service_account' || mayListPeople(principal)) &&
        holdsRole(principal, item.role, item.env);
      return lists.flat().filter(mayRead).sort(byUrgency).slice(0, maxItems);
    },
  };
}
