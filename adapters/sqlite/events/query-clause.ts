// Conditions on the summaries of segments, from the terms of a query. Never excludes a segment that holds an event that
// matches.
import { type VerdictClass, verdictsOf } from '../../../src/event/record.ts';
import type { Query, QueryTerm, QueryValue } from '../../../src/event/rules/query/parse.ts';
import { literalOf } from '../../../src/event/rules/query/words.ts';
import { isWellFormed } from '../../../src/shared/ids.ts';
import type { SqlValue } from '../database.ts';

/** The text of JSON that a summary with the value contains; null if no text is certain. */
function mark(value: QueryValue): string | null {
  const literal = literalOf(value);
  if (literal === '' || !isWellFormed(literal)) return null;
  const json = JSON.stringify(literal);
  return literal === value.text ? json : json.slice(1, -1);
}

/** The classes of first verdicts behind the words of a query; a denial in mode observe is "would deny". */
const verdictClasses: { readonly [word: string]: readonly VerdictClass[] } = {
  denied: ['denied'],
  would_deny: ['would_deny', 'denied'],
  asked: ['pending'],
};

function verdictMarks({ values }: QueryTerm): readonly string[] | null {
  const marks: string[] = [];
  for (const { text } of values) {
    const classes = verdictClasses[text];
    // Words that the hub does not know count as allowed.
    if (!classes) return null;
    marks.push(...classes.flatMap(verdictsOf).map((verdict) => JSON.stringify(verdict)));
  }
  return marks;
}

function valueMarks({ values }: QueryTerm): readonly string[] | null {
  const marks = values.map(mark);
  return marks.includes(null) ? null : (marks as readonly string[]);
}

const tests: { readonly [field: string]: string } = {
  verdict: 'instr(tallies, ?) > 0',
  tool: 'instr(tallies, ?) > 0',
  mode: 'instr(tallies, ?) > 0',
  contract: '(instr(names, ?) > 0 OR outcomes > 0)',
  version: 'instr(versions, ?) > 0',
};

/** Adds the tests of a query's terms to those of a walk. */
export function addQueryTests({ terms }: Query, add: (sql: string, ...values: SqlValue[]) => void): void {
  for (const term of terms) {
    const { field, isNegated, values } = term;
    if (isNegated || field === null) continue;
    if (field === 'env') {
      add(`env IN (${values.map(() => '?').join(', ')})`, ...values.map(({ text }) => text));
    } else if (field === 'agent') {
      const literals = values.map(literalOf);
      if (!literals.every((text) => text !== '' && isWellFormed(text))) continue;
      add(`(${literals.map(() => 'instr(agent, ?) > 0').join(' OR ')})`, ...literals);
    } else {
      const test = Object.hasOwn(tests, field) ? tests[field] : undefined;
      const marks = test === undefined ? null : field === 'verdict' ? verdictMarks(term) : valueMarks(term);
      if (marks) add(`(${marks.map(() => test).join(' OR ')})`, ...marks);
    }
  }
}
