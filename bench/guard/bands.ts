// The bands of the guard: for each figure the value that is in order, how far it may move, and why.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { root } from '../suite/root.ts';
import { medianOf, spreadOf } from '../suite/statistics.ts';
import { type GuardFigureId, type GuardValues, guardFigures } from './measure.ts';

const bandSchema = z.strictObject({
  value: z.number().positive(),
  /** Share by which the figure may be above the value. */
  band: z.number().positive().max(1),
  reason: z.string().min(1),
  /** (Largest − smallest) ÷ median of the runs. */
  noise: z.number().nonnegative(),
  runs: z.int().positive(),
  measured_on: z.iso.date(),
});

export type Band = z.infer<typeof bandSchema>;
export type Bands = { readonly [id: string]: Band };

export const bandsFile = join(root, 'bench/bands.json');

const defaultBands = { count: 0.05, time: 0.25 };
const defaultReasons = { count: 'Counts repeat.', time: 'Processor time moves with the machine.' };

/** @throws Error for a file that breaks its form */
export const readBands = (): Bands =>
  z.record(z.string(), bandSchema).parse(JSON.parse(readFileSync(bandsFile, 'utf8')));

/** The bands of a group of runs. A figure keeps the width and the reason that it had. */
export function bandsOf(runs: readonly GuardValues[], earlier: Bands, date: string): Bands {
  const entries = guardFigures.map(({ id, kind }): [GuardFigureId, Band] => {
    const values = runs.map((run) => run[id] ?? Number.NaN);
    const { band = defaultBands[kind], reason = defaultReasons[kind] } = earlier[id] ?? {};
    const value = Number(medianOf(values).toPrecision(4));
    const noise = Number((spreadOf(values) ?? 0).toPrecision(2));
    return [id, { value, band, reason, noise, runs: runs.length, measured_on: date }];
  });
  return Object.fromEntries(entries);
}

export const writeBands = (bands: Bands, file = bandsFile): void =>
  writeFileSync(file, `${JSON.stringify(bands, null, 2)}\n`);
