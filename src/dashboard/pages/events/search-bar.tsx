// The query bar of Explore. It offers the values with calls in the present range and environment, and the arguments of
// the tool in the query, once a person types.
import { type JSX, useMemo, useState } from 'react';
import { eventGrammar } from '../../../event/rules/query/fields.ts';
import { parseQuery } from '../../../event/rules/query/parse.ts';
import { minuteMs } from '../../../shared/duration.ts';
import { useCommand } from '../../lib/commands.ts';
import { eventLanguage, useEventQuery } from '../../lib/event-query.ts';
import { useCall } from '../../lib/query.ts';
import { lastTerm } from '../../lib/query-completion.ts';
import { spanOf } from '../../lib/range.ts';
import { useFilters } from '../../lib/search.ts';
import { useNow } from '../../lib/ticker.ts';
import { QueryBar } from '../../ui/query-bar.tsx';
import { argumentValues } from './argument-values.ts';
import { payloadField } from './event-row.ts';
import { facetFields, facetNames } from './facet-names.ts';
import { filterOf } from './filters.ts';

/** Calls whose arguments are offered. */
const maxCalls = 100;

/** The only tool that the finished terms of a text allow. */
function toolOf(text: string): string | undefined {
  const read = parseQuery(text.slice(0, text.length - lastTerm(text).length), eventGrammar);
  const term = 'query' in read ? read.query.terms.find(({ field }) => field === 'tool') : undefined;
  const [tool, ...others] = term?.values ?? [];
  return term?.isNegated || others.length > 0 || tool?.text.includes('*') ? undefined : tool?.text;
}

/** Values of the range for a text that a person is typing; null: nobody is. */
function useValues(typed: string | null) {
  const [search] = useFilters();
  const filter = filterOf(search, '', spanOf(search, useNow(minuteMs)));
  const { data: counts } = useCall(
    'eventFacets',
    { query: filter },
    { enabled: typed !== null, keep: true, moves: true },
  );
  const tool = toolOf(typed ?? '');
  const { data: calls } = useCall(
    'searchEvents',
    { query: { ...filter, ...(tool ? { tool_name: tool } : {}), limit: maxCalls } },
    { enabled: /^-?(args|principal)\./.test(lastTerm(typed ?? '')), moves: true },
  );
  return useMemo(() => {
    const part = (name: string) => (calls ?? []).map((call) => payloadField(call, name));
    return {
      ...Object.fromEntries(
        facetNames.map((name) => [
          facetFields[name].field,
          counts?.facets[name].top.map(({ value, count }) => [value, count] as const) ?? [],
        ]),
      ),
      ...argumentValues('args', part('tool_args')),
      ...argumentValues('principal', part('principal')),
    };
  }, [counts, calls]);
}

export function SearchBar(): JSX.Element {
  const [typed, setTyped] = useState<string | null>(null);
  useCommand('searchEvents', () => document.querySelector<HTMLElement>('.query-bar input')?.focus());
  return (
    <QueryBar
      language={eventLanguage}
      query={useEventQuery()}
      placeholder="verdict:denied tool:run_sql args.path:*.env"
      values={useValues(typed)}
      onText={setTyped}
    />
  );
}
