// Contents of a folder and of a hub: contracts, compositions, bundles, rules, tool settings and deployments, and the
// hashes that tell one state from another. Pure.
import { createHash } from 'node:crypto';
import type { IsolationMode } from 'reeve-agent/rules';
import type { JsonObject } from '../../contract/record.ts';
import type { Env } from '../../shared/ids.ts';
import { canonicalJson } from '../../shared/json/canonical.ts';

export interface ContractContent {
  readonly name: string;
  readonly description: string | null;
  readonly type: 'pre' | 'post' | 'session' | 'sandbox';
  readonly definition: JsonObject;
  readonly tags: readonly string[];
}

export interface ItemContent {
  readonly contractId: string;
  readonly position: number;
  readonly modeOverride: 'enforce' | 'observe' | null;
  readonly enabled: boolean;
  /** Hash of the content that is pinned. */
  readonly revision: string;
}

export interface CompositionContent {
  readonly description: string | null;
  readonly defaultsMode: 'enforce' | 'observe';
  readonly updateStrategy: 'manual' | 'auto_deploy' | 'observe_first';
  readonly documentKind: 'bundle' | 'ruleset' | null;
  /** By position, then contract id. */
  readonly contracts: readonly ItemContent[];
  readonly toolsConfig: JsonObject | null;
  readonly observability: JsonObject | null;
}

export interface RuleContent {
  readonly priority: number;
  readonly pattern: string;
  readonly tagMatch: { readonly [tag: string]: string } | null;
  readonly bundleName: string;
  readonly env: Env;
}

export interface ToolsContent {
  readonly toolArguments: JsonObject;
  readonly customSelectors: readonly string[];
  readonly customOperators: readonly string[];
  readonly commandProfiles: JsonObject;
  readonly isolation: IsolationMode;
}

export const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

/** The same for equal forms, whatever the order of keys. */
export const hashOf = (form: object): string => sha256(canonicalJson(form));

export const byPlace = (
  a: Pick<ItemContent, 'position' | 'contractId'>,
  b: Pick<ItemContent, 'position' | 'contractId'>,
): number => a.position - b.position || byText(a.contractId, b.contractId);

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The key of a content that is not its contract's newest: contracts with equal contents have equal hashes. */
export const olderKeyOf = (contractId: string, hash: string): string => `${contractId}@${hash}`;

/** The key of a deployment. */
export const slotOf = (env: Env, bundle: string): string => `${env}/${bundle}`;

/** The results of tasks that run a few at once, in the order of the items. */
export async function mapFew<T, R>(
  items: readonly T[],
  task: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) results[i] = await task(items[i] as T, i);
  };
  await Promise.all(Array.from({ length: 4 }, work));
  return results;
}
