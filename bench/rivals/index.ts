// The rivals of the suite, and the choice of `--rivals`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageFault, unknownName } from '../suite/arguments.ts';
import { opa } from './opa.ts';
import { rivalFolder } from './process.ts';
import type { DecisionRival, Rival, StreamRival } from './rival.ts';
import { streamRivals } from './streams.ts';

export const rivals: readonly Rival[] = [...streamRivals, opa];
export const rivalNames: readonly string[] = rivals.map(({ name }) => name);

/** The configuration files of a rival in `bench/rivals`; none for a name of another suite. */
export const configurationOf = (name: string) =>
  (rivals.find((rival) => rival.name === name)?.files ?? []).map((file) => ({
    file,
    text: readFileSync(join(rivalFolder, file), 'utf8'),
  }));

/** @throws UsageFault for an unknown name, with the near one */
export function rivalsOf(names: readonly string[]): readonly Rival[] {
  return names.map((name) => {
    const rival = rivals.find((one) => one.name === name);
    if (!rival) throw new UsageFault(unknownName('rival', name, rivalNames));
    return rival;
  });
}

export const streamRivalsOf = (names: readonly string[]): readonly StreamRival[] =>
  rivalsOf(names).filter((rival) => rival.kind === 'streams');

export const decisionRivalsOf = (names: readonly string[]): readonly DecisionRival[] =>
  rivalsOf(names).filter((rival) => rival.kind === 'decisions');
