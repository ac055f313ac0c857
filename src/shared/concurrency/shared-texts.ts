// Texts that many hold: equal ones become one and the same, so that ten thousand streams keep one copy.

import { keepNewest } from './keep-newest.ts';

export class SharedTexts {
  readonly #texts = new Map<string, string>();
  readonly #max: number;

  /** @param max texts remembered; the oldest goes first */
  constructor(max: number) {
    this.#max = max;
  }

  /** The text that was given first among equal ones. */
  shared(text: string): string {
    const shared = this.#texts.get(text);
    if (shared !== undefined) return shared;
    this.#texts.set(text, text);
    keepNewest(this.#texts, this.#max);
    return text;
  }
}
