// The filters beside the list of events.

/** Fields with counts beside the list. */
export const facetNames = ['first_verdict', 'tool_name', 'agent_id', 'decision_name', 'mode', 'env'] as const;
export type FacetName = (typeof facetNames)[number];
export const facetLabels: { readonly [N in FacetName]: string } = {
  first_verdict: 'Verdict',
  tool_name: 'Tool',
  agent_id: 'Agent',
  decision_name: 'Contract',
  mode: 'Mode',
  env: 'Environment',
};

/** The filter by a field: a parameter of stored addresses. */
export const filterBy = (name: FacetName, value: string): { readonly [parameter: string]: string } => ({
  [name === 'first_verdict' ? 'verdict' : name]: value,
});

/** Fields that calls can be grouped by, and their word in the address. */
export const groupFields = {
  tool: 'tool_name',
  agent: 'agent_id',
  contract: 'decision_name',
  env: 'env',
} as const satisfies { readonly [word: string]: FacetName };
export type GroupField = keyof typeof groupFields;

export const isGroupField = (word: string | undefined): word is GroupField =>
  word !== undefined && Object.hasOwn(groupFields, word);
