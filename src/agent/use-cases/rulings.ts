// The contracts that count for agents: those of the bundle that an agent follows, as it is deployed now. Documents are
// read once.
import { environmentKey } from '../../../actors/protocol.ts';
import { contractIdOf } from '../../bundle/record.ts';
import type { Deployment } from '../../deployment/record.ts';
import { CompiledRulings } from '../../shared/compiled-rulings.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { inSlices } from '../../shared/concurrency/in-slices.ts';
import { HubError } from '../../shared/error.ts';
import { groupBy } from '../../shared/group-by.ts';
import type { Env } from '../../shared/ids.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { ContractNames } from '../../usage/port.ts';
import {
  type DeclaredContract,
  joined,
  libraryContracts,
  mayOverlap,
  type Ruling,
  rulingOf,
} from '../../usage/rules.ts';
import type { DriftStatus, RegistrationSummary } from '../record.ts';

/** Documents whose contracts are remembered, over all tenants. */
const maxDocuments = 500;
/** Versions whose entries are remembered, over all tenants; most have none. */
const maxNames = 10_000;
/** Deployments whose entries are known, beside the current ones. */
const pastDeployments = 50;
/** Documents of these that are read at once. */
const versionsAtOnce = 8;
/** Agents that an environment is asked about at once. */
const atOnce = 500;

/** Standing of an agent in an environment. */
export interface AgentStanding {
  /** The bundle that it follows; null when it follows all of the environment, or nobody knows. */
  readonly bundleName: string | null;
  readonly drift: DriftStatus;
}

export interface EnvironmentRulings {
  /** By bundle name. */
  readonly deployed: ReadonlyMap<string, Deployment>;
  /** The contracts of a bundle, or of all; null when nothing of it is deployed. */
  of(bundleName: string | null): Promise<Ruling | null>;
}

export interface Rulings {
  inEnvironment(tenantId: string, env: Env): Promise<EnvironmentRulings>;
  /**
   * Ids of contracts of the library by the entries that stand for them: of what is deployed now, and of the newest 50
   * deployments, which agents that are behind still run. Reads no document.
   */
  entries(tenantId: string): Promise<ContractNames['entries']>;
  /** The same with what the documents say of their tools. @throws HubError overloaded, unavailable */
  entryNames(tenantId: string): Promise<ContractNames>;
  /** Standings of these agents, in their order. Agents that are not registered are known by their id alone. */
  standings(
    tenantId: string,
    env: Env,
    agents: readonly Pick<RegistrationSummary, 'agentId' | 'bundleName' | 'tags'>[],
  ): Promise<readonly AgentStanding[]>;
}

type Ports = Pick<AppPorts, 'store' | 'actors' | 'evaluator' | 'ruleSets'>;

const versionKey = ({ tenantId, bundleName, version }: Deployment): string =>
  JSON.stringify([tenantId, bundleName, version]);

class EffectiveContracts implements Rulings {
  readonly #ports: Ports;
  readonly #documents = new BoundedMap<readonly DeclaredContract[]>(maxDocuments);
  /** These two: of versions of bundles, which never change. */
  readonly #entries = new BoundedMap<ContractNames['entries']>(maxNames);
  readonly #overlaps = new BoundedMap<boolean>(maxNames);
  readonly #compiledRulings = new CompiledRulings();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  async inEnvironment(tenantId: string, env: Env): Promise<EnvironmentRulings> {
    const current = await this.#ports.store.deployments.listCurrent(tenantId, env);
    const deployed = new Map(current.map((deployment) => [deployment.bundleName, deployment]));
    const rulingsOf = new Map<string | null, Ruling | null>();
    return {
      deployed,
      of: async (bundleName) => {
        const before = rulingsOf.get(bundleName);
        if (before !== undefined) return before;
        const selectedDeployments =
          bundleName === null ? current : current.filter((one) => one.bundleName === bundleName);
        const rulings: Ruling[] = [];
        // One after another: a tenant's documents are read on few threads.
        for (const one of selectedDeployments) rulings.push(await this.#rulingOfDeployed(one));
        const ruling = rulings.length === 0 ? null : joined(rulings);
        rulingsOf.set(bundleName, ruling);
        return ruling;
      },
    };
  }

  async entries(tenantId: string): Promise<ContractNames['entries']> {
    const versions = [...(await this.#versions(tenantId))];
    const all = await inSlices(versions, versionsAtOnce, ([key, one]) => this.#entriesIn(key, one));
    return new Map(all.flatMap((entries) => [...entries]));
  }

  async entryNames(tenantId: string): Promise<ContractNames> {
    const versions = [...(await this.#versions(tenantId))];
    const all = await inSlices(versions, versionsAtOnce, async ([key, deployment]) => {
      const entries = await this.#entriesIn(key, deployment);
      if (entries.size === 0) return { entries, overlap: false };
      const overlap = this.#overlaps.get(key, 0) ?? (await this.#mayOverlapIn(deployment));
      this.#overlaps.set(key, overlap, Number.POSITIVE_INFINITY);
      return { entries, overlap };
    });
    return {
      entries: new Map(all.flatMap(({ entries }) => [...entries])),
      mayOverlap: all.some(({ overlap }) => overlap),
    };
  }

  async standings(
    tenantId: string,
    env: Env,
    agents: readonly Pick<RegistrationSummary, 'agentId' | 'bundleName' | 'tags'>[],
  ): Promise<readonly AgentStanding[]> {
    const { ruleSets, store, actors } = this.#ports;
    const rules = ruleSets.of(tenantId, await store.rules.list(tenantId));
    const deployed = await store.deployments.listCurrent(tenantId, env);
    const byHash = new Map(deployed.map(({ revisionHash, bundleName }) => [revisionHash, bundleName]));
    const standings: AgentStanding[] = [];
    for (let from = 0; from < agents.length; from += atOnce) {
      const chunk = agents.slice(from, from + atOnce).map(({ agentId, bundleName, tags }) => ({
        agentId,
        bundleName: rules.resolve({ agentId, env, explicit: bundleName, tags }).bundleName,
      }));
      const key = environmentKey(tenantId, env);
      const states = await actors.ask('environment', key, 'agentStates', { agents: chunk });
      for (const { bundleName, policyVersion, status } of states) {
        // One that follows all runs what it loaded last.
        const running = policyVersion === null ? null : (byHash.get(policyVersion) ?? null);
        standings.push({ bundleName: bundleName ?? running, drift: status });
      }
    }
    return standings;
  }

  /** The contracts of a deployed document; none of one that cannot be read. @throws HubError overloaded, unavailable */
  async #contractsOf(deployment: Deployment): Promise<readonly DeclaredContract[]> {
    const { store, evaluator } = this.#ports;
    const { tenantId, bundleName, version } = deployment;
    // Not by the hash: another version of the same text has another record.
    const key = versionKey(deployment);
    const cached = this.#documents.get(key, 0);
    if (cached) return cached;
    const yaml = await store.bundles.getYaml(tenantId, bundleName, version);
    if (yaml === null) return [];
    let contracts: readonly DeclaredContract[] = [];
    try {
      contracts = await evaluator.listContracts(tenantId, new TextDecoder().decode(yaml));
      // Several entries of a composed document may stand for one contract: the snapshot shows it, their ids do not.
      const bundle = await store.bundles.getVersion(tenantId, bundleName, version);
      contracts = libraryContracts(contracts, bundle?.snapshot ?? []);
    } catch (error) {
      if (!(error instanceof HubError) || error.code !== 'unprocessable') throw error;
    }
    this.#documents.set(key, contracts, Number.POSITIVE_INFINITY);
    return contracts;
  }

  async #rulingOfDeployed(deployment: Deployment): Promise<Ruling> {
    const contracts = await this.#contractsOf(deployment);
    return this.#compiledRulings.of(versionKey(deployment), () => rulingOf(deployment.bundleName, contracts));
  }

  /**
   * The contracts deployed now behind those deployed before: where an id stood for another contract before, the later
   * one decides.
   */
  async #versions(tenantId: string): Promise<ReadonlyMap<string, Deployment>> {
    const { deployments } = this.#ports.store;
    const past = await deployments.list(tenantId, {}, { limit: pastDeployments, offset: 0 });
    const current = await deployments.listAllCurrent(tenantId);
    const versions = new Map<string, Deployment>();
    for (const deployment of [...past.items].reverse().concat(current)) {
      const key = versionKey(deployment);
      versions.delete(key);
      versions.set(key, deployment);
    }
    return versions;
  }

  /** Ids of entries, by contract: of those that stand in a version as several entries. */
  async #severalIn({ tenantId, bundleName, version }: Deployment): Promise<ReadonlyMap<string, string[]>> {
    const bundle = await this.#ports.store.bundles.getVersion(tenantId, bundleName, version);
    // A contract and its copy that observes are two records.
    const records = groupBy(bundle?.snapshot ?? [], contractIdOf);
    const entries = [...records].map(
      ([id, copies]) => [id, copies.flatMap((copy) => copy.entries ?? [id])] as const,
    );
    return new Map(entries.filter(([id, entryIds]) => entryIds.some((entryId) => entryId !== id)));
  }

  async #entriesIn(key: string, deployment: Deployment): Promise<ContractNames['entries']> {
    const cached = this.#entries.get(key, 0);
    const several = cached ? [] : [...(await this.#severalIn(deployment))];
    const own = several.flatMap(([contractId, ids]) => ids.map((id) => [id, contractId] as const));
    const entries = cached ?? new Map(own);
    this.#entries.set(key, entries, Number.POSITIVE_INFINITY);
    return entries;
  }

  /** @throws HubError overloaded, unavailable */
  async #mayOverlapIn(deployment: Deployment): Promise<boolean> {
    const tools = new Map((await this.#contractsOf(deployment)).map((one) => [one.id, one.tools]));
    const several = await this.#severalIn(deployment);
    // A contract without readable tools may match any tool.
    return [...several.values()].some((ids) =>
      mayOverlap(ids.map((id) => tools.get(id) ?? []).map((one) => (one.length === 0 ? ['*'] : one))),
    );
  }
}

export const createRulings = (ports: Ports): Rulings => new EffectiveContracts(ports);
