// Rules of listed contracts as sentences, and the deployed documents that were assembled from them.
import { contractIdOf } from '../../bundle/record.ts';
import type { Deployment } from '../../deployment/record.ts';
import { seesEnv } from '../../shared/access.ts';
import { BoundedMap } from '../../shared/concurrency/bounded-map.ts';
import type { Principal } from '../../shared/principal.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { ContractSummary } from '../port.ts';
import { sentenceOf, toolsOf } from '../rules.ts';

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

/** Versions whose rules, and documents whose contracts, are kept. Neither changes. */
const [maxRules, maxDocuments] = [10_000, 1_000];
/** Definitions that are read at once; one may have 256 KiB. */
const atOnce = 50;
const maxTools = 20;
const always = Number.POSITIVE_INFINITY;

export class ListedRules {
  readonly #store: AppPorts['store'];
  readonly #rules = new BoundedMap<ContractRule>(maxRules);
  readonly #documents = new BoundedMap<readonly string[]>(maxDocuments);

  constructor({ store }: Pick<AppPorts, 'store'>) {
    this.#store = store;
  }

  /** In the order of the contracts. */
  async list(principal: Principal, contracts: readonly ContractSummary[]): Promise<readonly ListedRule[]> {
    const deployedBy = new Map<string, Deployment[]>();
    for (const deployment of await this.#store.deployments.listAllCurrent(principal.tenantId)) {
      if (!seesEnv(principal, deployment.env)) continue;
      for (const id of await this.#contractsOf(deployment)) {
        const deployments = deployedBy.get(id);
        if (deployments) deployments.push(deployment);
        else deployedBy.set(id, [deployment]);
      }
    }
    const listed: ListedRule[] = [];
    for (let from = 0; from < contracts.length; from += atOnce) {
      const slice = contracts.slice(from, from + atOnce);
      const rules = await Promise.all(slice.map((contract) => this.#ruleOf(contract)));
      for (const [i, rule] of rules.entries())
        listed.push({ ...rule, deployed: deployedBy.get(slice[i]?.contractId ?? '') ?? [] });
    }
    return listed;
  }

  async #ruleOf({ tenantId, contractId, id, version }: ContractSummary): Promise<ContractRule> {
    const cached = this.#rules.get(id, 0);
    if (cached) return cached;
    const contract = await this.#store.contracts.getVersion(tenantId, contractId, version);
    if (!contract) return { sentence: '', tools: [] };
    const { type, definition } = contract;
    const rule = { sentence: sentenceOf(type, definition), tools: toolsOf(definition).slice(0, maxTools) };
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
