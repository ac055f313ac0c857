// A report: one HTML file of one or several results files, which fetches nothing. Tables hold all that charts show.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { formatNumber } from './numbers.ts';
import { configurationSection, type ReportFile, standingsSection } from './report-rivals.ts';
import { escapeHtml, table } from './report-table.ts';
import { describeCommit, type Figure, type Scenario } from './results.ts';
import { root } from './root.ts';

const percentiles = [0, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 100];

const verdictTexts = { met: 'met', missed: 'MISSED', no_verdict: 'no verdict', no_target: '–' };

function targetText({ target, unit }: Figure): string {
  if (target === null) return '–';
  const limit = 'at_most' in target ? `≤ ${target.at_most}` : `≥ ${target.at_least}`;
  return target.of === 'ratio' ? `${limit} × bound` : `${limit} ${unit}`;
}

interface FileFigure {
  readonly file: string;
  readonly figure: Figure;
  /** The same figure of each measured rival. */
  readonly rivals: readonly { readonly name: string; readonly rounds: readonly number[] }[];
}

/** A figure of all files that have it, in the order of the files. */
interface Series {
  readonly scenario: string;
  readonly id: string;
  readonly figures: readonly FileFigure[];
}

const rivalRounds = ({ rivals }: Scenario, id: string): FileFigure['rivals'] =>
  rivals.flatMap((rival) => {
    const figure = 'figures' in rival ? rival.figures.find((one) => one.id === id) : undefined;
    return figure && figure.rounds.length > 0 ? [{ name: rival.name, rounds: figure.rounds }] : [];
  });

function seriesOf(files: readonly ReportFile[]): readonly Series[] {
  const series = new Map<string, { scenario: string; id: string; figures: Series['figures'][number][] }>();
  for (const { name, results } of files) {
    for (const scenario of results.scenarios) {
      for (const figure of scenario.figures) {
        const entry = series.get(figure.id) ?? { scenario: scenario.name, id: figure.id, figures: [] };
        entry.figures.push({ file: name, figure, rivals: rivalRounds(scenario, figure.id) });
        series.set(figure.id, entry);
      }
    }
  }
  return [...series.values()];
}

const percentileValues = (figure: Figure): readonly number[] => {
  if (figure.histogram === null) return [];
  const histogram = decodeFromCompressedBase64(figure.histogram.hdr);
  return percentiles.map((percentile) => histogram.getValueAtPercentile(percentile) / 1000);
};

function figureSection({ id, figures }: Series): string {
  const what = figures.at(-1)?.figure.what ?? '';
  const summary = figures.map(({ file, figure }) => [
    file,
    figure.median === null ? 'not measured' : `${formatNumber(figure.median)} ${figure.unit}`,
    figure.spread === null ? '–' : `${Math.round(figure.spread * 100)} %`,
    figure.bound === null ? '–' : `${formatNumber(figure.bound.median)} (${figure.bound.what})`,
    figure.ratio === null ? '–' : `${formatNumber(figure.ratio)} ×`,
    targetText(figure),
    verdictTexts[figure.verdict],
  ]);
  const rounds = figures.flatMap(({ file, figure, rivals }) => [
    [file, 'figure', ...figure.rounds.map(formatNumber)],
    ...(figure.bound === null ? [] : [[file, 'bound', ...figure.bound.rounds.map(formatNumber)]]),
    ...rivals.map((rival) => [file, rival.name, ...rival.rounds.map(formatNumber)]),
  ]);
  const width = Math.max(...rounds.map((cells) => cells.length)) - 2;
  const curves = figures.filter(({ figure }) => figure.histogram !== null);
  const curveTable =
    curves.length === 0
      ? ''
      : `<details><summary>Percentiles, ms</summary>${table(
          ['File', ...percentiles.map((percentile) => `p${percentile}`)],
          curves.map(({ file, figure }) => [file, ...percentileValues(figure).map(formatNumber)]),
        )}</details><div class="chart" data-curve="${escapeHtml(id)}"></div>`;
  return `<section><h3>${escapeHtml(id)}</h3><p>${escapeHtml(what)}</p>${table(
    ['File', 'Median', 'Spread', 'Bound', 'Ratio', 'Target', 'Verdict'],
    summary,
  )}<div class="chart" data-rounds="${escapeHtml(id)}"></div><details><summary>Rounds</summary>${table(
    ['File', 'Of', ...Array.from({ length: width }, (_, n) => `Round ${n + 1}`)],
    rounds,
  )}</details>${curveTable}</section>`;
}

const scenarioLine = ({ name, skipped, limited_by, load, parameters }: Scenario): readonly string[] => [
  name,
  skipped === null ? 'ran' : `skipped: ${skipped}`,
  limited_by,
  formatNumber(load.hub_cores),
  formatNumber(load.client_cores),
  formatNumber(load.other_cores),
  Object.entries(parameters)
    .map(([key, value]) => `${key} ${value}`)
    .join(', '),
];

function fileSection({ name, results }: ReportFile): string {
  const { started_at, seconds, command, commit, versions, machine, scenarios } = results;
  const versionTexts = Object.entries(versions).map(([part, version]) => `${part} ${version}`);
  const facts = [
    ['Started', `${started_at}, ${Math.round(seconds)} s`],
    ['Command', command.join(' ')],
    ['Commit', describeCommit(commit)],
    ['Versions', versionTexts.join(', ')],
    ['Machine', `${machine.cpus} × ${machine.cpu_model}, kernel ${machine.kernel}`],
    ['Cores in use before', formatNumber(machine.busy_before)],
  ];
  return `<section><h3>${escapeHtml(name)}</h3>${table(['Fact', 'Value'], facts)}${table(
    ['Scenario', 'State', 'Limited by', 'Hub cores', 'Client cores', 'Other cores', 'Parameters'],
    scenarios.map(scenarioLine),
  )}</section>`;
}

/** The data of the charts. */
const chartData = (series: readonly Series[]) =>
  series.map(({ id, figures }) => ({
    id,
    unit: figures[0]?.figure.unit ?? '',
    files: figures.map(({ file, figure, rivals }) => ({
      file,
      rounds: figure.rounds,
      beside: [...(figure.bound === null ? [] : [{ name: 'bound', rounds: figure.bound.rounds }]), ...rivals],
      curve: percentileValues(figure),
    })),
    percentiles,
  }));

const load = createRequire(join(root, 'package.json'));
const readPart = (file: string): string => readFileSync(file, 'utf8');

/** @returns the text of an HTML file */
export function reportOf(files: readonly ReportFile[]): string {
  const ordered = [...files].sort((a, b) => a.results.started_at.localeCompare(b.results.started_at));
  const series = seriesOf(ordered);
  const chartScript = readPart(join(root, 'bench/suite/report-charts.js'));
  const uplot = load.resolve('uplot/dist/uPlot.iife.min.js');
  const styles =
    readPart(load.resolve('uplot/dist/uPlot.min.css')) + readPart(join(root, 'bench/suite/report.css'));
  // A script ends at "</", also within a text.
  const data = JSON.stringify(chartData(series)).replaceAll('<', '\\u003c');
  const names = [...new Set(series.map(({ scenario }) => scenario))];
  const sections = names.map(
    (name) =>
      `<h2>${escapeHtml(name)}</h2>${series
        .filter(({ scenario }) => scenario === name)
        .map(figureSection)
        .join('')}`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Benchmark report</title>
<style>${styles}</style>
</head>
<body>
<h1>Benchmark report</h1>
${standingsSection(ordered)}
${sections.join('\n')}
<h2>Runs</h2>
${ordered.map(fileSection).join('\n')}
${configurationSection(ordered)}
<script>${readPart(uplot)}</script>
<script>globalThis.reportData = ${data};</script>
<script>${chartScript}</script>
</body>
</html>
`;
}
