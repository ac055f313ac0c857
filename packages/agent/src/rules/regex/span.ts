// "Where is the first match?": a simulation of all alternatives at once, in order of preference. Slower than the
// automaton, at most (length of text) x (instructions); used for redaction only.
import { holds } from './automaton.ts';
import { type Budget, type CharClass, type CharClasses, side, spend } from './classes.ts';
import { op, type Program } from './program.ts';

const { split: splitOp, jump: jumpOp, place: placeOp, match: matchOp } = op;

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Threads in order of preference: where each goes on, and where its match began. */
interface Threads {
  readonly pcs: Uint16Array;
  readonly starts: Uint32Array;
  count: number;
}

const threadsOf = (size: number): Threads => ({
  pcs: new Uint16Array(size),
  starts: new Uint32Array(size),
  count: 0,
});

const sides = Object.keys(side).length;

export class SpanFinder {
  readonly #program: Program;
  readonly #classes: CharClasses;
  readonly #visits: Float64Array;
  readonly #stack: Uint16Array;
  readonly #current: Threads;
  #next: Threads;
  #waiting: Threads;
  #round = 0;
  /** By side before and class behind: true when no match begins there. */
  readonly #barren: (boolean | undefined)[] = [];

  /** @param classes of the same program */
  constructor(program: Program, classes: CharClasses) {
    const size = program.ops.length + 1;
    this.#program = program;
    this.#classes = classes;
    this.#visits = new Float64Array(size);
    this.#stack = new Uint16Array(2 * size);
    this.#current = threadsOf(size);
    this.#next = threadsOf(size);
    this.#waiting = threadsOf(size);
  }

  /**
   * The leftmost match at or after `from`, and of those the one a backtracking matcher would prefer.
   * @throws BudgetSpent
   */
  find(text: string, from: number, budget: Budget): Span | null {
    const { ops, x, anchored } = this.#program;
    const classes = this.#classes;
    const current = this.#current;
    let span: Span | null = null;
    let before = from === 0 ? side.edge : this.#sideBefore(text, from, budget);
    this.#next.count = 0;
    for (let at = from; ; ) {
      const isEnd = at >= text.length;
      const index = isEnd ? classes.edge : classes.read(text, at, budget);
      const width = isEnd ? 1 : classes.width;
      const char = classes.list[index] as CharClass;
      // The threads that go on are not followed yet: their places need both neighbours.
      const waiting = this.#next;
      this.#next = this.#waiting;
      this.#waiting = waiting;
      const next = this.#next;
      next.count = 0;
      const begins = !span && !(anchored && at > 0) && !this.#barren[index * sides + before];
      if (waiting.count === 0 && !begins) spend(budget, 1);
      else {
        current.count = 0;
        this.#round++;
        for (let i = 0; i < waiting.count; i++)
          this.#follow(waiting.pcs[i] as number, waiting.starts[i] as number, before, char.side);
        if (begins) this.#follow(0, at, before, char.side);
        spend(budget, 4 + current.count * 2);
        for (let i = 0; i < current.count; i++) {
          const pc = current.pcs[i] as number;
          const start = current.starts[i] as number;
          if (ops[pc] === matchOp) {
            span = { start, end: at };
            break;
          }
          if (char.inSets[x[pc] as number]) {
            next.pcs[next.count] = pc + 1;
            next.starts[next.count++] = start;
          }
        }
        if (waiting.count === 0 && next.count === 0 && !span) this.#barren[index * sides + before] = true;
      }
      if (isEnd || (next.count === 0 && (span || anchored))) return span;
      before = char.side;
      at += width;
    }
  }

  #follow(first: number, start: number, before: number, after: number): void {
    const { ops, x, y } = this.#program;
    const stack = this.#stack;
    const visited = this.#visits;
    const current = this.#current;
    const round = this.#round;
    let depth = 0;
    stack[depth++] = first;
    while (depth > 0) {
      const pc = stack[--depth] as number;
      if (visited[pc] === round) continue;
      visited[pc] = round;
      const code = ops[pc];
      if (code === jumpOp) stack[depth++] = x[pc] as number;
      else if (code === splitOp) {
        stack[depth++] = y[pc] as number;
        stack[depth++] = x[pc] as number;
      } else if (code === placeOp) {
        if (holds(x[pc] as number, before, after)) stack[depth++] = pc + 1;
      } else {
        current.pcs[current.count] = pc;
        current.starts[current.count++] = start;
      }
    }
  }

  #sideBefore(text: string, at: number, budget: Budget): number {
    const unit = text.charCodeAt(at - 1);
    const low = unit >= 0xdc00 && unit < 0xe000 && at > 1;
    const index = this.#classes.read(text, low ? at - 2 : at - 1, budget);
    return (this.#classes.list[index] as CharClass).side;
  }
}
