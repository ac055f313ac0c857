// The filters beside the list of events.

/** Fields with counts beside the list: the label of each, and its word in queries. */
export const facetFields = {
  first_verdict: { label: 'Verdict', field: 'verdict' },
  tool_name: { label: 'Tool', field: 'tool' },
  agent_id: { label: 'Agent', field: 'agent' },
  decision_name: { label: 'Contract', field: 'contract' },
  mode: { label: 'Mode', field: 'mode' },
  env: { label: 'Environment', field: 'env' },
} as const;
export type FacetName = keyof typeof facetFields;
export const facetNames = Object.keys(facetFields) as readonly FacetName[];

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
