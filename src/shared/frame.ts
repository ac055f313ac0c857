// Frames: what is pushed to connected clients, and the audiences they go to. Pure.
import type { StoredEvent } from '../event/record.ts';
import type { Env } from './ids.ts';
import type { LogLevel } from './ports/log.ts';

/**
 * The receivers of a frame: the agents of a tenant's environment on one of the APIs, a tenant's dashboards, the readers
 * of a tenant's decision events, or all nodes (control).
 */
export type Audience =
  | `agents:${string}/${Env}`
  | `hosted:${string}/${Env}`
  | `dashboards:${string}`
  | `events:${string}`
  | 'nodes';

export const agentsOf = (tenantId: string, env: Env): Audience => `agents:${tenantId}/${env}`;
export const hostedAgentsOf = (tenantId: string, env: Env): Audience => `hosted:${tenantId}/${env}`;
export const dashboardsOf = (tenantId: string): Audience => `dashboards:${tenantId}`;

/** On the bus a frame of this audience only signals that events were stored; each node reads them itself. */
export const eventsOf = (tenantId: string): Audience => `events:${tenantId}`;

/** The tenant whose events an audience follows; null for others. */
export const tenantOfEvents = (audience: Audience): string | null =>
  audience.startsWith('events:') ? audience.slice('events:'.length) : null;

/** True for the audiences of the hosted API. */
export const isHosted = (audience: Audience): boolean => /^(?:hosted|events):/.test(audience);

/** The key of the environment whose agents an audience is; null for others. */
export const environmentIn = (audience: Audience): string | null =>
  /^(?:agents|hosted):(.*)$/.exec(audience)?.[1] ?? null;

/** Parts of a stream that are sent on request alone: `isolation` to agents, the others to dashboards. */
export const frameParts = ['assignments', 'stats', 'isolation'] as const;
export type FramePart = (typeof frameParts)[number];

/** The part of a frame that nodes read. */
export interface FrameHeader {
  readonly audience: Audience;
  /** The event's name in its API: passed on, never acted upon. Empty: it has none, and its data contains its own id. */
  readonly type: string;
  /** Only the streams of this agent get it. */
  readonly agent?: string;
  /**
   * Only streams that follow this bundle, or all bundles, get it; a newer frame of the same bundle replaces an
   * undelivered one.
   */
  readonly bundle?: string;
  /** With `bundle`: streams that named no bundle get it too, whichever bundle their agents are assigned. */
  readonly anyAssignment?: true;
  /**
   * With `agent`: the bundle that its streams follow from here on, those aside that asked for one by name. Null: all
   * bundles.
   */
  readonly assigned?: string | null;
  /**
   * Only streams that asked for the fleet's numbers get it; newer numbers of the same environment replace undelivered
   * ones.
   */
  readonly fleet?: Env;
  /** Of a dashboard's frame: only people with a role in one of these environments get it. */
  readonly envs?: readonly Env[];
  /** The span that it was announced in, as a `traceparent`: in the data of streams that asked for it alone. */
  readonly trace?: string;
  /** Only streams that asked for changes of tool pins get it. */
  readonly tools?: true;
  /** Only streams that asked for this part get it. */
  readonly part?: FramePart;
  /**
   * Names what is announced: of frames with one key an audience gets the first, and no other within the hour. Not sent
   * to clients.
   */
  readonly idempotencyKey?: string;
  /** How long the key is remembered, where less than the hour will do, in milliseconds. Not sent to clients. */
  readonly idempotencyMs?: number;
  /** Time when the hub accepted the frame's subject, epoch milliseconds; nodes measure by it. Not sent to clients. */
  readonly acceptedAt?: number;
  /** The decision event that the frame is about: streams choose by it. Stays on its node. */
  readonly event?: StoredEvent;
}

/** A header, and what clients get as bytes that nobody on the way reads. */
export interface Frame extends FrameHeader {
  /** A JSON object on one line, UTF-8. */
  readonly json: Uint8Array;
}

/** Messages between nodes that change what an edge holds; never sent to clients. */
export type Control =
  | {
      readonly kind: 'key_revoked';
      readonly tenantId: string;
      readonly keyId: string;
      readonly keyHash: string;
    }
  | { readonly kind: 'login_ended'; readonly tokenHash: string }
  /** A token that an admin made is good no more. */
  | { readonly kind: 'operator_token_revoked'; readonly tokenId: string }
  /** All logins of a user have ended, but the one with the hash `except`. */
  | { readonly kind: 'user_logins_ended'; readonly userId: string; readonly except?: string }
  /** The roles of a user have changed: they hold from now on, also for open streams. */
  | { readonly kind: 'user_roles_changed'; readonly userId: string }
  /** Nobody may call for the tenant any more: it is suspended, or being removed. */
  | { readonly kind: 'tenant_closed'; readonly tenantId: string }
  /** Every node logs at this level until then (epoch milliseconds). */
  | { readonly kind: 'log_level'; readonly level: LogLevel; readonly until: number }
  /** The tenant is no longer suspended. */
  | { readonly kind: 'tenant_opened'; readonly tenantId: string }
  /** An environment actor was activated and asks every edge to announce its agent streams again. */
  | { readonly kind: 'roster_wanted'; readonly tenantId: string; readonly env: Env }
  /** Shards have a new owner: who holds streams of their environments wakes their actors. */
  | { readonly kind: 'shards_moved'; readonly shards: readonly number[] }
  /**
   * Not sent: this node can read control messages again and has missed none, but nodes may have ended before they sent
   * theirs.
   */
  | { readonly kind: 'interruption' }
  /** Control messages may not have reached this node: it must not trust what it remembers. */
  | { readonly kind: 'missed' };

/** Decision events for streams that carry other frames too. */
export interface DecisionSource {
  /** Audience of the events. */
  readonly audience: Audience;
  /** The frame about an event. */
  toFrame(frame: Frame): Frame;
}
