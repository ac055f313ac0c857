// Frames: what is pushed to connected clients, the audiences they go to, and stream positions. Pure.
import type { Env } from './ids.ts';
import type { JsonObject } from './library.ts';

export const agentFrameTypes = ['contract_update', 'approval_decided', 'assignment_changed'] as const;

export const dashboardFrameTypes = [
  'approval_created',
  'approval_decided',
  'approval_timeout',
  'assignment_changed',
  'bundle_uploaded',
  'composition_changed',
  'contract_created',
  'contract_update',
  'contract_updated',
  'event_created',
  'api_key_created',
  'api_key_revoked',
  'bundle_deployed',
  'signing_key_rotated',
] as const;

export type FrameType = (typeof dashboardFrameTypes)[number] | 'resync';

/** Who a frame is for: the agents of a tenant's environment, a tenant's dashboards, or every node (control). */
export type Audience = `agents:${string}/${Env}` | `dashboards:${string}` | 'nodes';

export const agentsOf = (tenantId: string, env: Env): Audience => `agents:${tenantId}/${env}`;
export const dashboardsOf = (tenantId: string): Audience => `dashboards:${tenantId}`;

export interface Frame {
  readonly audience: Audience;
  readonly type: FrameType;
  /** The JSON object clients get; carries `type`. */
  readonly data: JsonObject;
  /** Only the streams of this agent get it. */
  readonly toAgent?: string;
  /** Only streams that follow this bundle, or all bundles, get it; a newer frame of the same bundle replaces an undelivered one. */
  readonly bundle?: string;
  /** Names what is announced: of frames with one name an audience gets the first, and no other within the hour. Not sent to clients. */
  readonly once?: string;
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
  | { readonly kind: 'user_logins_ended'; readonly userId: string }
  /** An environment actor was activated and asks every edge to announce its agent streams again. */
  | { readonly kind: 'roster_wanted'; readonly tenantId: string; readonly env: Env }
  /** Shards have a new owner: who holds streams of their environments wakes their actors. */
  | { readonly kind: 'shards_moved'; readonly shards: readonly number[] }
  /** Not sent: this node may have missed control messages, and must not trust what it remembers. */
  | { readonly kind: 'missed' };

/**
 * Position in an audience's log: `<ms>-<n>`, both decimal, ordered by ms then n (the form of a Redis stream id), with
 * `.<k>` after it for frames made for one stream alone (catch-up), which sort between two shared ones.
 */
export type Position = string;

const positionPattern = /^(\d{1,15})-(\d{1,15})(?:\.(\d{1,6}))?$/;

export interface PositionParts {
  readonly ms: number;
  readonly n: number;
  readonly k: number;
}

/** The parts of a position, or null when the text is not one (a client may send anything in Last-Event-ID). */
export function readPosition(text: string): PositionParts | null {
  const match = positionPattern.exec(text);
  return match ? { ms: Number(match[1]), n: Number(match[2]), k: Number(match[3] ?? 0) } : null;
}

/** The shared part of a position: where to go on reading the audience's log. */
export const sharedPosition = (position: Position): Position => position.split('.', 1)[0] ?? position;

export function comparePositions(a: PositionParts, b: PositionParts): number {
  return a.ms - b.ms || a.n - b.n || a.k - b.k;
}
