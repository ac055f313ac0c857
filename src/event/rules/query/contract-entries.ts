// Contracts of the library in filters: a document may contain several entries for one contract, and events contain the
// id of the entry. Pure.
import type { EventFilter } from '../filter.ts';
import type { QueryTerm } from './parse.ts';
import { valueTerm } from './print.ts';
import { globs } from './values.ts';

/** Ids of contracts by the ids of their entries. */
export type ContractEntries = ReadonlyMap<string, string>;

/** True if the filter names contracts. */
export const namesContracts = ({ decisionName, query }: EventFilter): boolean =>
  decisionName !== undefined || (query?.terms.some(({ field }) => field === 'contract') ?? false);

function withEntriesOf(term: QueryTerm, entries: ContractEntries): QueryTerm {
  if (term.field !== 'contract') return term;
  const matches = globs(term);
  const added = [...entries].filter(([entry, id]) => matches(id) && !matches(entry)).map(([entry]) => entry);
  if (added.length === 0) return term;
  return { ...term, values: [...term.values, ...added.map((text) => ({ text, isQuoted: true }))] };
}

/** The filter, in which a contract's id stands for all of its entries. An entry's id stands for that entry alone. */
export function withContractEntries<F extends EventFilter>(filter: F, entries: ContractEntries): F {
  const { decisionName, ...others } = filter;
  const terms = (filter.query?.terms ?? []).map((term) => withEntriesOf(term, entries));
  const nameTerm = decisionName === undefined ? null : valueTerm('contract', decisionName);
  const ofName = nameTerm && withEntriesOf(nameTerm, entries);
  if (ofName !== null && ofName !== nameTerm)
    return { ...others, query: { terms: [...terms, ofName] } } as unknown as F;
  return filter.query === undefined ? filter : { ...filter, query: { terms } };
}

/** The contracts that names of an event stand for, each once. */
export const contractsOf = (
  names: Iterable<string | null>,
  entries: ContractEntries | undefined,
): ReadonlySet<string> => {
  const contracts = new Set<string>();
  for (const name of names) if (name !== null) contracts.add(entries?.get(name) ?? name);
  return contracts;
};
