// The two vocabularies of documents and the APIs whose agents load them: bundles of contracts on the console API,
// rulesets on the hosted one. Documents are never translated. Pure.
import type { DocumentKind } from '../contract/record.ts';

/** The API that an agent uses. */
export const agentApis = ['console', 'hosted'] as const;
export type AgentApi = (typeof agentApis)[number];

/** The vocabulary that an agent used last. */
export interface AgentVocabulary {
  /** Null: no API is stored for it. */
  readonly lastApi: AgentApi | null;
  /** True if its newest stream declared that it loads documents of either vocabulary. */
  readonly loadsAny: boolean;
}

/** Circumstances in which an agent was seen. */
export interface SeenOn {
  readonly api: AgentApi;
  /** Absent: the agent sent no value, and its earlier one holds. */
  readonly loadsAny?: boolean;
}

const loads: { readonly [A in AgentApi]: DocumentKind } = { console: 'bundle', hosted: 'ruleset' };

/** The API whose agents do not load a document of this kind. */
export const otherApi = (kind: DocumentKind): AgentApi => (kind === 'bundle' ? 'hosted' : 'console');

/** @param kind null: unknown, or of both vocabularies */
export const canLoad = ({ lastApi, loadsAny }: AgentVocabulary, kind: DocumentKind | null): boolean =>
  lastApi === null || loadsAny || kind === null || loads[lastApi] === kind;

/** The document that an agent gets: the one with a name, or without a name all that its environment deploys. */
export interface GivenDocument {
  readonly bundleName: string | null;
  /** Null or absent: nothing that it is still to load, or that of both vocabularies. */
  readonly documentKind?: DocumentKind | null;
}

/** True if an agent gets a document in the other vocabulary. */
export const isUnable = (
  agent: AgentVocabulary,
  { bundleName, documentKind = null }: GivenDocument,
): boolean =>
  // Nobody of the hosted API is sent documents without a name.
  !(bundleName === null && agent.lastApi === 'hosted') && !canLoad(agent, documentKind);

/**
 * The vocabulary of a document by its `kind`; null if agents of both vocabularies load it, or of none.
 * @param kinds the kinds that this installation accepts for each vocabulary
 */
export function documentKindOf(
  kind: string | null,
  kinds: { readonly bundleKinds: readonly string[]; readonly rulesetKinds: readonly string[] },
): DocumentKind | null {
  const isBundle = kinds.bundleKinds.includes(kind ?? '');
  const isRuleset = kinds.rulesetKinds.includes(kind ?? '');
  if (isBundle === isRuleset) return null;
  return isBundle ? 'bundle' : 'ruleset';
}
