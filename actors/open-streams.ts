// The streams of one agent, as the actor of its environment answers.
import type { PastStream, StreamTransport } from '../src/agent/record.ts';
import type { AgentApi } from '../src/shared/vocabulary.ts';

/** An open stream of an agent. */
export interface OpenStream {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly connectedAt: number;
  /** When the first stream opened that this one continues; absent from a node of an earlier version. */
  readonly startedAt?: number;
  /** Null: its node did not say. */
  readonly transport: StreamTransport | null;
  readonly api: AgentApi | null;
  /** What it is taken to run; null: all of the environment. */
  readonly bundleName: string | null;
  /** It asked for this bundle itself. */
  readonly pinned: boolean;
  /** Of the API key that opened it; null: its node did not say. */
  readonly keyId: string | null;
  readonly node: string;
}

export interface OpenStreams {
  /** Open streams; `streams` contains the newest. */
  readonly total: number;
  readonly streams: readonly OpenStream[];
  /** Those that ended within the last seconds: the store may not have them. Absent from a node of an earlier version. */
  readonly ended?: readonly PastStream[];
}
