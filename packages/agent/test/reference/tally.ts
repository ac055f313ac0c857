// Counts what the reference met, so that a generated test can say what it has reached.
const counts = new Map<string, number>();

export const met = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
export const timesMet = (what: string): number => counts.get(what) ?? 0;
export const forget = (): void => counts.clear();

/** One line per first word: `operators  equals=yes 12, equals=no 40, …`. */
export function tallyText(): string {
  const lines = new Map<string, string[]>();
  for (const [what, n] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [group = '', rest = ''] = what.split(/ (.*)/);
    lines.set(group, [...(lines.get(group) ?? []), `${rest} ${n}`]);
  }
  return [...lines].map(([group, parts]) => `  ${group}: ${parts.join(', ')}`).join('\n');
}
