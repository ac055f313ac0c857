// The rivals in a report: where the hub is behind comes first, their configuration last.
import { configurationOf } from '../rivals/index.ts';
import { formatNumber } from './numbers.ts';
import { escapeHtml, table } from './report-table.ts';
import type { Results, RivalResult } from './results.ts';
import { describeRival, describeState, hasRivals, standingsOf } from './standings.ts';

export interface ReportFile {
  readonly name: string;
  readonly results: Results;
}

const rivalsOf = ({ results }: ReportFile): readonly RivalResult[] =>
  results.scenarios.flatMap(({ rivals }) => rivals);

/** The first table of a report; empty where no file names a rival. */
export function standingsSection(files: readonly ReportFile[]): string {
  const measured = files.filter(({ results }) => hasRivals(results.scenarios));
  if (measured.length === 0) return '';
  const rows = measured.flatMap(({ name, results }) =>
    standingsOf(results.scenarios).map((standing) => [
      name,
      standing.id,
      standing.rival,
      describeState(standing),
      `${formatNumber(standing.reeve)} ${standing.unit}`,
      `${formatNumber(standing.other)} ${standing.unit}`,
    ]),
  );
  const others = measured.flatMap((file) => rivalsOf(file).map((rival) => [file.name, describeRival(rival)]));
  const standings = rows.length === 0 ? '<p>No rival was measured.</p>' : '';
  const head = ['File', 'Figure', 'Rival', 'Reeve is', 'Reeve', 'Rival’s median'];
  return `<h2>Beside rivals</h2>${standings}${rows.length === 0 ? '' : table(head, rows)}${table(
    ['File', 'Rival'],
    others,
  )}`;
}

/** The configuration of each measured rival, as the suite wrote it. */
export function configurationSection(files: readonly ReportFile[]): string {
  const names = files.flatMap((file) =>
    rivalsOf(file)
      .filter((rival) => 'figures' in rival)
      .map(({ name }) => name),
  );
  const texts = [...new Set(names)].flatMap(configurationOf);
  if (texts.length === 0) return '';
  const sections = texts.map(
    ({ file, text }) =>
      `<details><summary>bench/rivals/${escapeHtml(file)}</summary><pre>${escapeHtml(text)}</pre></details>`,
  );
  return `<h2>Configuration of rivals</h2>${sections.join('')}`;
}
