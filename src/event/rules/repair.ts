// Bounds of an event's names and nesting, and the result of its repair (event/console/forms.ts). Pure.

import { maxJsonDepth } from '../../shared/json/json.ts';
import type { EventInput } from '../record.ts';

/** UTF-16 units of a name: call id, agent id, tool name, verdict, mode. */
export const maxName = 255;
/** Units that a name over its bound keeps in front of its digest. */
const keptOfName = 200;

export interface RepairContext {
  /** The agent of an event that names none. */
  readonly agentId: string;
  /** The time of receipt, for events without a usable time. Epoch milliseconds. */
  readonly now: number;
  /** Hex SHA-256 of a text. */
  readonly sha256: (text: string) => string;
}

/** An event that was shortened before it was parsed (large.ts). */
export interface Shortened {
  /** Fields that lost something, as `truncated` names them. Its payload fits. */
  readonly cut: readonly string[];
  /** Stands for what the event was before. */
  readonly digest: string;
}

export type Repaired =
  | { readonly event: EventInput }
  | { readonly code: 'not_an_object' | 'too_deep'; readonly detail: string };

/** The first 200 units of a name, `~` and 16 hex digits of its SHA-256: still one name for one name. */
export function shortName(text: string, sha256: (text: string) => string): string {
  // The cut must not leave half of a character.
  const kept = text.slice(0, keptOfName).replace(/[\ud800-\udbff]$/, '');
  return `${kept}~${sha256(text).slice(0, 16)}`;
}

/** Levels of lists and mappings, counted no further than one more than an event may have. */
export function depthOf(value: unknown, level = 0): number {
  if (typeof value !== 'object' || value === null) return level;
  if (level > maxJsonDepth) return level;
  let deepest = level + 1;
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    deepest = Math.max(deepest, depthOf(item, level + 1));
    if (deepest > maxJsonDepth) break;
  }
  return deepest;
}
