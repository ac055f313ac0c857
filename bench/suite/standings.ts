// The hub beside its rivals: figures that both have, and where a rival is ahead.
import { formatNumber } from './numbers.ts';
import type { Figure, RivalResult, Scenario } from './results.ts';

export interface Standing {
  readonly id: string;
  readonly unit: string;
  /** Name and version. */
  readonly rival: string;
  readonly reeve: number;
  readonly other: number;
  /** Factor by which the rival is better; infinite beside the rival's 0. At most 1: the rival is not ahead. */
  readonly lead: number;
}

const leadOf = ({ better }: Figure, reeve: number, other: number): number =>
  reeve === other ? 1 : better === 'lower' ? reeve / other : other / reeve;

function standingsOfRival(figures: readonly Figure[], rival: RivalResult): readonly Standing[] {
  if (!('figures' in rival)) return [];
  return rival.figures.flatMap((figure) => {
    const own = figures.find(({ id }) => id === figure.id);
    if (!own || own.median === null || figure.median === null) return [];
    const { id, unit, median: other } = figure;
    const lead = leadOf(figure, own.median, other);
    return [{ id, unit, rival: `${rival.name} ${rival.version}`, reeve: own.median, other, lead }];
  });
}

/** All figures that the hub and a measured rival have, the largest lead of a rival first. */
export const standingsOf = (scenarios: readonly Scenario[]): readonly Standing[] =>
  scenarios
    .flatMap(({ figures, rivals }) => rivals.flatMap((rival) => standingsOfRival(figures, rival)))
    .sort((a, b) => b.lead - a.lead);

export const isBehind = ({ lead }: Standing): boolean => lead > 1;

/** Scenarios that name a rival, measured or absent. */
export const hasRivals = (scenarios: readonly Scenario[]): boolean =>
  scenarios.some(({ rivals }) => rivals.length > 0);

/** Frames that a rival lost in all rounds. */
export const lostFrames = (figures: readonly Figure[]): number =>
  figures
    .filter(({ id }) => id === lostFramesId)
    .flatMap(({ rounds }) => rounds)
    .reduce((sum, frames) => sum + frames, 0);

export const lostFramesId = 'fanout.lost_frames';

/** One line about a rival: its figures, its lost frames, or why it is absent. */
export function describeRival(rival: RivalResult): string {
  if ('absent' in rival) return `${rival.name}: absent, ${rival.absent}`;
  const lost = lostFrames(rival.figures);
  const values = rival.figures
    .filter(({ id, median }) => id !== lostFramesId && median !== null)
    .map(({ id, median, unit }) => `${id} ${formatNumber(median)} ${unit}`);
  const loss = lost === 0 ? [] : [`lost ${lost} frames, so its time does not count`];
  return `${rival.name} ${rival.version}: ${[...values, ...loss].join('; ')}`;
}

export const describeState = (standing: Standing): string =>
  isBehind(standing) ? `behind${leadText(standing)}` : 'not behind';

/** "1.5 ×", and nothing beside a rival's 0. */
const leadText = ({ lead }: Standing): string => (Number.isFinite(lead) ? ` (${formatNumber(lead)} ×)` : '');

export function describeLead(standing: Standing): string {
  const { id, unit, rival, reeve, other } = standing;
  const values = `${formatNumber(other)} ${unit}, Reeve ${formatNumber(reeve)} ${unit}`;
  return `${rival} is ahead in ${id}: ${values}${leadText(standing)}`;
}
