// What a folder and a hub both contain: contracts, compositions, bundles, rules, tool settings and deployments, and the
// hashes that tell one state from another. Pure.
import { createHash } from 'node:crypto';
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
  readonly contract_id: string;
  readonly position: number;
  readonly mode_override: 'enforce' | 'observe' | null;
  readonly enabled: boolean;
  /** Hash of the content that is pinned. */
  readonly revision: string;
}

export interface CompositionContent {
  readonly description: string | null;
  readonly defaults_mode: 'enforce' | 'observe';
  readonly update_strategy: 'manual' | 'auto_deploy' | 'observe_first';
  readonly document_kind: 'bundle' | 'ruleset' | null;
  /** By position, then contract id. */
  readonly contracts: readonly ItemContent[];
  readonly tools_config: JsonObject | null;
  readonly observability: JsonObject | null;
}

export interface RuleContent {
  readonly priority: number;
  readonly pattern: string;
  readonly tag_match: { readonly [tag: string]: string } | null;
  readonly bundle_name: string;
  readonly env: Env;
}

export interface ToolsContent {
  readonly tool_arguments: JsonObject;
  readonly custom_selectors: readonly string[];
  readonly custom_operators: readonly string[];
  readonly command_profiles: JsonObject;
}

/** The folder's format, in plans. */
export const format = 'reeve-plan-1';

export const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

/** The same for equal contents, whatever the order of keys. */
export const hashOf = (content: object): string => sha256(canonicalJson(content));

export const byPlace = (
  a: Pick<ItemContent, 'position' | 'contract_id'>,
  b: Pick<ItemContent, 'position' | 'contract_id'>,
): number => a.position - b.position || byText(a.contract_id, b.contract_id);

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

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
