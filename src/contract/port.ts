// Store ports of the contract library and compositions. Every write is durable when its promise resolves.

import type {
  Composition,
  CompositionItem,
  CompositionSummary,
  UpdateStrategy,
} from '../composition/record.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import type { ContractType, ContractVersion, DocumentKind, JsonObject, Mode } from './record.ts';

/** Changes in a new version of a contract. */
export interface ContractPatch {
  readonly name?: string;
  readonly description?: string | null;
  readonly definition?: JsonObject;
  readonly tags?: readonly string[];
}

/** A contract as lists show it. */
export type ContractSummary = Omit<ContractVersion, 'definition'> & { readonly usageCount: number };

/** Bytes of definitions' JSON, of which no bundle of 1 MiB could be made. */
export const maxDefinitions = 2 * 1_048_576;
/** Versions that a history lists. Older ones are read by their number. */
export const maxHistory = 1000;
/** Compositions that are named when a contract cannot be removed. */
export const maxNamed = 20;

/** Contracts and all their versions. */
export interface ContractStore {
  /** Version 1 of a new contract. */
  create(contract: ContractVersion): Promise<'created' | 'exists'>;
  /**
   * Adds version n+1, copying what the patch leaves out; one step, so parallel calls get different versions. Null when
   * unknown.
   * @param ifId writes only while the latest version has this id; else answers `changed`
   */
  addVersion(
    tenantId: string,
    contractId: string,
    patch: ContractPatch,
    meta: { readonly id: string; readonly createdBy: string; readonly createdAt: number },
    ifId?: string,
  ): Promise<ContractVersion | null | 'changed'>;
  latest(tenantId: string, contractId: string): Promise<ContractVersion | null>;
  version(tenantId: string, contractId: string, version: number): Promise<ContractVersion | null>;
  /** The newest 1,000, newest first, without definitions. */
  history(
    tenantId: string,
    contractId: string,
  ): Promise<readonly { readonly version: number; readonly createdAt: number; readonly createdBy: string }[]>;
  /**
   * Latest versions, newest first. `search`: case-insensitive substring of name, description or contract id; no
   * wildcards.
   */
  list(
    tenantId: string,
    filter: { readonly type?: string; readonly tag?: string; readonly search?: string },
    page: PageRequest,
  ): Promise<Page<ContractSummary>>;
  /**
   * Removes all versions, unless compositions name the contract: then how many do, and the names of the first 20.
   * @param ifId as for `addVersion`
   */
  remove(
    tenantId: string,
    contractId: string,
    ifId?: string,
  ): Promise<
    'removed' | 'absent' | 'changed' | { readonly usedBy: readonly string[]; readonly count: number }
  >;
  /** Compositions that name the contract, in any version, enabled or not; by name. */
  usage(
    tenantId: string,
    contractId: string,
    page: PageRequest,
  ): Promise<Page<{ readonly id: string; readonly name: string }>>;
  /** Number of compositions that `usage` finds. */
  usageCount(tenantId: string, contractId: string): Promise<number>;
  /**
   * Imports all in one step: creates or adds a version of each contract; creates `composition` unless one of its
   * name exists (its items are pinned to the versions made here). A contract of another type than the stored one:
   * nothing is written and its id is returned.
   */
  importAll(
    tenantId: string,
    contracts: readonly ContractVersion[],
    composition: Composition,
  ): Promise<
    | {
        readonly created: readonly string[];
        readonly updated: readonly string[];
        readonly composition: string | null;
      }
    | { readonly typeChanged: string }
  >;
}

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
  items(tenantId: string, name: string): Promise<readonly ItemSummary[]>;
  /**
   * Those that are enabled, with their definitions; `too_large`, and none is read, when these hold more than
   * `maxDefinitions`.
   */
  enabledItems(tenantId: string, name: string): Promise<readonly ItemView[] | 'too_large'>;
  /** Newest change first. */
  list(tenantId: string, page: PageRequest): Promise<Page<CompositionSummary>>;
  /** Names of the `auto_deploy` compositions that name the contract, in order. */
  automatic(tenantId: string, contractId: string): Promise<readonly string[]>;
  /** @param ifUpdatedAt as for `update` */
  remove(tenantId: string, name: string, ifUpdatedAt?: number): Promise<Composition | null | 'changed'>;
}
