// The agreement between the live edge (which owns sockets) and the stream handlers (which know tenants, agents and bundles).
import type { Announcement } from '../domain/announcement.ts';
import type { Audience, FrameHeader } from '../domain/frame.ts';
import type { Caller } from './call.ts';

/** Query of the agent stream, as received. */
export interface StreamQuery {
  /** Default: the key's. */
  readonly env?: string;
  readonly bundle_name?: string;
  readonly policy_version?: string;
  /** JSON text of an object; anything else is ignored. */
  readonly tags?: string;
  /** Of the dashboard stream: what it asks for beside the events of every dashboard. */
  readonly include?: string;
  /** True when the client says which frame it had last. */
  readonly resumes?: boolean;
}

/** An admitted stream. The edge registers it under `audience` first, then asks for `catchUp`, so that no frame falls between. */
export interface AdmittedStream {
  readonly audience: Audience;
  /** Null for dashboards. */
  readonly agentId: string | null;
  /** Bundle whose updates it follows; null: all. The edge moves it when a frame assigns the agent another, unless pinned. */
  readonly bundleName: string | null;
  readonly pinned: boolean;
  /** True for a frame of its audience that is not for it all the same. @param followed the bundle it follows at that time */
  skips?(frame: FrameHeader, followed: string | null): boolean;
  /** Announces the stream to its actors; yields what it must be told at once. The same object every time means the same frame. */
  catchUp(): Promise<readonly Announcement[]>;
  /** Announces it again (an environment actor asks). */
  announce(bundleName: string | null): Promise<void>;
  /** The stream has ended; called exactly once. */
  closed(): void;
}

/** A message that an agent sends on its WebSocket. `ref` comes back with the result. */
export type AgentMessage = {
  readonly type: 'events' | 'report' | 'approval';
  readonly ref?: string | number;
  readonly body: unknown;
};

export interface StreamHandlers {
  /** @throws HubError validation_failed, env_mismatch */
  admitAgent(
    caller: Extract<Caller, { kind: 'key' }>,
    query: StreamQuery,
    connectionId: string,
  ): Promise<AdmittedStream>;
  /**
   * A stream of the hosted API, and the key as the console API knows it.
   * @throws HubError validation_failed, env_mismatch, forbidden
   */
  admitHosted(
    caller: Extract<Caller, { kind: 'hostedKey' }>,
    query: StreamQuery,
    connectionId: string,
  ): Promise<{ readonly admitted: AdmittedStream; readonly caller: Extract<Caller, { kind: 'key' }> }>;
  /** @throws HubError validation_failed */
  admitDashboard(
    caller: Extract<Caller, { kind: 'user' }>,
    query: StreamQuery,
    connectionId: string,
  ): Promise<AdmittedStream>;
  /** The result to send back with `ref`. @throws HubError as the HTTP route of the same purpose */
  message(caller: Extract<Caller, { kind: 'key' }>, message: AgentMessage): Promise<unknown>;
}
