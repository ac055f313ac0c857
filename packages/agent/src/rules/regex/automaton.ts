// "Is there a match?": a deterministic automaton that is built while it reads, one state per set of instructions.
// Work is at most (length of text) x (instructions), and one table look-up per character once the states exist.
import { isWord, membershipsOf } from './charset.ts';
import { op, type Program, places } from './program.ts';

// Read once: the inner loops compare with them for every instruction.
const { set: setOp, split: splitOp, place: placeOp, match: matchOp } = op;
const placeNames = [...places];

/** Work that may still be done, in units of about 10 ns; shared by everything one evaluation does. */
export interface Budget {
  left: number;
}

/** Thrown when a budget is spent; callers decide what then is safe. */
export class BudgetSpent extends Error {
  constructor() {
    super('evaluation budget spent');
    this.name = 'BudgetSpent';
  }
}

export function spend(budget: Budget, amount: number): void {
  budget.left -= amount;
  if (budget.left < 0) throw new BudgetSpent();
}

/** What a character, or an edge of the text, is to the places of a pattern. */
export const side = { edge: 0, lastNewline: 1, newline: 2, word: 3, other: 4 } as const;

export const sideOf = (cp: number, ascii: boolean): number =>
  cp === 10 ? side.newline : isWord(cp, ascii) ? side.word : side.other;

/** Whether the place (index into `places`) lies between two sides. */
export function holds(place: number, before: number, after: number): boolean {
  switch (placeNames[place]) {
    case 'start':
      return before === side.edge;
    case 'line-start':
      return before === side.edge || before === side.newline || before === side.lastNewline;
    case 'end':
      return after === side.edge;
    case 'end-or-last-newline':
      return after === side.edge || after === side.lastNewline;
    case 'line-end':
      return after === side.edge || after === side.newline || after === side.lastNewline;
    case 'word-edge':
      return (before === side.word) !== (after === side.word);
    default:
      return (before === side.word) === (after === side.word);
  }
}

/** Characters that no set and no place of the program tells apart. */
interface CharClass {
  readonly index: number;
  readonly side: number;
  readonly inSets: readonly boolean[];
}

interface State {
  /** Instructions reached, before places are checked: that needs the next character. */
  readonly pcs: readonly number[];
  readonly before: number;
  readonly next: (State | undefined)[];
}

const matched: State = { pcs: [], before: 0, next: [] };
const dead: State = { pcs: [], before: 0, next: [] };
const maxStates = 1000;
/** New states in one text after which building more costs more than it saves. */
const maxNewStates = 500;
const maxCachedCharacters = 16_384;

export class Automaton {
  readonly #program: Program;
  readonly #classes: CharClass[] = [];
  readonly #classByKey = new Map<string, CharClass>();
  readonly #ascii = new Int16Array(128).fill(-1);
  readonly #characters = new Map<number, number>();
  readonly #edge: number;
  readonly #seen: Uint32Array;
  #round = 0;
  #width = 1;
  #built = 0;
  #states = new Map<string, State>();
  #start: State;

  constructor(program: Program) {
    this.#program = program;
    this.#seen = new Uint32Array(program.ops.length);
    this.#edge = this.#addClass('edge', side.edge, []).index;
    this.#start = this.#state([0], side.edge);
  }

  /** True when the first `length` units of the text hold a match. */
  test(text: string, length: number, budget: Budget): boolean {
    const built = this.#built;
    let state = this.#start;
    for (let i = 0; i < length; ) {
      const index = this.#read(text, i, length, budget);
      i += this.#width;
      state = state.next[index] ?? this.#step(state, index, budget);
      if (state === matched) return true;
      if (state === dead) return false;
      if (this.#built - built > maxNewStates) return this.#simulate(state, text, i, length, budget);
    }
    return (state.next[this.#edge] ?? this.#step(state, this.#edge, budget)) === matched;
  }

  /** The class of the character at `i`; its width in units is left in `#width`. */
  #read(text: string, i: number, length: number, budget: Budget): number {
    const unit = text.charCodeAt(i);
    this.#width = 1;
    if (unit === 10 && i + 1 === length) return this.#lastNewline();
    if (unit < 128) {
      let index = this.#ascii[unit] as number;
      if (index < 0) {
        index = this.#classOf(unit, budget);
        this.#ascii[unit] = index;
      }
      return index;
    }
    let cp = unit;
    if (unit >= 0xd800 && unit < 0xdc00 && i + 1 < length) {
      cp = text.codePointAt(i) as number;
      if (cp > 0xffff) this.#width = 2;
    }
    return this.#wide(cp, budget);
  }

  /** Goes on from a state without keeping the ones that follow, for patterns that have too many. */
  #simulate(state: State, text: string, from: number, length: number, budget: Budget): boolean {
    const { ops, x: xs, y: ys, anchored } = this.#program;
    const seen = this.#seen;
    const size = ops.length;
    let current = new Uint16Array(size + 1);
    let next = new Uint16Array(size + 1);
    const stack = new Uint16Array(2 * size + 2);
    // Where an instruction stands in `next`: one entry each, whatever leads to it.
    const listed = new Uint32Array(size);
    let count = state.pcs.length;
    current.set(state.pcs);
    let before = state.before;
    for (let i = from, step = 1; i <= length; step++) {
      const index = i < length ? this.#read(text, i, length, budget) : this.#edge;
      i += i < length ? this.#width : 1;
      const char = this.#classes[index] as CharClass;
      const round = this.#nextRound();
      let reached = 0;
      let work = 8;
      for (let c = 0; c < count; c++) {
        let depth = 0;
        stack[depth++] = current[c] as number;
        while (depth > 0) {
          const pc = stack[--depth] as number;
          if (seen[pc] === round) continue;
          seen[pc] = round;
          work++;
          const code = ops[pc];
          if (code === matchOp) return true;
          const x = xs[pc] as number;
          if (code === setOp) {
            if (char.inSets[x] && listed[pc + 1] !== step) {
              listed[pc + 1] = step;
              next[reached++] = pc + 1;
            }
          } else if (code === placeOp) {
            if (holds(x, before, char.side)) stack[depth++] = pc + 1;
          } else {
            stack[depth++] = x;
            if (code === splitOp) stack[depth++] = ys[pc] as number;
          }
        }
      }
      spend(budget, work);
      if (!anchored && listed[0] !== step) next[reached++] = 0;
      if (reached === 0) return false;
      [current, next] = [next, current];
      count = reached;
      before = char.side;
    }
    return false;
  }

  #step(state: State, index: number, budget: Budget): State {
    const { ops, x, y, anchored } = this.#program;
    const char = this.#classes[index] as CharClass;
    const round = this.#nextRound();
    const seen = this.#seen;
    const stack = [...state.pcs];
    const reached: number[] = [];
    let work = 4;
    let result: State | undefined;
    while (stack.length > 0) {
      const pc = stack.pop() as number;
      if (seen[pc] === round) continue;
      seen[pc] = round;
      work++;
      const code = ops[pc];
      if (code === matchOp) {
        result = matched;
        break;
      }
      if (code === setOp) {
        if (char.inSets[x[pc] as number]) reached.push(pc + 1);
      } else if (code === placeOp) {
        if (holds(x[pc] as number, state.before, char.side)) stack.push(pc + 1);
      } else {
        stack.push(x[pc] as number);
        if (code === splitOp) stack.push(y[pc] as number);
      }
    }
    // Building a state costs several times as much as passing through it.
    spend(budget, 50 + 10 * work);
    if (!result) {
      if (index === this.#edge) result = dead;
      else {
        if (!anchored) reached.push(0);
        result = reached.length === 0 ? dead : this.#state(reached, char.side);
      }
    }
    state.next[index] = result;
    return result;
  }

  #state(pcs: number[], before: number): State {
    const sorted = Uint16Array.from(new Set(pcs)).sort();
    const key = `${before}:${sorted.join()}`;
    let state = this.#states.get(key);
    if (!state) {
      // Forgetting bounds the memory; the states that are still needed come back one by one.
      if (this.#states.size >= maxStates) {
        this.#states = new Map();
        if (this.#start) this.#start = this.#fresh([0], side.edge);
      }
      state = this.#fresh([...sorted], before);
      this.#states.set(key, state);
      this.#built++;
    }
    return state;
  }

  #fresh(pcs: readonly number[], before: number): State {
    return { pcs, before, next: [] };
  }

  #lastNewline(): number {
    return (
      this.#classByKey.get('last') ??
      this.#addClass('last', side.lastNewline, membershipsOf(10, this.#program.sets))
    ).index;
  }

  #wide(cp: number, budget: Budget): number {
    const known = this.#characters.get(cp);
    if (known !== undefined) return known;
    if (this.#characters.size >= maxCachedCharacters) this.#characters.clear();
    const index = this.#classOf(cp, budget);
    this.#characters.set(cp, index);
    return index;
  }

  #classOf(cp: number, budget: Budget): number {
    const where = sideOf(cp, this.#program.ascii);
    const { sets } = this.#program;
    spend(budget, 100 + 20 * sets.length);
    const inSets = membershipsOf(cp, sets);
    const key = `${where}:${inSets.map(Number).join('')}`;
    return (this.#classByKey.get(key) ?? this.#addClass(key, where, inSets)).index;
  }

  #addClass(key: string, where: number, inSets: readonly boolean[]): CharClass {
    const made = { index: this.#classes.length, side: where, inSets };
    this.#classes.push(made);
    this.#classByKey.set(key, made);
    return made;
  }

  #nextRound(): number {
    if (++this.#round === 0xffff_ffff) {
      this.#seen.fill(0);
      this.#round = 1;
    }
    return this.#round;
  }
}
