// A node's state and its view of the cluster, for health checks.
import type { Storage } from '../storage.ts';

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

/** Counts of a node since its start, and its current queues. */
export interface NodeMetrics {
  readonly node: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly routes: readonly {
    /** Method and path, as declared. */
    readonly route: string;
    readonly requests: number;
    readonly statuses: { readonly [status: string]: number };
    /** Requests per bucket of time; the last one is open. */
    readonly buckets: readonly number[];
    readonly sumMs: number;
    readonly bytes: number;
  }[];
  /** Upper bounds of the buckets but the last, milliseconds. */
  readonly bucketsMs: readonly number[];
  readonly streams: {
    readonly agents: number;
    readonly dashboards: number;
    /** Streams whose clients take nothing for now. */
    readonly blocked: number;
    /** Since the start, by reason. */
    readonly ended: { readonly [reason: string]: number };
  };
  readonly queues: {
    /** Messages to actors that wait, and how long the oldest does. */
    readonly messages: number;
    readonly oldestMessageMs: number;
    /** Lag of the deliveries to streams. */
    readonly broadcastLagMs: number;
    /** Jobs that run. */
    readonly jobs: number;
  };
  /** Events that this node stored since its start. */
  readonly storedEvents: number;
  readonly installation: {
    /** Null if the server does not report it. */
    readonly storeBytes: number | null;
    /** Background jobs that ran out of attempts. */
    readonly deadJobs: number;
    /** When the oldest audit entry was recorded that no signed head covers, epoch milliseconds; null: none. */
    readonly unsignedSince: number | null;
    /** Time when `reeve backup` last wrote a file, epoch milliseconds; 0: never; null: a cluster has none. */
    readonly lastBackupAt: number | null;
  };
  /** Lag of the event loop in the last minute or so, milliseconds. */
  readonly eventLoop: { readonly meanMs: number; readonly p99Ms: number; readonly maxMs: number };
}

/** A node's figures of one interval. Each figure is null where it is unknown. */
export interface HealthPoint {
  /** Start of the interval, epoch milliseconds. */
  readonly at: number;
  /** Lag of the event loop: 99th percentile of the worst minute, and maximum. Can include the minute before `at`. */
  readonly loopLagMs: number | null;
  readonly loopLagMaxMs: number | null;
  /** 99th percentile of the durable commits of events, as the upper bound of its bucket; null without a commit. */
  readonly commitMs: number | null;
  /** Bytes of the database at the start. */
  readonly storeBytes: number | null;
  /** Least free bytes on the disk of the data folder, and the size of the disk. */
  readonly diskFreeBytes: number | null;
  readonly diskTotalBytes: number | null;
  /** Most resident memory of the process. */
  readonly memoryBytes: number | null;
}

/** A node's health over the last 24 hours. */
export interface HealthSeries {
  readonly node: string;
  /** Start of the recording, epoch milliseconds. */
  readonly startedAt: number;
  readonly intervalMs: number;
  /** In order of time; the last one is in progress. Intervals in which the node slept are missing. */
  readonly points: readonly HealthPoint[];
}

/** Asks the parts of the node how they are. */
export interface NodeHealth {
  /** @throws HubError unavailable when the bus does not answer */
  metrics(): Promise<NodeMetrics>;
  series(): Promise<HealthSeries>;
  /** Round trips in milliseconds; null when it does not answer. */
  store(): Promise<number | null>;
  keyValue(): Promise<number | null>;
  /** The room for writes. */
  storage(): Storage;
  workers(): { readonly [name: string]: 'running' | 'stopped' | 'crashed' };
  /** @throws HubError unavailable when the bus does not answer */
  cluster(): Promise<ClusterState>;
  draining(): boolean;
  /**
   * True if this node lacks a service that another node of the cluster reaches. In one process always true.
   * @param reached what this node reaches now
   */
  isAloneWithout(reached: { readonly store: boolean; readonly keyValue: boolean }): Promise<boolean>;
}
