// What a node can say of itself and of the cluster, for health checks.
import type { Storage } from '../domain/storage.ts';

/** The cluster as a node knows it. */
export interface ClusterState {
  readonly mode: 'embedded' | 'cluster';
  /** The node that answers. */
  readonly node: string;
  readonly nodes: readonly {
    readonly node: string;
    readonly version: string;
    readonly startedAt: number;
    /** Agents with an open stream there. */
    readonly agents: number;
    readonly shards: readonly number[];
  }[];
  readonly shardCount: number;
  /** Of the shards that the answering node owns, and of those that no node owns. */
  readonly lag: readonly { readonly shard: number; readonly waiting: number; readonly oldestMs: number }[];
  readonly broadcastLagMs: number;
}

export interface NodeHealth {
  /** Round trips in milliseconds; null when it does not answer. */
  store(): Promise<number | null>;
  keyValue(): Promise<number | null>;
  /** The room for writes. */
  storage(): Storage;
  workers(): { readonly [name: string]: 'running' | 'stopped' | 'crashed' };
  /** Over all nodes. */
  connectedAgents(): number;
  /** @throws HubError unavailable when the bus does not answer */
  cluster(): Promise<ClusterState>;
  draining(): boolean;
}
