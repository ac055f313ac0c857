// Store port of saved views. Every write is durable when its promise resolves.
import type { SavedView, SavedViewPatch } from './record.ts';

export interface ViewStore {
  /**
   * `full` and nothing saved if its person has `max` already. Where nodes share the store, parallel calls may exceed
   * the bound by their number. Safe to repeat: an id that exists stays as it is.
   */
  create(view: SavedView, max: number): Promise<'created' | 'full'>;
  get(tenantId: string, id: string): Promise<SavedView | null>;
  /**
   * A person's own and the shared ones of the tenant, by name, then id; at most `limit`, of which the own ones come
   * first. Null: the shared ones alone.
   */
  list(tenantId: string, ownerId: string | null, limit: number): Promise<readonly SavedView[]>;
  /** Null when there is none. */
  update(tenantId: string, id: string, patch: SavedViewPatch): Promise<SavedView | null>;
  /** The removed one; null when there is none. Safe to repeat. */
  remove(tenantId: string, id: string): Promise<SavedView | null>;
  /** Removes what a person has not shared; returns how many. Safe to repeat. */
  removeOwn(tenantId: string, ownerId: string): Promise<number>;
}
