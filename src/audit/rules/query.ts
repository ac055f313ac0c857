// The test whether an entry of the audit chain matches a query, and what stores narrow by first. Pure.
import type { JsonObject } from '../../contract/record.ts';
import type { Query, QueryTerm } from '../../event/rules/query/parse.ts';
import { anyOf, everyTerm, globs, isText, onlyValues } from '../../event/rules/query/values.ts';
import { visibleText, wordTest } from '../../event/rules/query/words.ts';
import { auditSubjects } from '../record/subjects.ts';
import type { AuditSubject } from '../record.ts';

type EntryTest = (entry: JsonObject) => boolean;

const textsAt = (entry: JsonObject, ...paths: readonly (readonly [name: string, part?: string])[]) =>
  paths
    .map(([name, part]) => {
      const value = entry[name];
      return part === undefined ? value : (value as JsonObject | undefined)?.[part];
    })
    .filter(isText);

function termTest(term: QueryTerm): EntryTest {
  const test = globs(term);
  switch (term.field) {
    case null: {
      const words = anyOf(term.values.map(wordTest));
      return (entry) =>
        textsAt(entry, ['summary'], ['actor', 'display'], ['subject', 'name'], ['subject', 'id']).some(
          (text) => words(visibleText(text) ?? ''),
        );
    }
    case 'by':
      return (entry) => textsAt(entry, ['actor', 'id'], ['actor', 'display']).some(test);
    case 'action':
      return (entry) => textsAt(entry, ['action_type']).some(test);
    case 'subject':
      return (entry) => textsAt(entry, ['subject_type']).some(test);
    case 'agent':
      return (entry) => textsAt(entry, ['agent_id']).some(test);
    case 'run':
      return (entry) => textsAt(entry, ['session_id']).some(test);
    default:
      return () => false;
  }
}

/** Makes the test of a query that was parsed with the grammar of the audit. */
export const auditQueryTest = ({ terms }: Query): EntryTest => everyTerm(terms, termTest);

/** The only actions and subjects that a query allows; null if it allows all. */
export function narrowingOf(query: Query): {
  readonly actions: readonly string[] | null;
  readonly subjects: readonly AuditSubject[] | null;
} {
  const subjects = onlyValues(query, 'subject');
  return {
    actions: onlyValues(query, 'action'),
    subjects: subjects && auditSubjects.filter((subject) => subjects.includes(subject)),
  };
}
