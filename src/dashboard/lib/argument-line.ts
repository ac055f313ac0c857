// The arguments of a call in one line: `path: /srv/a.ts, mode: "rw"`.
import { endCut, plainJson } from './text.ts';

/** UTF-16 code units. The panel contains the complete arguments. */
const maxLine = 300;

export function argumentLine(args: unknown): string {
  if (typeof args !== 'object' || args === null) return '';
  const entries = Object.entries(args);
  const valueText = (value: unknown): string =>
    typeof value === 'object' ? (JSON.stringify(value) ?? '') : plainJson(value);
  // A call with one argument needs no name before its value.
  const line =
    entries.length === 1 && typeof entries[0]?.[1] === 'string'
      ? entries[0][1]
      : entries.map(([name, value]) => `${name}: ${valueText(value)}`).join(', ');
  return endCut(line, maxLine);
}
