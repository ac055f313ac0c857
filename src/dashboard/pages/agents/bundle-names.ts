// The bundles to choose from for an agent, a selection of agents, a rule or a test.
import { useEffect, useState } from 'react';
import { readOn, usePageRows, usePages } from '../../lib/query.ts';

/**
 * The first page of bundles. `onSearch` is for the text that a person types to find one: while it has a text, the other
 * pages load, because the hub has no search for bundles.
 * @param own the present choice, which is among the names even if its bundle is gone
 */
export function useBundleNames(own: string | null = null) {
  const query = usePages('listBundles', { query: { limit: 1000 } }, { byOffset: true });
  const bundles = usePageRows(
    query,
    ({ reply }) => reply,
    ({ name }) => name,
  );
  const [text, setText] = useState('');
  useEffect(() => {
    if (text !== '') readOn(query);
  });
  const names = bundles.map(({ name }) => name);
  return {
    query,
    bundles,
    names: own === null || names.includes(own) ? names : [...names, own],
    onSearch: query.hasNextPage || (query.data?.pages.length ?? 0) > 1 ? setText : undefined,
  };
}
