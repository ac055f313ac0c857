// Completions of a query that a person is typing: fields, values with their counts, and paths of arguments.
import type { QueryGrammar } from '../../event/rules/query/fields.ts';
import { valueText } from '../../event/rules/query/print.ts';

/** A value to offer, alone or with the number of its calls. */
type QueryValue = readonly [value: string, count?: number];

/**
 * Values to offer, by field, the most frequent first: `tool`, `args.path`. Of a field with paths, such as `args`, the
 * values are its paths.
 */
export type QueryValues = { readonly [field: string]: readonly (string | QueryValue)[] };

export interface Completion {
  /** Replaces the word at the end of the text. */
  readonly text: string;
  readonly label: string;
  /** Calls with the value. */
  readonly count?: number | undefined;
}

/** The term at the end of a text that a person is typing. Spaces in quotes and brackets are a part of it. */
export function lastTerm(text: string): string {
  let [start, isQuoted, isInList] = [0, false, false];
  for (let at = 0; at < text.length; at += 1) {
    const one = text.charAt(at);
    if (isQuoted) {
      if (one === '\\') at += 1;
      else if (one === '"') isQuoted = false;
    } else if (one === '"') isQuoted = true;
    else if (one === '(' || one === ')') isInList = one === '(';
    else if (/\s/.test(one) && !isInList) start = at + 1;
  }
  return text.slice(start);
}

const quotedPart = '"(?:\\\\.|[^"\\\\])*"';
/** Sign, field with its path, and what stands behind the colon. */
const termPattern = new RegExp(`^(-?)((?:[^\\s:"(]|${quotedPart})*)(?::([^]*))?$`);
/** The values of a list before the last one. */
const listPattern = new RegExp(`^\\((?:(?:${quotedPart}|[^",])*,)*\\s*`);

export function completionsOf(
  text: string,
  { fields }: QueryGrammar,
  values: QueryValues,
): readonly Completion[] {
  const term = lastTerm(text);
  const match = termPattern.exec(term);
  if (match === null || term === '' || term === '-') return [];
  const [, sign = '', name = '', content] = match;
  const valuesOf = (field: string): readonly QueryValue[] =>
    (values[field] ?? []).map((one) => (typeof one === 'string' ? [one] : one));
  if (content === undefined) {
    return fields.flatMap((field): readonly Completion[] => {
      const isPath = field.kind === 'path';
      const names: readonly QueryValue[] =
        isPath && name.startsWith(`${field.name}.`)
          ? valuesOf(field.name).map(([path, size]) => [`${field.name}.${path}:`, size])
          : [[`${field.name}${isPath ? '.' : ':'}`]];
      return names
        .filter(([whole]) => whole.startsWith(name))
        .map(([whole, size]) => ({ text: sign + whole, label: sign + whole, count: size }));
    });
  }
  const list = listPattern.exec(content)?.[0] ?? '';
  const start = content.slice(list.length).replace(/^"/, '').replace(/\\(.)/g, '$1');
  const choices = fields.find((field) => field.name === name)?.choices;
  const counted = valuesOf(name);
  const offered: readonly QueryValue[] = choices
    ? Object.keys(choices).map((word) => [word, counted.find(([value]) => value === word)?.[1]])
    : counted;
  return offered
    .filter(([value]) => value.startsWith(start) && value !== start)
    .map(([value, size]) => {
      // The value stands for itself alone, even with a leading operator or a `*`.
      const written = valueText({ text: value, isQuoted: true }, 'text', list !== '');
      return {
        text: `${sign}${name}:${list}${written}${list === '' ? ' ' : ''}`,
        label: `${sign}${name}:${value}`,
        count: size,
      };
    });
}
