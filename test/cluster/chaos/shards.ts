// Owners of shards, as each node says of itself and of the others. Asks the public API; decides nothing.
import { shardCount, shardOf } from '../../../src/shared/ids.ts';
import { eventually } from '../nodes.ts';
import type { Node } from './caller.ts';
import { type Fleet, operatorToken } from './fleet.ts';
import type { Env, Tenant } from './tenant.ts';

const allShards = Array.from({ length: shardCount }, (_, shard) => shard);

export interface ShardView {
  /** The answering process's own name, new at every start. */
  readonly id: string;
  /** The shards that it holds now, by its own clock. */
  readonly own: ReadonlySet<number>;
  /** Process → what it holds, as the members say. */
  readonly members: ReadonlyMap<string, ReadonlySet<number>>;
}

/** This node's report; null when it does not answer within a second. */
export async function view(fleet: Fleet, node: Node): Promise<ShardView | null> {
  const answer = await fleet.caller.send(node, 'GET', '/api/v1/health/cluster', {
    bearer: operatorToken,
    timeoutMs: 1000,
  });
  if (answer.outcome !== 'ok') return null;
  const nodes = answer.output.nodes as readonly {
    readonly node: string;
    readonly shards: readonly number[];
  }[];
  const members = new Map(nodes.map(({ node: id, shards }) => [id, new Set(shards)]));
  const id = answer.output.node as string;
  return { id, own: members.get(id) ?? new Set(), members };
}

/** True when these views are of the same processes, and they alone hold every shard, each once. */
export function isWhole(views: readonly (ShardView | null)[]): boolean {
  const ids = views.flatMap((seen) => (seen ? [seen.id] : []));
  if (ids.length < views.length) return false;
  const held = views.flatMap((seen) => [...(seen?.own ?? [])]);
  const agreed = views.every(
    (seen) => seen?.members.size === ids.length && ids.every((id) => seen.members.has(id)),
  );
  return agreed && held.length === shardCount && new Set(held).size === shardCount;
}

/** Waits until the nodes own all shards in even shares: a killed node keeps its share for up to 5 s. */
export async function evenShares(fleet: Fleet): Promise<void> {
  if (fleet.size === 1) return;
  const maxShare = Math.ceil(shardCount / fleet.size);
  await eventually(
    'even shares of shards',
    async () => {
      const views = await Promise.all(fleet.nodes.map((node) => view(fleet, node)));
      const isEven = isWhole(views) && views.every((seen) => seen !== null && seen.own.size <= maxShare);
      return isEven ? true : undefined;
    },
    30_000,
  );
}

/** The shards of the node with this number; all, where there is one node. @throws Error when it does not say */
export async function ownedBy(fleet: Fleet, i: number): Promise<ReadonlySet<number>> {
  if (fleet.size === 1) return new Set(allShards);
  const { value } = await eventually(
    `node ${fleet.at(i).name} says what it owns`,
    async () => (await view(fleet, fleet.at(i)))?.own,
  );
  return value;
}

/** The shards that none of the running nodes owns. */
export async function ownerless(fleet: Fleet): Promise<ReadonlySet<number>> {
  const views = await Promise.all(fleet.up.map((node) => view(fleet, node)));
  const owned = new Set(views.flatMap((seen) => [...(seen?.own ?? [])]));
  return new Set(allShards.filter((shard) => !owned.has(shard)));
}

/** The number of the node that owns a tenant's environment; null while none does. */
export async function ownerOf(fleet: Fleet, tenant: Tenant, env: Env = 'production'): Promise<number | null> {
  const shard = shardOf(`${tenant.id}/${env}`);
  for (const node of fleet.up) {
    if ((await view(fleet, node))?.own.has(shard)) return fleet.index(node);
  }
  return null;
}
