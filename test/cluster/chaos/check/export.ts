// Judges an export: each acknowledged event has one line, and whoever reads on from a line reads what everybody else
// reads behind it. Pure.
import type { ExportedLine } from '../export-reader.ts';
import type { Call } from '../history.ts';
import type { IngestInput } from '../load.ts';

const callIdsOf = (lines: readonly ExportedLine[]): readonly string[] => lines.map(({ callId }) => callId);

/** True if both name the same calls in the same order. */
const isSame = (a: readonly ExportedLine[], b: readonly ExportedLine[]): boolean =>
  a.length === b.length && a.every(({ callId }, i) => callId === b[i]?.callId);

/** Acknowledged events without a line. */
export function missingIn(
  calls: readonly Call<IngestInput, unknown>[],
  lines: readonly ExportedLine[],
): readonly string[] {
  const present = new Set(callIdsOf(lines));
  const acknowledged = calls.filter(({ outcome }) => outcome === 'ok').flatMap(({ input }) => input.ids);
  return [...new Set(acknowledged)].filter((id) => !present.has(id));
}

/**
 * @param followed lines of the reader that read while nodes were killed
 * @param whole lines that a later reader got from the beginning
 * @param continued for indexes of `whole`, the lines of a later reader that began behind that line
 */
export function checkExport(
  calls: readonly Call<IngestInput, unknown>[],
  followed: readonly ExportedLine[],
  whole: readonly ExportedLine[],
  continued: ReadonlyMap<number, readonly ExportedLine[]>,
): readonly string[] {
  const counts = new Map<string, number>();
  for (const id of callIdsOf(followed)) counts.set(id, (counts.get(id) ?? 0) + 1);
  return [
    ...missingIn(calls, followed).map((id) => `acknowledged and without a line: ${id}`),
    ...[...counts].filter(([, count]) => count > 1).map(([id, count]) => `${count} lines: ${id}`),
    ...(isSame(followed, whole) ? [] : ['a later reader got other lines, or another order']),
    ...[...continued]
      .filter(([index, lines]) => !isSame(lines, whole.slice(index + 1)))
      .map(([index]) => `a reader behind line ${index} got other lines`),
  ];
}
