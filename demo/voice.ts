// Output of the demo: plain words for people, or one JSON object per line for programs.
import { stdout } from 'node:process';

export class Voice {
  readonly #json: boolean;
  readonly #write: (text: string) => unknown;

  constructor(json: boolean, write: (text: string) => unknown = (text) => stdout.write(text)) {
    this.#json = json;
    this.#write = write;
  }

  /** @param facts what programs read; @param words what people read instead */
  tell(step: string, facts: { readonly [name: string]: unknown }, words: string): void {
    this.#write(this.#json ? `${JSON.stringify({ step, ...facts })}\n` : `${words}\n`);
  }
}
