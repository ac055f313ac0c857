// Events as lines of a download: NDJSON, or CSV whose cells no spreadsheet takes for formulas.
import { bytesPerTurn, turns } from '../../shared/concurrency/event-loop-budget.ts';
import { csvCell } from '../../shared/csv-cell.ts';
import type { StoredEvent } from '../record.ts';
import { render } from './query.ts';

/** Characters of a piece, about. */
const pieceLength = 64 * 1024;

/** Fields of the payload with a column of their own. */
const payloadColumns = [
  'decision_name',
  'decision_source',
  'reason',
  'bundle_name',
  'policy_version',
  'run_id',
] as const;

const columns = [
  'timestamp',
  'env',
  'agent_id',
  'tool_name',
  'verdict',
  'mode',
  ...payloadColumns,
  'call_id',
  'sent_by',
  'id',
  'created_at',
  'outcomes',
  'payload',
] as const;

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return csvCell(typeof value === 'string' ? value : JSON.stringify(value));
}

const csvRow = (cells: readonly unknown[]): string => `${cells.map(cellOf).join(',')}\r\n`;

export const csvHeader = csvRow(columns);

export function csvLine(event: StoredEvent): string {
  const fields: { readonly [column: string]: unknown } = { ...event.payload, ...render(event) };
  return csvRow(
    columns.map((column) => (column === 'outcomes' && event.outcomes.length === 0 ? null : fields[column])),
  );
}

export const ndjsonLine = (event: StoredEvent): string => `${JSON.stringify(render(event))}\n`;

/** The lines of all events, in pieces that the event loop has room for. @param first what stands above them */
export async function* piecesOf(
  pages: AsyncIterable<readonly StoredEvent[]>,
  lineOf: (event: StoredEvent) => string,
  first: string,
): AsyncGenerator<string, void, undefined> {
  let piece = first;
  for await (const page of pages) {
    for (const event of page) {
      piece += lineOf(event);
      if (piece.length < pieceLength) continue;
      yield piece;
      piece = '';
      await turns.next(bytesPerTurn);
    }
  }
  if (piece !== '') yield piece;
}
