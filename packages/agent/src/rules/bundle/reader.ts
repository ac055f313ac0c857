// Checked access to the parts of one YAML document: every problem is collected with its contract, path and position.
import type { Json, JsonObject, YamlDocument, YamlPath } from '../yaml.ts';
import { nearestWord } from './distance.ts';

/** One thing wrong with a bundle. */
export interface BundleProblem {
  /** Id of the contract (or rule) it is in; null outside of one, or when the id itself is unusable. */
  readonly contract: string | null;
  /** For example `contracts[2].then.message`; empty for the document itself. */
  readonly path: string;
  /** The value expected at that path. */
  readonly expected: string;
  readonly line: number;
  readonly column: number;
  /** All of it in one sentence. */
  readonly message: string;
}

/** Problems kept per document; reading goes on, but more are not reported. */
export const maxProblems = 50;

export class Reader {
  readonly problems: BundleProblem[] = [];
  readonly #document: YamlDocument;
  /** The contract that is being read. */
  contract: string | null = null;
  /** The document's word for a contract, for messages. */
  item: 'contract' | 'rule' = 'contract';

  constructor(document: YamlDocument) {
    this.#document = document;
  }

  /** Notes a problem; always gives undefined, so that a reader can `return` it. */
  problem(path: YamlPath, expected: string): undefined {
    if (this.problems.length >= maxProblems) return;
    const { line, column } = this.#document.positionOf(path);
    const where = pathText(path);
    const subject = this.contract === null ? '' : `${this.item} '${this.contract}': `;
    const message = `${subject}${where === '' ? '' : `${where}: `}${expected} (line ${line}, column ${column})`;
    this.problems.push({ contract: this.contract, path: where, expected, line, column, message });
  }

  mapping(value: Json | undefined, path: YamlPath, keys?: readonly string[]): JsonObject | undefined {
    if (!isMapping(value)) return this.problem(path, 'expected a mapping');
    if (keys) {
      for (const key of Object.keys(value)) {
        if (!keys.includes(key))
          this.problem(
            [...path, key],
            `unexpected key; expected one of ${keys.join(', ')}${meantBy(key, keys)}`,
          );
      }
    }
    return value;
  }

  text(value: Json | undefined, path: YamlPath, max = 1000): string | undefined {
    if (typeof value === 'string' && value.length > 0 && (value.length <= max || [...value].length <= max))
      return value;
    return this.problem(path, `expected a string of 1 to ${max} characters`);
  }

  word<T extends string>(value: Json | undefined, path: YamlPath, words: readonly T[]): T | undefined {
    const word = words.find((candidate) => candidate === value);
    const meant = typeof value === 'string' ? meantBy(value, words) : '';
    return word ?? this.problem(path, `expected ${words.join(' or ')}${meant}`);
  }

  flag(value: Json | undefined, path: YamlPath, otherwise: boolean): boolean {
    if (value === undefined) return otherwise;
    if (typeof value !== 'boolean') this.problem(path, 'expected true or false');
    return value === true;
  }

  /** A whole number of at least one. */
  count(value: Json | undefined, path: YamlPath): number | undefined {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
    return this.problem(path, 'expected a whole number of at least 1');
  }

  /** A list of texts; `min` is the least number of items. */
  texts(value: Json | undefined, path: YamlPath, min: number, max = 1000): string[] | undefined {
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      return this.problem(path, `expected a list of ${min} to ${max} strings`);
    }
    const texts = value.map((item, i) => this.text(item, [...path, i]));
    return texts.every((item) => item !== undefined) ? texts : undefined;
  }
}

/** "Did you mean", as the end of a sentence; empty when no word comes near. */
export function meantBy(word: string, words: readonly string[]): string {
  if (word.length > 100) return '';
  const nearest = nearestWord(word, words, (candidate) => (candidate.length >= 7 ? 2 : 1));
  return nearest === undefined ? '' : `. Did you mean ${nearest}?`;
}

export const isMapping = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** For example `contracts[2].then.message`. */
export const pathText = (path: YamlPath): string =>
  path.map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`)).join('');
