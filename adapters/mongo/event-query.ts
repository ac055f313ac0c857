// The terms of a query for MongoDB: exactly, where the fields of a document decide them; the others narrow a scan, and
// the adapter tests each document that passes.
import type { Document, Filter } from 'mongodb';
import { verdictsOf } from '../../src/event/record.ts';
import { needleOf } from '../../src/event/rules/query/needles.ts';
import type { Query, QueryTerm, QueryValue } from '../../src/event/rules/query/parse.ts';
import { literalOf } from '../../src/event/rules/query/words.ts';
import { globPatterns, literalPattern, searchPattern, toBsonText } from './form.ts';

/** Of documents of events (event-filter.ts). */
type RowFilter = Filter<Document>;

/** Tests of a text that is kept as `toBsonText` keeps it; one of them must hold. */
const valueTests = ({ text, isQuoted }: QueryValue): readonly object[] =>
  isQuoted || !text.includes('*')
    ? [{ $eq: toBsonText(text) }]
    : globPatterns(text).map((pattern) => ({ $regex: pattern }));

const anyValue = ({ values }: QueryTerm, path: string): RowFilter => ({
  $or: values.flatMap(valueTests).map((test) => ({ [path]: test })),
});

const denied = { verdict: { $in: [...verdictsOf('denied')] } };
const wouldDeny = { verdict: { $in: [...verdictsOf('would_deny')] } };
const isPending = { verdict: { $in: [...verdictsOf('pending')] } };

const verdictTests: { readonly [word: string]: RowFilter } = {
  denied: { ...denied, mode: { $ne: 'observe' } },
  would_deny: { $or: [wouldDeny, { ...denied, mode: { $eq: 'observe' } }] },
  asked: isPending,
  allowed: { $nor: [denied, wouldDeny, isPending] },
};

/** A term that the fields of a document decide; null for another. */
function fieldTest(term: QueryTerm): RowFilter | null {
  switch (term.field) {
    case 'verdict':
      return { $or: term.values.map(({ text }) => verdictTests[text] ?? {}) };
    case 'tool':
      return anyValue(term, 'toolName');
    case 'agent':
      return anyValue(term, 'agentId');
    case 'env':
      return anyValue(term, 'env');
    case 'mode':
      return anyValue(term, 'mode');
    case 'version':
      return anyValue(term, 'policyVersion');
    case 'contract':
      return {
        $or: term.values
          .flatMap(valueTests)
          .flatMap((test) => [{ decisionName: test }, { outcomes: { $elemMatch: { decision_name: test } } }]),
      } as RowFilter;
    default:
      return null;
  }
}

/** Finds texts that are kept as JSON (form.ts). */
const keptAsJson = { $regex: '^\\x01' };

/** Bytes of a pattern that servers take; a longer one only narrows less. */
const maxPattern = 8_000;

/** The pattern of a term's words in names, which are no JSON. */
function namePattern({ field, values }: QueryTerm): string {
  const patternOf = field === null ? searchPattern : literalPattern;
  return `(?:${values.map((value) => patternOf(literalOf(value))).join('|')})`;
}

/** A condition that documents of matching events meet; null if none is certain. */
export function needleTest(term: QueryTerm): RowFilter | null {
  const needle = needleOf(term);
  if (!needle || needle.pattern.length > maxPattern) return null;
  const payload = { payload: { $regex: needle.pattern } } as RowFilter;
  const { field } = term;
  if (field === 'reason') return { $or: [payload, { 'outcomes.0': { $exists: true } }] };
  if (field !== null && field !== 'call') return payload;
  const pattern = namePattern(term);
  if (pattern.length > maxPattern) return null;
  const paths =
    field === 'call' ? ['callId', 'givenCallId'] : ['agentId', 'toolName', 'callId', 'givenCallId'];
  // A name that is kept as JSON has escapes.
  const names = paths.flatMap((path) => [{ [path]: { $regex: pattern } }, { [path]: keptAsJson }]);
  return field === 'call'
    ? { $or: names }
    : { $or: [payload, ...names, { 'outcomes.0': { $exists: true } }] };
}

/** The conditions of the terms that the fields of a document decide. */
export function fieldTests({ terms }: Query): readonly RowFilter[] {
  const tests: RowFilter[] = [];
  for (const term of terms) {
    const test = fieldTest(term);
    if (test) tests.push(term.isNegated ? { $nor: [test] } : test);
  }
  return tests;
}
