// The contract library: new versions, and bundles taken apart into it. A new version goes on to the compositions that
// follow it.

import { maxContracts } from 'reeve-agent/rules';
import type { Rulings } from '../agent/use-cases/rulings.ts';
import { changeBy, recorded } from '../audit/note.ts';
import type { Composition } from '../composition/record.ts';
import type { Rollouts } from '../composition/use-cases/rollouts.ts';
import type { BundleParts } from '../evaluation/port/evaluator.ts';
import { requireRole } from '../shared/access.ts';
import type { Announcement } from '../shared/announcement.ts';
import { HubError, notFound } from '../shared/error.ts';
import { changed, type IfMatch, requireMatch } from '../shared/if-match.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import { actorName, type Principal } from '../shared/principal.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import type { ContractPatch, ContractSummary } from './port.ts';
import type { ContractType, ContractVersion, JsonObject } from './record.ts';

export interface NewContract {
  readonly contractId: string;
  readonly name: string;
  readonly description: string | null;
  readonly type: ContractType;
  readonly definition: JsonObject;
  readonly tags: readonly string[];
}

type History = Awaited<ReturnType<AppPorts['store']['contracts']['listVersions']>>;

/** A version with what the library knows of it. */
export interface ContractView {
  readonly contract: ContractVersion;
  /** Compositions that name the contract. */
  readonly usageCount: number;
  readonly isLatest: boolean;
  /** The newest 1,000 versions, newest first; empty where one version was asked for. */
  readonly history: History;
}

export interface Imported {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  /** The composition that was made; null when one of its name existed. */
  readonly composition: string | null;
}

export interface ContractSave {
  /** The version that is replaced: its number or its id. */
  readonly ifMatch: IfMatch;
  /** True: no composition is deployed by this save. */
  readonly holdsUpdates: boolean;
}

const subjectOf = (contractId: string): string => `Contract '${contractId}'`;

type Ports = Pick<AppPorts, 'store' | 'evaluator' | 'announcer' | 'clock' | 'secrets'> & {
  readonly rollouts: Rollouts;
  readonly rulings: Pick<Rulings, 'entries'>;
};

const usual: ContractSave = { ifMatch: null, holdsUpdates: false };
const absent = (contractId: string): HubError => notFound(`Contract '${contractId}' not found`);

export class Contracts {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  list(
    { tenantId }: Principal,
    filter: { readonly type?: string; readonly tag?: string; readonly search?: string },
    page: PageRequest,
  ): Promise<Page<ContractSummary>> {
    return this.#ports.store.contracts.list(tenantId, filter, page);
  }

  /** Tags of the latest versions. */
  listTags({ tenantId }: Principal, page: PageRequest): Promise<Page<string>> {
    return this.#ports.store.contracts.listTags(tenantId, page);
  }

  /** Version 1. @throws HubError forbidden */
  async create(principal: Principal, newContract: NewContract): Promise<ContractView | 'exists'> {
    const { secrets, clock, announcer } = this.#ports;
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const contract: ContractVersion = {
      ...newContract,
      id: secrets.uuid(),
      tenantId,
      version: 1,
      createdBy: actorName(principal.actor),
      createdAt: clock.now(),
    };
    const { contractId } = contract;
    const details = changeBy(this.#ports, null, newContract);
    const created = await recorded(this.#ports, 'contract', principal, 'created', contractId, {
      details,
    }).contracts.create(contract);
    if (created === 'exists') return 'exists';
    await announcer.announce([{ kind: 'contractCreated', tenantId, contractId, version: 1 }]);
    return { contract, usageCount: 0, isLatest: true, history: [] };
  }

  /** Takes a bundle apart: a contract each, and a composition of them. @throws HubError forbidden, unprocessable */
  async importBundle(principal: Principal, yaml: string): Promise<Imported> {
    const { evaluator, clock, secrets, announcer } = this.#ports;
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const parts = await evaluator.takeApart(tenantId, yaml, maxContracts);
    const records = recordsOf(parts, principal, { now: clock.now(), uuid: () => secrets.uuid() });
    const details = { contracts: parts.contracts.length };
    const noting = recorded(this.#ports, 'contract', principal, 'imported', parts.name, { details });
    const imported = await noting.contracts.importBundle(tenantId, records.contracts, records.composition);
    if ('typeChanged' in imported) {
      throw new HubError(
        'unprocessable',
        `Contract '${imported.typeChanged}' exists with another type, and a contract cannot change its type. Import it under another id.`,
      );
    }
    await announcer.announce(announcementsOf(tenantId, imported));
    return imported;
  }

  /**
   * The latest version.
   * @param mayBeEntry also takes the id of an entry in a deployed document, for the entry's contract
   * @throws HubError not_found
   */
  async get({ tenantId }: Principal, contractId: string, mayBeEntry = false): Promise<ContractView> {
    const contract = await this.#ports.store.contracts.get(tenantId, contractId);
    if (contract) return this.#viewOf(contract);
    const id = mayBeEntry && (await this.#ports.rulings.entries(tenantId)).get(contractId);
    const ofEntry = id ? await this.#ports.store.contracts.get(tenantId, id) : null;
    if (!ofEntry) throw absent(contractId);
    return this.#viewOf(ofEntry);
  }

  /** @throws HubError not_found */
  async getVersion({ tenantId }: Principal, contractId: string, version: number): Promise<ContractView> {
    const { store } = this.#ports;
    const [contract, latest, usageCount] = await Promise.all([
      store.contracts.getVersion(tenantId, contractId, version),
      store.contracts.get(tenantId, contractId),
      store.contracts.countUsage(tenantId, contractId),
    ]);
    if (!contract) throw notFound(`Contract '${contractId}' v${version} not found`);
    return { contract, usageCount, isLatest: latest?.version === version, history: [] };
  }

  /**
   * Adds a version and rolls it out in compositions whose update strategy asks for it.
   * @throws HubError forbidden, not_found, changed, unprocessable (an empty patch)
   */
  async update(
    principal: Principal,
    contractId: string,
    patch: ContractPatch,
    { ifMatch, holdsUpdates }: ContractSave = usual,
  ): Promise<ContractView & { readonly isHeld: boolean }> {
    const { store, secrets, clock, announcer, rollouts } = this.#ports;
    requireRole(principal, 'operator');
    if (Object.keys(patch).length === 0) {
      throw new HubError(
        'unprocessable',
        'The request changes no field. Send name, description, definition or tags.',
      );
    }
    const { tenantId } = principal;
    const before = await store.contracts.get(tenantId, contractId);
    requireMatch(ifMatch, before ? [String(before.version), before.id] : [], subjectOf(contractId));
    if (!before) throw absent(contractId);
    const ifId = ifMatch === null ? undefined : before.id;
    const noting = recorded(this.#ports, 'contract', principal, 'updated', contractId, {
      details: changeBy(this.#ports, before, patch),
    });
    const meta = { id: secrets.uuid(), createdBy: actorName(principal.actor), createdAt: clock.now() };
    const contract = await noting.contracts.update(tenantId, contractId, patch, meta, ifId);
    if (contract === 'changed') throw changed(subjectOf(contractId));
    if (!contract) throw absent(contractId);
    await announcer.announce([{ kind: 'contractUpdated', tenantId, contractId, version: contract.version }]);
    const isHeld = holdsUpdates
      ? await rollouts.isFollowed(tenantId, contractId)
      : await rollouts.rollOut(principal, contractId);
    return { ...(await this.#viewOf(contract)), isHeld };
  }

  /** @throws HubError forbidden, not_found, changed, conflict (compositions use it) */
  async remove(principal: Principal, contractId: string, ifMatch: IfMatch = null): Promise<void> {
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const before = await this.#ports.store.contracts.get(tenantId, contractId);
    requireMatch(ifMatch, before ? [String(before.version), before.id] : [], subjectOf(contractId));
    if (!before) throw absent(contractId);
    const { name, type, version, definition } = before;
    const details = changeBy(this.#ports, { name, type, version, definition }, null);
    const noting = recorded(this.#ports, 'contract', principal, 'deleted', contractId, { details });
    const ifId = ifMatch === null ? undefined : before.id;
    const outcome = await noting.contracts.remove(tenantId, contractId, ifId);
    if (outcome === 'changed') throw changed(subjectOf(contractId));
    if (outcome === 'absent') throw absent(contractId);
    if (outcome === 'removed') return;
    const names = outcome.usedBy.map((name) => `'${name}'`);
    const rest = outcome.count - names.length;
    throw new HubError(
      'conflict',
      `Contract '${contractId}' is used by compositions: ${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}. Remove it there first.`,
    );
  }

  /** Compositions that name the contract. */
  listUsage(
    { tenantId }: Principal,
    contractId: string,
    page: PageRequest,
  ): Promise<Page<{ readonly id: string; readonly name: string }>> {
    return this.#ports.store.contracts.listUsage(tenantId, contractId, page);
  }

  async #viewOf(contract: ContractVersion): Promise<ContractView> {
    const { store } = this.#ports;
    const { tenantId, contractId } = contract;
    const [history, usageCount] = await Promise.all([
      store.contracts.listVersions(tenantId, contractId),
      store.contracts.countUsage(tenantId, contractId),
    ]);
    // A parallel update may have added a later one.
    const isLatest = (history[0]?.version ?? contract.version) === contract.version;
    return { contract, usageCount, isLatest, history };
  }
}

function announcementsOf(tenantId: string, { created, updated, composition }: Imported): Announcement[] {
  const contract = (kind: 'contractCreated' | 'contractUpdated') => (contractId: string) =>
    ({ kind, tenantId, contractId, version: null }) as const;
  return [
    ...created.map(contract('contractCreated')),
    ...updated.map(contract('contractUpdated')),
    ...(composition === null
      ? []
      : [{ kind: 'compositionChanged', tenantId, name: composition, bundleVersion: null } as const]),
  ];
}

function recordsOf(
  parts: BundleParts,
  { tenantId, actor }: Principal,
  { now, uuid }: { readonly now: number; readonly uuid: () => string },
) {
  const createdBy = actorName(actor);
  const contracts = parts.contracts.map(
    ({ contractId, type, name, definition }): ContractVersion => ({
      id: uuid(),
      tenantId,
      contractId,
      version: 1,
      name,
      description: null,
      type,
      definition,
      tags: [],
      createdBy,
      createdAt: now,
    }),
  );
  const composition: Composition = {
    id: uuid(),
    tenantId,
    name: parts.name,
    description: parts.description ?? `Created from an import of '${parts.name}'`,
    defaultsMode: parts.defaultsMode,
    updateStrategy: 'manual',
    // Null stands for bundles, whose kind the configuration decides.
    documentKind: parts.documentKind === 'ruleset' ? 'ruleset' : null,
    items: parts.contracts.map(({ contractId }, i) => ({
      contractId,
      version: 1,
      position: (i + 1) * 10,
      modeOverride: null,
      enabled: true,
    })),
    toolsConfig: parts.toolsConfig,
    observability: parts.observability,
    createdBy,
    createdAt: now,
    updatedAt: now,
  };
  return { contracts, composition };
}
