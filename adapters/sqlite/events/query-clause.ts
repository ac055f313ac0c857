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

/** Columns whose JSON the marks of a field are in. */
const columns: { readonly [field: string]: string } = {
  verdict: 'tallies',
  tool: 'tallies',
  mode: 'tallies',
  contract: 'names',
  version: 'versions',
};

/** Marks that a test names one by one. SQLite bounds the depth of an expression and the number of its parameters. */
const maxNamedMarks = 8;

interface Test {
  readonly sql: string;
  readonly params: readonly string[];
}

/** True if a column contains one of these texts. */
function containsAny(column: string, texts: readonly string[]): Test {
  const params = [...new Set(texts)];
  if (params.length <= maxNamedMarks)
    return { sql: `(${params.map(() => `instr(${column}, ?) > 0`).join(' OR ')})`, params };
  const sql = `EXISTS (SELECT 1 FROM json_each(?) AS mark WHERE instr(${column}, mark.value) > 0)`;
  return { sql, params: [JSON.stringify(params)] };
}

/** True for an agent whose text is kept as JSON (database.ts): a part of its id may stand there with escapes. */
const isKeptAsJson = 'unicode(agent) = 1';

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
      const { sql, params } = containsAny('agent', literals);
      add(`(${sql} OR ${isKeptAsJson})`, ...params);
    } else {
      const column = Object.hasOwn(columns, field) ? columns[field] : undefined;
      const marks = column === undefined ? null : field === 'verdict' ? verdictMarks(term) : valueMarks(term);
      if (column === undefined || marks === null) continue;
      const { sql, params } = containsAny(column, marks);
      add(field === 'contract' ? `(${sql} OR outcomes > 0)` : sql, ...params);
    }
  }
}
