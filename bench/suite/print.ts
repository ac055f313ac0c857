// Results as text for people.
import { formatNumber } from './numbers.ts';
import type { Figure, Scenario } from './results.ts';
import { describeLead, describeRival, isBehind, standingsOf } from './standings.ts';

const verdictTexts = { met: 'met', missed: 'MISSED', no_verdict: 'no verdict', no_target: '' };

function formatFigure({ id, what, unit, median, bound, ratio, target, verdict }: Figure): string {
  const times = ratio === null ? 'beside' : `${formatNumber(ratio)} ×`;
  const beside = bound === null ? '' : `; ${times} ${formatNumber(bound.median)} (${bound.what})`;
  const value = median === null ? 'not measured' : `${formatNumber(median)} ${unit}`;
  const limit =
    target === null
      ? ''
      : `; target ${'at_most' in target ? `≤ ${target.at_most}` : `≥ ${target.at_least}`}` +
        `${target.of === 'ratio' ? ' ×' : ` ${unit}`}: ${verdictTexts[verdict]}`;
  return `  ${id}: ${value}, ${what}${beside}${limit}`;
}

export function formatScenario(scenario: Scenario): string {
  const { name, skipped, limited_by, load, figures, rivals } = scenario;
  if (skipped !== null) return `${name}: skipped, ${skipped}\n`;
  const cores = `cores: hub ${formatNumber(load.hub_cores)}, clients ${formatNumber(load.client_cores)}`;
  const limit = `others ${formatNumber(load.other_cores)}; limited by: ${limited_by}`;
  const besides = [
    ...standingsOf([scenario]).filter(isBehind).map(describeLead),
    ...rivals.map(describeRival),
  ];
  const lines = besides.map((line) => `  ${line}`);
  return [name, ...figures.map(formatFigure), ...lines, `  ${cores}, ${limit}`, ''].join('\n');
}

export const formatDuration = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
