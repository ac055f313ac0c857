// Store port of the contract library. Every write is durable when its promise resolves.

import type { Composition } from '../composition/record.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import type { ContractVersion, JsonObject } from './record.ts';

/** Changes in a new version of a contract. */
export interface ContractPatch {
  readonly name?: string;
  readonly description?: string | null;
  readonly definition?: JsonObject;
  readonly tags?: readonly string[];
}

/** A contract as lists show it. */
export type ContractSummary = Omit<ContractVersion, 'definition'> & { readonly usageCount: number };

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
  update(
    tenantId: string,
    contractId: string,
    patch: ContractPatch,
    meta: { readonly id: string; readonly createdBy: string; readonly createdAt: number },
    ifId?: string,
  ): Promise<ContractVersion | null | 'changed'>;
  get(tenantId: string, contractId: string): Promise<ContractVersion | null>;
  getVersion(tenantId: string, contractId: string, version: number): Promise<ContractVersion | null>;
  /** The newest 1,000, newest first, without definitions. */
  listVersions(
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
  /** Tags of the latest versions, each once, in the order of their code units. */
  listTags(tenantId: string, page: PageRequest): Promise<Page<string>>;
  /**
   * Removes all versions, unless compositions name the contract: then how many do, and the names of the first 20.
   * @param ifId as for `update`
   */
  remove(
    tenantId: string,
    contractId: string,
    ifId?: string,
  ): Promise<
    'removed' | 'absent' | 'changed' | { readonly usedBy: readonly string[]; readonly count: number }
  >;
  /** Compositions that name the contract, in any version, enabled or not; by name. */
  listUsage(
    tenantId: string,
    contractId: string,
    page: PageRequest,
  ): Promise<Page<{ readonly id: string; readonly name: string }>>;
  /** Number of compositions that `listUsage` returns. */
  countUsage(tenantId: string, contractId: string): Promise<number>;
  /**
   * Imports all in one step: creates or adds a version of each contract, and creates `composition` unless one of its
   * name exists. The items of a new composition are pinned to the versions made here. If a contract has another type
   * than the stored one, nothing is written and its id is returned.
   */
  importBundle(
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
