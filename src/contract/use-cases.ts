// The contract library: new versions, and bundles taken apart into it. A new version goes on to the compositions that
// follow it.

import type { Rulings } from '../agent/use-cases/rulings.ts';
import { changeBy, recorded } from '../audit/note.ts';
import { contractIdOf } from '../bundle/record.ts';
import type { Composition } from '../composition/record.ts';
import type { Rollouts } from '../composition/use-cases/rollouts.ts';
import type { Deployment } from '../deployment/record.ts';
import type { BundleParts } from '../evaluation/port/evaluator.ts';
import { requireRole, seesEnv } from '../shared/access.ts';
import type { Announcement } from '../shared/announcement.ts';
import { BoundedMap } from '../shared/concurrency/bounded-map.ts';
import { HubError, notFound } from '../shared/error.ts';
import { changed, type IfMatch, requireMatch } from '../shared/if-match.ts';
import type { Page, PageRequest } from '../shared/ports/page.ts';
import { actorName, type Principal } from '../shared/principal.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import type { ContractPatch, ContractSummary } from './port.ts';
import type { ContractType, ContractVersion, JsonObject } from './record.ts';
import { sentenceOf, toolsOf } from './rules.ts';

export interface NewContract {
  readonly contractId: string;
  readonly name: string;
  readonly description: string | null;
  readonly type: ContractType;
  readonly definition: JsonObject;
  readonly tags: readonly string[];
}

type History = Awaited<ReturnType<AppPorts['store']['contracts']['history']>>;

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

/** A contract's rule, as lists show it. */
export interface ContractRule {
  readonly sentence: string;
  /** The first 20. */
  readonly tools: readonly string[];
}

export interface ListedRule extends ContractRule {
  /** Deployments of documents that were assembled from the contract, in environments that the principal sees. */
  readonly deployed: readonly Pick<Deployment, 'env' | 'bundleName' | 'version'>[];
}

export interface Contracts {
  list(
    principal: Principal,
    filter: { readonly type?: string; readonly tag?: string; readonly search?: string },
    page: PageRequest,
  ): Promise<Page<ContractSummary>>;
  /** The rules of listed contracts, in their order. */
  rules(principal: Principal, contracts: readonly ContractSummary[]): Promise<readonly ListedRule[]>;
  /** Version 1. @throws HubError forbidden */
  create(principal: Principal, contract: NewContract): Promise<ContractView | 'exists'>;
  /** Takes a bundle apart: a contract each, and a composition of them. @throws HubError forbidden, unprocessable */
  importBundle(principal: Principal, yaml: string): Promise<Imported>;
  /**
   * The latest version.
   * @param mayBeEntry also takes the id of an entry in a deployed document, for the entry's contract
   * @throws HubError not_found
   */
  get(principal: Principal, contractId: string, mayBeEntry?: boolean): Promise<ContractView>;
  /** @throws HubError not_found */
  version(principal: Principal, contractId: string, version: number): Promise<ContractView>;
  /**
   * Adds a version and rolls it out in compositions whose update strategy asks for it.
   * @throws HubError forbidden, not_found, changed, unprocessable (an empty patch)
   */
  update(
    principal: Principal,
    contractId: string,
    patch: ContractPatch,
    options?: ContractSave,
  ): Promise<ContractView & { readonly isHeld: boolean }>;
  /** @throws HubError forbidden, not_found, changed, conflict (compositions use it) */
  remove(principal: Principal, contractId: string, ifMatch?: IfMatch): Promise<void>;
  /** Compositions that name the contract. */
  usage(
    principal: Principal,
    contractId: string,
    page: PageRequest,
  ): Promise<Page<{ readonly id: string; readonly name: string }>>;
}

const subjectOf = (contractId: string): string => `Contract '${contractId}'`;

type Ports = Pick<AppPorts, 'store' | 'evaluator' | 'announcer' | 'clock' | 'secrets'> & {
  readonly rollouts: Rollouts;
  readonly rulings: Pick<Rulings, 'entries'>;
};

const usual: ContractSave = { ifMatch: null, holdsUpdates: false };
const absent = (contractId: string): HubError => notFound(`Contract '${contractId}' not found`);

export const createContracts = (ports: Ports): Contracts => ({
  ...rulesOf(ports),

  list: ({ tenantId }, filter, page) => ports.store.contracts.list(tenantId, filter, page),

  async create(principal, newContract) {
    const { secrets, clock, announcer } = ports;
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
    const details = changeBy(ports, null, newContract);
    const created = await recorded(ports, 'contract', principal, 'created', contractId, {
      details,
    }).contracts.create(contract);
    if (created === 'exists') return 'exists';
    await announcer.announce([{ kind: 'contractCreated', tenantId, contractId, version: 1 }]);
    return { contract, usageCount: 0, isLatest: true, history: [] };
  },

  async importBundle(principal, yaml) {
    const { evaluator, clock, secrets, announcer } = ports;
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const parts = await evaluator.takeApart(tenantId, yaml);
    const records = recordsOf(parts, principal, { now: clock.now(), uuid: () => secrets.uuid() });
    const details = { contracts: parts.contracts.length };
    const { contracts: noting } = recorded(ports, 'contract', principal, 'imported', parts.name, { details });
    const imported = await noting.importAll(tenantId, records.contracts, records.composition);
    if ('typeChanged' in imported) {
      throw new HubError(
        'unprocessable',
        `Contract '${imported.typeChanged}' exists with another type, and a contract cannot change its type. Import it under another id.`,
      );
    }
    await announcer.announce(announcementsOf(tenantId, imported));
    return imported;
  },

  async get({ tenantId }, contractId, mayBeEntry = false) {
    const contract = await ports.store.contracts.latest(tenantId, contractId);
    if (contract) return viewOf(ports, contract);
    const id = mayBeEntry && (await ports.rulings.entries(tenantId)).get(contractId);
    const ofEntry = id ? await ports.store.contracts.latest(tenantId, id) : null;
    if (!ofEntry) throw absent(contractId);
    return viewOf(ports, ofEntry);
  },

  async version({ tenantId }, contractId, version) {
    const { store } = ports;
    const [contract, latest, usageCount] = await Promise.all([
      store.contracts.version(tenantId, contractId, version),
      store.contracts.latest(tenantId, contractId),
      store.contracts.usageCount(tenantId, contractId),
    ]);
    if (!contract) throw notFound(`Contract '${contractId}' v${version} not found`);
    return { contract, usageCount, isLatest: latest?.version === version, history: [] };
  },

  async update(principal, contractId, patch, { ifMatch, holdsUpdates } = usual) {
    const { store, secrets, clock, announcer, rollouts } = ports;
    requireRole(principal, 'operator');
    if (Object.keys(patch).length === 0) {
      throw new HubError(
        'unprocessable',
        'The request changes no field. Send name, description, definition or tags.',
      );
    }
    const { tenantId } = principal;
    const before = await store.contracts.latest(tenantId, contractId);
    requireMatch(ifMatch, before ? [String(before.version), before.id] : [], subjectOf(contractId));
    if (!before) throw absent(contractId);
    const ifId = ifMatch === null ? undefined : before.id;
    const noting = recorded(ports, 'contract', principal, 'updated', contractId, {
      details: changeBy(ports, before, patch),
    });
    const meta = { id: secrets.uuid(), createdBy: actorName(principal.actor), createdAt: clock.now() };
    const contract = await noting.contracts.addVersion(tenantId, contractId, patch, meta, ifId);
    if (contract === 'changed') throw changed(subjectOf(contractId));
    if (!contract) throw absent(contractId);
    await announcer.announce([{ kind: 'contractUpdated', tenantId, contractId, version: contract.version }]);
    const isHeld = holdsUpdates
      ? await rollouts.isFollowed(tenantId, contractId)
      : await rollouts.rollOut(principal, contractId);
    return { ...(await viewOf(ports, contract)), isHeld };
  },

  async remove(principal, contractId, ifMatch = null) {
    requireRole(principal, 'operator');
    const { tenantId } = principal;
    const before = await ports.store.contracts.latest(tenantId, contractId);
    requireMatch(ifMatch, before ? [String(before.version), before.id] : [], subjectOf(contractId));
    if (!before) throw absent(contractId);
    const { name, type, version, definition } = before;
    const details = changeBy(ports, { name, type, version, definition }, null);
    const noting = recorded(ports, 'contract', principal, 'deleted', contractId, { details });
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
  },

  usage: ({ tenantId }, contractId, page) => ports.store.contracts.usage(tenantId, contractId, page),
});

/** Versions whose rules, and documents whose contracts, are kept. Neither changes. */
const [maxRules, maxDocuments] = [10_000, 1_000];
/** Definitions that are read at once; one may have 256 KiB. */
const atOnce = 50;
const maxTools = 20;
const always = Number.POSITIVE_INFINITY;

function rulesOf({ store }: Ports): Pick<Contracts, 'rules'> {
  const rules = new BoundedMap<ContractRule>(maxRules);
  const documents = new BoundedMap<readonly string[]>(maxDocuments);

  async function ruleOf({ tenantId, contractId, id, version }: ContractSummary): Promise<ContractRule> {
    const cached = rules.get(id, 0);
    if (cached) return cached;
    const contract = await store.contracts.version(tenantId, contractId, version);
    if (!contract) return { sentence: '', tools: [] };
    const { type, definition } = contract;
    const rule = { sentence: sentenceOf(type, definition), tools: toolsOf(definition).slice(0, maxTools) };
    rules.set(id, rule, always);
    return rule;
  }

  async function contractsOf({ tenantId, bundleName, version }: Deployment): Promise<readonly string[]> {
    const key = JSON.stringify([tenantId, bundleName, version]);
    const cached = documents.get(key, 0);
    if (cached) return cached;
    const bundle = await store.bundles.version(tenantId, bundleName, version);
    const ids = (bundle?.snapshot ?? []).map(contractIdOf);
    documents.set(key, ids, always);
    return ids;
  }

  return {
    async rules(principal, contracts) {
      const deployedBy = new Map<string, Deployment[]>();
      for (const deployment of await store.deployments.currentAll(principal.tenantId)) {
        if (!seesEnv(principal, deployment.env)) continue;
        for (const id of await contractsOf(deployment)) {
          const deployments = deployedBy.get(id);
          if (deployments) deployments.push(deployment);
          else deployedBy.set(id, [deployment]);
        }
      }
      const listed: ListedRule[] = [];
      for (let from = 0; from < contracts.length; from += atOnce) {
        const slice = contracts.slice(from, from + atOnce);
        const sliceRules = await Promise.all(slice.map(ruleOf));
        for (const [i, rule] of sliceRules.entries())
          listed.push({ ...rule, deployed: deployedBy.get(slice[i]?.contractId ?? '') ?? [] });
      }
      return listed;
    },
  };
}

async function viewOf({ store }: Ports, contract: ContractVersion): Promise<ContractView> {
  const { tenantId, contractId } = contract;
  const [history, usageCount] = await Promise.all([
    store.contracts.history(tenantId, contractId),
    store.contracts.usageCount(tenantId, contractId),
  ]);
  // A parallel update may have added a later one.
  const isLatest = (history[0]?.version ?? contract.version) === contract.version;
  return { contract, usageCount, isLatest, history };
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
    documentKind: null,
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
