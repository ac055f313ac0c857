// The tables of docs/performance.md between two marks, made from results files.
import { CannotRun } from './failure.ts';
import { formatNumber } from './numbers.ts';
import { describeCommit, type Figure, type Results, type Scenario } from './results.ts';
import { describeLead, describeRival, isBehind, standingsOf } from './standings.ts';

export const tablesPage = 'docs/performance.md';
const beginMark = '<!-- Tables by npm run bench -- docs: begin -->';
const endMark = '<!-- Tables by npm run bench -- docs: end -->';

export interface ResultsFile {
  readonly name: string;
  readonly results: Results;
}

const verdicts = { met: 'met', missed: 'missed', no_verdict: 'no verdict', no_target: '' } as const;

const goalOf = ({ target, unit }: Figure): string => {
  if (target === null) return '';
  const limit = 'at_most' in target ? `≤ ${target.at_most}` : `≥ ${target.at_least}`;
  return target.of === 'ratio' ? `ratio ${limit}` : `${limit} ${unit}`;
};

/** A cell holds text alone. */
const cell = (text: string): string =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');

function rowOf(figure: Figure): string {
  const { id, what, unit, median, bound, ratio, verdict } = figure;
  const beside =
    bound === null
      ? ''
      : `${bound.what}: ${formatNumber(bound.median)} ${unit}, ratio ${formatNumber(ratio)}`;
  const cells = [
    `\`${id}\``,
    what,
    median === null ? formatNumber(median) : `${formatNumber(median)} ${unit}`,
    beside,
    goalOf(figure),
    verdicts[verdict],
  ];
  return `| ${cells.map(cell).join(' | ')} |`;
}

function tableOf(scenario: Scenario): string {
  const { name, parameters, skipped, load, limited_by, figures, rivals } = scenario;
  if (skipped !== null) return `\`${name}\`: skipped, ${skipped}\n`;
  const settings = Object.entries(parameters).map(([key, value]) => `- ${key}: ${value}`);
  return [
    `\`${name}\``,
    '',
    ...settings,
    `- rounds: ${Math.max(...figures.map(({ rounds }) => rounds.length))}`,
    `- cores: hub ${formatNumber(load.hub_cores)}, clients ${formatNumber(load.client_cores)}, ` +
      `others ${formatNumber(load.other_cores)}; limited by: ${limited_by}`,
    ...standingsOf([scenario])
      .filter(isBehind)
      .map((standing) => `- ${describeLead(standing)}`),
    ...rivals.map((rival) => `- ${describeRival(rival)}`),
    '',
    '| Figure | What | Median | Bound | Goal | |',
    '|---|---|---|---|---|---|',
    ...figures.map(rowOf),
    '',
  ].join('\n');
}

/** Markdown of all files, oldest run first. */
export function tablesOf(files: readonly ResultsFile[]): string {
  const sorted = [...files].sort((a, b) => a.results.started_at.localeCompare(b.results.started_at));
  return sorted
    .map(({ name, results: { commit, started_at, machine, versions, scenarios } }) =>
      [
        `#### ${name}`,
        '',
        `Commit ${describeCommit(commit, 8)}, measured on ${started_at.slice(0, 10)}.`,
        `Machine: ${machine.cpus} × ${machine.cpu_model}, ${Math.round(machine.memory_bytes / 2 ** 30)} GiB.`,
        `Node ${versions.node ?? 'unknown'}.`,
        '',
        ...scenarios.map(tableOf),
      ].join('\n'),
    )
    .join('\n');
}

/**
 * The page with new tables between its marks.
 * @throws CannotRun for a page without the marks
 */
export function replaceTables(page: string, tables: string): string {
  const [begin, end] = [page.indexOf(beginMark), page.indexOf(endMark)];
  if (begin < 0 || end < begin) {
    throw new CannotRun(`${tablesPage} has no marks for tables. Add ${beginMark} and ${endMark}.`);
  }
  return `${page.slice(0, begin + beginMark.length)}\n\n${tables}\n${page.slice(end)}`;
}
