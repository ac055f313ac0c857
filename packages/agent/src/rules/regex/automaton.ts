// "Is there a match?": a deterministic automaton that is built while it reads, one state per set of instructions.
// Work is at most (length of text) x (instructions), and one table look-up per character once the states exist.
// The steps that a text costs depend on the pattern and the text alone, never on what was read before: two programs
// that judge one call run out of steps at the same character.
import { type Budget, type CharClass, type CharClasses, side, spend } from './classes.ts';
import { op, type Program, places } from './program.ts';

// Read once: the inner loops compare with them for every instruction.
const { set: setOp, split: splitOp, place: placeOp, match: matchOp } = op;
const placeNames = [...places];

/** True if the place (index into `places`) lies between two sides. */
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

interface State {
  /** Instructions reached, before places are checked: that needs the next character. */
  readonly pcs: readonly number[];
  readonly before: number;
  readonly next: (State | undefined)[];
  /** Steps of each transition in `next`. */
  readonly costs: number[];
  /** The test that last took each transition. */
  readonly takenIn: number[];
  /** The test that last came to this state. */
  enteredIn: number;
}

const stateOf = (pcs: readonly number[], before: number): State => ({
  pcs,
  before,
  next: [],
  costs: [],
  takenIn: [],
  enteredIn: 0,
});

const matched = stateOf([], 0);
const dead = stateOf([], 0);
/** States of one test after which keeping more costs more than it saves. */
const maxStatesOfTest = 500;
/** States kept from one test to the next. */
const maxStates = 500;
/** Characters that are charged together. */
const stride = 1024;

export class Automaton {
  readonly #program: Program;
  readonly #classes: CharClasses;
  readonly #visits: Float64Array;
  #round = 0;
  #test = 0;
  #entered = 0;
  #states = new Map<string, State>();
  #start: State;

  /** @param classes of the same program */
  constructor(program: Program, classes: CharClasses) {
    this.#program = program;
    this.#classes = classes;
    this.#visits = new Float64Array(program.ops.length);
    this.#start = this.#state([0], side.edge);
  }

  /** True when the text holds a match. @throws BudgetSpent */
  test(text: string, budget: Budget): boolean {
    this.#begin();
    const { length } = text;
    const test = this.#test;
    let state = this.#start;
    let charged = 0;
    for (let i = 0; i < length; ) {
      if (i >= charged) {
        spend(budget, stride);
        charged += stride;
      }
      const index = this.#classes.read(text, i, budget);
      i += this.#classes.width;
      state = state.takenIn[index] === test ? (state.next[index] as State) : this.#take(state, index, budget);
      if (state === matched) return true;
      if (state === dead) return false;
      if (this.#entered > maxStatesOfTest) return this.#simulate(state, text, i, budget);
    }
    return this.#take(state, this.#classes.edge, budget) === matched;
  }

  /** Forgets between tests alone: within one, a state that came back as another would be charged twice. */
  #begin(): void {
    if (this.#states.size > maxStates) {
      this.#states = new Map();
      this.#start = this.#state([0], side.edge);
    }
    this.#test++;
    this.#entered = 0;
    this.#classes.begin();
  }

  /** A transition that this test has not taken before: charged as if it had to be made. */
  #take(state: State, index: number, budget: Budget): State {
    const next = state.next[index] ?? this.#step(state, index);
    if (state.takenIn[index] !== this.#test) {
      state.takenIn[index] = this.#test;
      spend(budget, state.costs[index] as number);
    }
    if (next.enteredIn !== this.#test && next !== matched && next !== dead) {
      next.enteredIn = this.#test;
      this.#entered++;
    }
    return next;
  }

  /** Goes on from a state without keeping the ones that follow, for patterns that have too many. */
  #simulate(state: State, text: string, from: number, budget: Budget): boolean {
    const { length } = text;
    const { ops, x: xs, y: ys, anchored } = this.#program;
    const visited = this.#visits;
    const size = ops.length;
    let current = new Uint16Array(size + 1);
    let next = new Uint16Array(size + 1);
    const stack = new Uint16Array(2 * size + 2);
    // Place of an instruction in `next`: one entry each, whatever leads to the instruction.
    const listed = new Uint32Array(size);
    let count = state.pcs.length;
    current.set(state.pcs);
    let before = state.before;
    for (let i = from, step = 1; i <= length; step++) {
      const index = i < length ? this.#classes.read(text, i, budget) : this.#classes.edge;
      i += i < length ? this.#classes.width : 1;
      const char = this.#classes.list[index] as CharClass;
      const round = ++this.#round;
      let reached = 0;
      let work = 8;
      for (let c = 0; c < count; c++) {
        let depth = 0;
        stack[depth++] = current[c] as number;
        while (depth > 0) {
          const pc = stack[--depth] as number;
          if (visited[pc] === round) continue;
          visited[pc] = round;
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

  #step(state: State, index: number): State {
    const { ops, x, y, anchored } = this.#program;
    const char = this.#classes.list[index] as CharClass;
    const round = ++this.#round;
    const visited = this.#visits;
    const stack = [...state.pcs];
    const reached: number[] = [];
    let work = 4;
    let result: State | undefined;
    while (stack.length > 0) {
      const pc = stack.pop() as number;
      if (visited[pc] === round) continue;
      visited[pc] = round;
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
    state.costs[index] = 50 + 10 * work;
    if (!result) {
      if (index === this.#classes.edge) result = dead;
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
      state = stateOf([...sorted], before);
      this.#states.set(key, state);
    }
    return state;
  }
}
