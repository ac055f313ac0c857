// The agreement between the live edge (which owns sockets) and the stream handlers (which know tenants, agents and
// bundles).
import type { StreamTransport } from '../../agent/record.ts';
import type { Announcement } from '../../shared/announcement.ts';
import type { Audience, DecisionSource, Frame, FrameHeader } from '../../shared/frame.ts';
import type { Position } from '../../shared/position.ts';
import type { Caller } from './call.ts';

/** Callers that can open a stream, as the edge keeps them. */
export type StreamCaller = Extract<Caller, { kind: 'user' | 'key' | 'hostedOperator' }>;

interface PlacedFrame {
  readonly position: Position;
  readonly frame: Frame;
}

/** Source of an audience's frames that are not published on the bus. */
export interface EventSource {
  /**
   * Follows from now on; every frame once.
   * @param deliver may take its time: the next frame comes after it
   * @param lost is called in the place of frames that are left out
   */
  follow(
    audience: Audience,
    deliver: (placed: PlacedFrame) => void | Promise<void>,
    lost?: (position: Position) => void,
  ): Promise<{ readonly position: Position; stop(): void }>;
  /**
   * Frames that were stored after a place. Absent if no frames are stored.
   * @param max frames that are looked through at most
   */
  history?(audience: Audience, place: number, max: number): History;
}

/** Frames that a stream missed, read piece by piece as its client takes them. */
export interface History {
  /** The next frames of its audience, oldest first. `gone` when they are no longer known: nothing more comes then. */
  next(): Promise<{ readonly frames: readonly PlacedFrame[]; readonly more: boolean } | 'gone'>;
  /** Goes back to where frames may have appeared in the meantime: `next` gives those that it has not given. */
  again(): Promise<void>;
}

/** Query of the agent stream, as received. */
export interface StreamQuery {
  /** Default: the key's. */
  readonly env?: string;
  readonly bundle_name?: string;
  readonly policy_version?: string;
  /** JSON text of an object; anything else is ignored. */
  readonly tags?: string;
  readonly session_id?: string;
  /** `any`: the client loads documents of either vocabulary. */
  readonly documents?: string;
  /** `1`: the agent wants changes of tool pins. */
  readonly pins?: string;
  /** `1`: the agent wants the tenant's mode of isolation. */
  readonly isolation?: string;
  /** Of the dashboard stream: what it asks for beside the events of every dashboard. */
  readonly include?: string;
  /** True if the client names the last frame that it received. The edge sets this field and the next, no client. */
  readonly resumes?: boolean;
  /** Default: server-sent events. */
  readonly transport?: StreamTransport;
}

/**
 * An admitted stream. The edge registers it under `audience` first, then asks for `catchUp`, so that no frame falls
 * between.
 */
export interface AdmittedStream {
  readonly audience: Audience;
  /** Null for dashboards. */
  readonly agentId: string | null;
  /**
   * Bundle whose updates it follows; null: all. The edge moves it when a frame assigns the agent another, unless
   * pinned.
   */
  readonly bundleName: string | null;
  readonly pinned: boolean;
  /**
   * True for a frame of its audience that is not for it all the same.
   * @param followed the bundle it follows at that time
   */
  skips?(frame: FrameHeader, followed: string | null): boolean;
  /**
   * Announces the stream to its actors; yields the announcements that it must receive at once. The same object every
   * time means the same frame.
   */
  catchUp(): Promise<readonly Announcement[]>;
  /**
   * Decision events that come between the frames of its audience: whose, and in which form. The same for all streams
   * of the audience.
   */
  readonly decisions?: DecisionSource | null;
  /** Of a stream whose frames are stored: what was missed since this id. It takes the place of the bus's log. */
  history?(lastEventId: string): History;
  /** Announces it again (an environment actor asks). */
  announce(bundleName: string | null): Promise<void>;
  /** The message that goes with each ping of a WebSocket, for browsers: their scripts see no pings. */
  readonly keepalive?: { readonly type: string };
  /** The stream has ended; called exactly once. */
  closed(): void;
}

/** A message that an agent sends on its WebSocket. `ref` comes back with the result. */
export type AgentMessage = {
  readonly type: 'events' | 'report' | 'approval';
  readonly ref?: string | number;
  /** Whole numbers that a double cannot hold are texts of their digits. */
  readonly body: unknown;
  /** The same with those numbers rounded; absent when there are none. */
  readonly rounded?: unknown;
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
    caller: Extract<Caller, { kind: 'hostedKey' | 'hostedOperator' }>,
    query: StreamQuery,
    connectionId: string,
  ): Promise<{ readonly admitted: AdmittedStream; readonly caller: StreamCaller }>;
  /**
   * A stream of decision events, and the caller as the edge keeps it.
   * @param query as the route declares it, validated
   * @throws HubError validation_failed, forbidden
   */
  admitEvents(
    caller: Extract<Caller, { kind: 'hostedKey' | 'hostedOperator' | 'user' }>,
    query: unknown,
  ): Promise<{ readonly admitted: AdmittedStream; readonly caller: StreamCaller }>;
  /** @throws HubError validation_failed */
  admitDashboard(
    caller: Extract<Caller, { kind: 'user' }>,
    query: StreamQuery,
    connectionId: string,
  ): Promise<AdmittedStream>;
  /** The result to send back with `ref`. @throws HubError as the HTTP route of the same purpose */
  message(caller: Extract<Caller, { kind: 'key' }>, message: AgentMessage): Promise<unknown>;
}
