// The filters beside the list of events.

/** Fields with counts beside the list. Each is also a parameter of the address. */
export const facetNames = ['verdict', 'tool_name', 'agent_id', 'decision_name', 'mode', 'env'] as const;
export type FacetName = (typeof facetNames)[number];
export const facetLabels: { readonly [N in FacetName]: string } = {
  verdict: 'Verdict',
  tool_name: 'Tool',
  agent_id: 'Agent',
  decision_name: 'Contract',
  mode: 'Mode',
  env: 'Environment',
};
