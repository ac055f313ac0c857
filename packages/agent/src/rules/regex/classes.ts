// The characters of a text as the classes that no set and no place of a pattern tells apart, found once for each
// character. The charged steps depend on the text alone, never on texts before.
import { isWord, membershipsOf } from './charset.ts';
import type { Program } from './program.ts';

/** Steps that may still be done, of about 10 ns each; shared by everything one evaluation does. */
export interface Budget {
  left: number;
}

/** Thrown when a budget is spent; callers decide what then is safe. */
export class BudgetSpent extends Error {
  constructor() {
    super('the text needs more steps than the limit allows');
    this.name = 'BudgetSpent';
  }
}

export function spend(budget: Budget, amount: number): void {
  budget.left -= amount;
  if (budget.left < 0) throw new BudgetSpent();
}

/** Kinds of a character, or of an edge of the text, that the places of a pattern tell apart. */
export const side = { edge: 0, lastNewline: 1, newline: 2, word: 3, other: 4 } as const;

export const sideOf = (cp: number, ascii: boolean): number =>
  cp === 10 ? side.newline : isWord(cp, ascii) ? side.word : side.other;

/** Characters that no set and no place of the program tells apart. */
export interface CharClass {
  readonly index: number;
  readonly side: number;
  readonly inSets: readonly boolean[];
}

export class CharClasses {
  readonly list: CharClass[] = [];
  /** The end of the text. */
  readonly edge: number;
  /** In code units, of the character that was read last. */
  width = 1;
  readonly #program: Program;
  readonly #byKey = new Map<string, CharClass>();
  readonly #ascii = new Int16Array(128).fill(-1);
  /** Classes of characters beyond ASCII in this text. */
  #wide = new Map<number, number>();

  constructor(program: Program) {
    this.#program = program;
    this.edge = this.#add('edge', side.edge, []).index;
  }

  /** Before each text: its characters are charged again. */
  begin(): void {
    if (this.#wide.size > 0) this.#wide = new Map();
  }

  /** The class of the character at `i`; its width in units is left in `width`. */
  read(text: string, i: number, budget: Budget): number {
    const unit = text.charCodeAt(i);
    this.width = 1;
    if (unit === 10 && i + 1 === text.length) return this.#classOf(10, side.lastNewline);
    if (unit < 128) {
      let index = this.#ascii[unit] as number;
      if (index < 0) {
        index = this.#classOf(unit);
        this.#ascii[unit] = index;
      }
      return index;
    }
    let cp = unit;
    if (unit >= 0xd800 && unit < 0xdc00 && i + 1 < text.length) {
      cp = text.codePointAt(i) as number;
      if (cp > 0xffff) this.width = 2;
    }
    let index = this.#wide.get(cp);
    if (index === undefined) {
      // A character's first read asks each set, at about 300 ns a set.
      spend(budget, 100 + 30 * this.#program.sets.length);
      index = this.#classOf(cp);
      this.#wide.set(cp, index);
    }
    return index;
  }

  #classOf(cp: number, where = sideOf(cp, this.#program.ascii)): number {
    const inSets = membershipsOf(cp, this.#program.sets);
    let key = String(where);
    for (const isIn of inSets) key += isIn ? '+' : '-';
    return (this.#byKey.get(key) ?? this.#add(key, where, inSets)).index;
  }

  #add(key: string, where: number, inSets: readonly boolean[]): CharClass {
    const entry = { index: this.list.length, side: where, inSets };
    this.list.push(entry);
    this.#byKey.set(key, entry);
    return entry;
  }
}
