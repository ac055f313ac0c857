// Paths and values in the arguments and principals of calls, for the completion of queries. Pure.
import { pathText } from '../../../event/rules/query/print.ts';
import { isMapping } from '../../../shared/json/mapping.ts';
import type { QueryValues } from '../../lib/query-completion.ts';

/** Longer values are not offered. */
const maxValue = 80;
/** Keys below each other. */
const maxDepth = 3;

type Path = Parameters<typeof pathText>[0];

/** Calls `visit` for each text, number or switch below a value, with its path. */
function visitLeaves(value: unknown, path: Path, visit: (path: Path, text: string) => void): void {
  const last = path.at(-1);
  if (Array.isArray(value)) {
    if (!last || last.isList) return;
    const listPath = [...path.slice(0, -1), { ...last, isList: true }];
    for (const one of value) visitLeaves(one, listPath, visit);
  } else if (isMapping(value)) {
    if (path.length >= maxDepth) return;
    for (const [key, one] of Object.entries(value))
      visitLeaves(one, [...path, { key, isList: false }], visit);
  } else if (value !== null && last) visit(path, String(value));
}

/**
 * The paths in these values with the number of calls that have them, below `field`, and the values of each path, below
 * `field.path`. The most frequent come first.
 */
export function argumentValues(field: string, calls: readonly unknown[]): QueryValues {
  const counts = new Map<string, Map<string, number>>();
  for (const call of calls) {
    const countedHere = new Set<string>();
    const add = (name: string, value: string): void => {
      if (value === '' || value.length > maxValue || countedHere.has(`${name} ${value}`)) return;
      countedHere.add(`${name} ${value}`);
      const values = counts.get(name) ?? new Map<string, number>();
      counts.set(name, values.set(value, (values.get(value) ?? 0) + 1));
    };
    visitLeaves(call, [], (path, text) => {
      const name = pathText(path).slice(1);
      add(field, name);
      add(`${field}.${name}`, text);
    });
  }
  return Object.fromEntries(
    [...counts].map(([name, values]) => [name, [...values].sort(([, a], [, b]) => b - a)]),
  );
}
