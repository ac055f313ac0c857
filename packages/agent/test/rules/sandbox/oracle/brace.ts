// Brace expansion, as bash does it before anything else: `{a,b}`, `{1..5}`, `{a..e..2}`, nested and several in a word.
import type { ShellWord } from './shell.ts';

/** Words that one word may expand to. */
export const maxExpansions = 100;

/**
 * All words a word stands for, itself when it holds no brace that the shell expands; null when there are more than 100.
 */
export function expandBraces(word: ShellWord): readonly ShellWord[] | null {
  if (!word.live.includes('{')) return [word];
  const expanded = new Expander(word).expand(0, word.text.length);
  return expanded;
}

const slice = (word: ShellWord, from: number, to: number): ShellWord => ({
  text: word.text.slice(from, to),
  live: word.live.slice(from, to),
});
const join = (a: ShellWord, b: ShellWord): ShellWord => ({ text: a.text + b.text, live: a.live + b.live });

class Expander {
  readonly #word: ShellWord;
  /** For every live `{` that is closed, where; found in one pass. */
  readonly #closing = new Map<number, number>();
  /** For every such `{`, the commas directly within it. */
  readonly #commas = new Map<number, number[]>();

  constructor(word: ShellWord) {
    this.#word = word;
    const open: number[] = [];
    for (let i = 0; i < word.live.length; i++) {
      const char = word.live[i];
      const innermost = open.at(-1);
      if (char === '{') {
        open.push(i);
        this.#commas.set(i, []);
      } else if (char === ',' && innermost !== undefined) this.#commas.get(innermost)?.push(i);
      else if (char === '}' && innermost !== undefined) {
        open.pop();
        this.#closing.set(innermost, i);
      }
    }
  }

  /** The expansions of a part of the word. */
  expand(from: number, to: number): readonly ShellWord[] | null {
    let results: readonly ShellWord[] = [{ text: '', live: '' }];
    let literal = from;
    for (let i = from; i < to; ) {
      const end = this.#closing.get(i);
      const choices = end === undefined ? undefined : this.#choices(i, end);
      if (choices === null) return null;
      if (end === undefined || choices === undefined) {
        i++;
        continue;
      }
      const before = slice(this.#word, literal, i);
      if (results.length * choices.length > maxExpansions) return null;
      results = results.flatMap((left) => choices.map((choice) => join(join(left, before), choice)));
      i = end + 1;
      literal = i;
    }
    const rest = slice(this.#word, literal, to);
    return results.map((left) => join(left, rest));
  }

  /**
   * The text between two braces: alternatives or a sequence; undefined when the shell leaves the braces alone; null:
   * too many.
   */
  #choices(open: number, close: number): readonly ShellWord[] | null | undefined {
    const commas = this.#commas.get(open) ?? [];
    if (commas.length === 0) return sequence(slice(this.#word, open + 1, close));
    if (commas.length >= maxExpansions) return null;
    const all: ShellWord[] = [];
    let from = open + 1;
    for (const to of [...commas, close]) {
      const part = this.expand(from, to);
      if (part === null || all.length + part.length > maxExpansions) return null;
      all.push(...part);
      from = to + 1;
    }
    return all;
  }
}

function sequence({ text, live }: ShellWord): readonly ShellWord[] | null | undefined {
  if (text !== live || text.length > 64) return undefined;
  const numbers = /^([+-]?\d+)\.\.([+-]?\d+)(?:\.\.([+-]?\d+))?$/.exec(text);
  const letters = /^([^.])\.\.([^.])(?:\.\.([+-]?\d+))?$/.exec(text);
  const [, first = '', last = '', step] = numbers ?? letters ?? [];
  if (first === '') return undefined;
  const value = (one: string): number => (numbers ? Number(one) : one.charCodeAt(0));
  const from = value(first);
  const to = value(last);
  const by = Math.abs(Number(step ?? 1)) || 1;
  const count = Math.floor(Math.abs(to - from) / by) + 1;
  if (!(count <= maxExpansions)) return null;
  const padded = numbers && /^[+-]?0\d|\.\.[+-]?0\d/.test(text) ? Math.max(first.length, last.length) : 0;
  return Array.from({ length: count }, (_, i) => {
    const at = from < to ? from + i * by : from - i * by;
    const shown = numbers ? padNumber(at, padded) : String.fromCharCode(at);
    // The items of a sequence are plain text, whatever the character.
    return { text: shown, live: shown.replace(/[*?[{}~$`\\]/g, '\0') };
  });
}

const padNumber = (value: number, width: number): string =>
  value < 0 ? `-${String(-value).padStart(width - 1, '0')}` : String(value).padStart(width, '0');
