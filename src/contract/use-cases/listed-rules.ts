// Rules of listed contracts as sentences, and the deployed documents that were assembled from them.
import { contractIdOf } from '../../bundle/record.ts';
import type { Deployment } from '../../deployment/record.ts';
import { seesEnv } from '../../shared/access.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import { inSlices } from '../../shared/concurrency/in-slices.ts';
import { createSharedReads } from '../../shared/concurrency/shared-reads.ts';
import { groupBy } from '../../shared/group-by.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { ContractSummary } from '../port.ts';
import { cut, sentenceOf, toolsOf } from '../rules.ts';

/** A contract's rule, as lists show it. */
export interface ContractRule {
  readonly sentence: string;
  /** The first 20, each with at most 255 characters. */
  readonly tools: readonly string[];
}

export interface ListedRule extends ContractRule {
  /** Deployments of documents that were assembled from the contract, in environments that the principal sees. */
  readonly deployed: readonly Pick<Deployment, 'env' | 'bundleName' | 'version'>[];
}

/** Versions whose rules, and documents whose contracts, are kept. Neither changes. */
const [maxRules, maxDocuments] = [10_000, 10_000];
/** Definitions that are read at once, and documents. A definition may have 256 KiB. */
const [rulesAtOnce, documentsAtOnce] = [50, 10];
const [maxTools, maxToolName] = [20, 255];
const always = Number.POSITIVE_INFINITY;

export class ListedRules {
  readonly #store: AppPorts['store'];
  readonly #rules = new BoundedMap<ContractRule>(maxRules);
  readonly #documents = new BoundedMap<readonly string[]>(maxDocuments);
  /** Of a tenant. After a deploy, all open pages that list contracts ask at once. */
  readonly #readDeployed = createSharedReads(async (tenantId) =>
    inSlices(await this.#store.deployments.listAllCurrent(tenantId), documentsAtOnce, async (deployment) => ({
      deployment,
      contractIds: await this.#contractsOf(deployment),
    })),
  );

  constructor({ store }: Pick<AppPorts, 'store'>) {
    this.#store = store;
  }

  /** In the order of the contracts. */
  async list(principal: Principal, contracts: readonly ContractSummary[]): Promise<readonly ListedRule[]> {
    const uses = (await this.#readDeployed(principal.tenantId)).flatMap(({ deployment, contractIds }) =>
      seesEnv(principal, deployment.env) ? contractIds.map((id) => ({ id, deployment })) : [],
    );
    const deployedBy = groupBy(uses, ({ id }) => id);
    const rules = await inSlices(contracts, rulesAtOnce, (contract) => this.#ruleOf(contract));
    return rules.map((rule, i) => ({
      ...rule,
      deployed: (deployedBy.get(contracts[i]?.contractId ?? '') ?? []).map(({ deployment }) => deployment),
    }));
  }

  async #ruleOf({ tenantId, contractId, id, version }: ContractSummary): Promise<ContractRule> {
    const cached = this.#rules.get(id, 0);
    if (cached) return cached;
    const contract = await this.#store.contracts.getVersion(tenantId, contractId, version);
    if (!contract) return { sentence: '', tools: [] };
    const { type, definition } = contract;
    const tools = toolsOf(definition).slice(0, maxTools);
    const rule = {
      sentence: sentenceOf(type, definition),
      tools: tools.map((name) => cut(name, maxToolName)),
    };
    this.#rules.set(id, rule, always);
    return rule;
  }

  async #contractsOf({ tenantId, bundleName, version }: Deployment): Promise<readonly string[]> {
    const key = JSON.stringify([tenantId, bundleName, version]);
    const cached = this.#documents.get(key, 0);
    if (cached) return cached;
    const bundle = await this.#store.bundles.getVersion(tenantId, bundleName, version);
    const ids = (bundle?.snapshot ?? []).map(contractIdOf);
    this.#documents.set(key, ids, always);
    return ids;
  }
}
