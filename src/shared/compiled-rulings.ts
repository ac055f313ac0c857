// Rulings whose patterns are compiled, kept by a digest of what they were made of. Compiling and judging take turns of
// the event loop: both are as long as the patterns are.

import type { Ruling } from '../usage/rules.ts';
import { BoundedMap } from './concurrency/bounded-map.ts';
import { bytesPerTurn, turns } from './concurrency/event-loop-budget.ts';

/** Rulings of each kind that are kept. */
const maxRulings = 64;
/** Characters of patterns that are compiled in one turn, and that tools are held against in one. */
const compiledPerTurn = 8 * 1024;
const judgedPerTurn = 256 * 1024;

/** About the steps that one tool takes. */
export const weightOf = ({ matchers }: Ruling): number =>
  matchers.reduce((sum, { weight }) => sum + weight, 1);

export class CompiledRulings {
  readonly #rulings = new BoundedMap<Ruling>(maxRulings);

  /** @param key the same for rulings that are made of the same */
  async of(key: string, make: () => Ruling): Promise<Ruling> {
    const kept = this.#rulings.get(key, 0);
    if (kept) return kept;
    const ruling = make();
    let characters = 0;
    for (const { matches, weight } of ruling.matchers) {
      characters += weight;
      if (characters > compiledPerTurn) {
        await turns.next(bytesPerTurn);
        characters = weight;
      }
      matches('');
    }
    this.#rulings.set(key, ruling, Number.POSITIVE_INFINITY);
    return ruling;
  }
}

/** Gives way to others after so much judging. */
export class JudgeSteps {
  #left = judgedPerTurn;

  async take(steps: number): Promise<void> {
    this.#left -= steps;
    if (this.#left > 0) return;
    this.#left = judgedPerTurn;
    await turns.next(bytesPerTurn);
  }
}
