// Store port of compositions. Every write is durable when its promise resolves.

import type { ContractType, DocumentKind, JsonObject, Mode } from '../contract/record.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import type { Composition, CompositionItem, CompositionSummary, UpdateStrategy } from './record.ts';

/** Bytes of definitions' JSON, of which no bundle of 1 MiB could be made. */
export const maxDefinitions = 2 * 1_048_576;

/** Changes of a composition. */
export interface CompositionPatch {
  readonly description?: string | null;
  readonly defaultsMode?: Mode;
  readonly updateStrategy?: UpdateStrategy;
  readonly documentKind?: DocumentKind | null;
  readonly toolsConfig?: JsonObject | null;
  readonly observability?: JsonObject | null;
  /** Full replacement; each is pinned to the contract's latest version in the same step. */
  readonly items?: readonly Omit<CompositionItem, 'version'>[];
}

/** An item with what the library knows of its contract. */
export interface ItemSummary extends CompositionItem {
  readonly name: string;
  readonly type: ContractType;
  readonly latestVersion: number;
}

/** The same with what assembling needs, which may be large. */
export interface ItemView extends ItemSummary {
  readonly definition: JsonObject;
}

/** Compositions: lists of contracts, each pinned to a version. */
export interface CompositionStore {
  /** Pins each item to its contract's latest version in the same step. */
  create(
    composition: Omit<Composition, 'items'> & { readonly items: readonly Omit<CompositionItem, 'version'>[] },
  ): Promise<Composition | 'exists' | { readonly unknownContract: string }>;
  /**
   * Changes what the patch names and nothing else, in one step; `updatedAt` always grows, so it names a state.
   * @param ifUpdatedAt writes only while the composition is as it was then; else answers `changed`
   */
  update(
    tenantId: string,
    name: string,
    patch: CompositionPatch,
    now: number,
    ifUpdatedAt?: number,
  ): Promise<Composition | 'absent' | 'changed' | { readonly unknownContract: string }>;
  get(tenantId: string, name: string): Promise<Composition | null>;
  /** The items in order of position, then contract id, with the pinned version's words. */
  listItems(tenantId: string, name: string): Promise<readonly ItemSummary[]>;
  /**
   * Those that are enabled, with their definitions; `too_large`, and none is read, when these hold more than
   * `maxDefinitions`.
   */
  listEnabledItems(tenantId: string, name: string): Promise<readonly ItemView[] | 'too_large'>;
  /** Newest change first. */
  list(tenantId: string, page: PageRequest): Promise<Page<CompositionSummary>>;
  /** Names of the `auto_deploy` compositions that name the contract, in order. */
  listAutomatic(tenantId: string, contractId: string): Promise<readonly string[]>;
  /** @param ifUpdatedAt as for `update` */
  remove(tenantId: string, name: string, ifUpdatedAt?: number): Promise<Composition | null | 'changed'>;
}
