// The terms of a query for MongoDB: exactly, where the fields of a document decide them; the others narrow a scan, and
// the adapter tests each document that passes.
import type { Document, Filter } from 'mongodb';
import { verdictsOf } from '../../src/event/record.ts';
import { needleOf } from '../../src/event/rules/query/needles.ts';
import type { Query, QueryTerm, QueryValue } from '../../src/event/rules/query/parse.ts';
import { escapeRegExp } from '../../src/event/rules/query/words.ts';
import { toBsonText } from './form.ts';

/** Of documents of events (event-filter.ts). */
type RowFilter = Filter<Document>;

/** Takes each inner part where it comes first, without a second look: many wildcards still read a name once. */
function globPattern(text: string): string {
  const [head = '', ...rest] = text.split('*').map(escapeRegExp);
  const inner = rest.slice(0, -1).filter((part) => part !== '');
  return `^${head}${inner.map((part) => `(?>[\\s\\S]*?${part})`).join('')}[\\s\\S]*${rest.at(-1) ?? ''}$`;
}

/** A test of a text; of the few texts that are kept as JSON a wildcard takes all, and the scan decides. */
const valueTest = ({ text, isQuoted }: QueryValue): object =>
  isQuoted || !text.includes('*') ? { $eq: toBsonText(text) } : { $regex: `${globPattern(text)}|^\\x01` };

const anyValue = (term: QueryTerm, path: string): RowFilter => ({
  $or: term.values.map((value) => ({ [path]: valueTest(value) })),
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
        $or: term.values.flatMap((value) => [
          { decisionName: valueTest(value) },
          { outcomes: { $elemMatch: { decision_name: valueTest(value) } } },
        ]),
      } as RowFilter;
    default:
      return null;
  }
}

/** Finds texts that are kept as JSON (form.ts). */
const keptAsJson = { $regex: '^\\x01' };

/** Bytes of a pattern that servers take; a longer one only narrows less. */
const maxPattern = 8_000;

/** A condition that documents of matching events meet; null if none is certain. */
export function needleTest(term: QueryTerm): RowFilter | null {
  const needle = needleOf(term);
  if (!needle || needle.pattern.length > maxPattern) return null;
  const test = { $regex: needle.pattern };
  const payload = { payload: test } as RowFilter;
  if (term.field === 'reason') return { $or: [payload, { 'outcomes.0': { $exists: true } }] };
  if (term.field === 'call')
    return { $or: [{ callId: test }, { givenCallId: test }, { callId: keptAsJson }] };
  if (term.field !== null) return payload;
  const names = ['agentId', 'toolName', 'callId', 'givenCallId'].map((path) => ({ [path]: test }));
  // Names that are kept as JSON have escapes.
  const escaped = ['agentId', 'toolName'].map((path) => ({ [path]: keptAsJson }));
  return { $or: [payload, ...names, ...escaped, { 'outcomes.0': { $exists: true } }] };
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
