// A syntax tree to instructions for the two matchers, with a bound on their number. No matching here.
import { RuleError } from '../error.ts';
import type { CharSet } from './charset.ts';
import type { Node, ParsedPattern, Place } from './syntax.ts';

export const op = { set: 0, split: 1, jump: 2, place: 3, match: 4 } as const;

/** Instructions as parallel lists: `ops[i]` with its arguments `x[i]`, `y[i]`. */
export interface Program {
  readonly ops: readonly number[];
  /** set: index into `sets`; split: the preferred target; jump: the target; place: index into `places`. */
  readonly x: readonly number[];
  /** split: the other target. */
  readonly y: readonly number[];
  readonly sets: readonly CharSet[];
  readonly ascii: boolean;
  /** Every match begins at the start of the text. */
  readonly anchored: boolean;
  /** Text that every match holds; empty when none is known. */
  readonly required: string;
  /** The whole pattern is `required`. */
  readonly literal: boolean;
}

/** Instructions in one program; `(a{30}){30}` has about 900. */
export const maxInstructions = 2000;

export const places: readonly Place[] = [
  'start',
  'line-start',
  'end',
  'end-or-last-newline',
  'line-end',
  'word-edge',
  'no-word-edge',
];

/**
 * Compiles a parsed pattern.
 * @throws RuleError when it is too large
 */
export function compileProgram({ node, flags }: ParsedPattern): Program {
  if (sizeOf(node) >= maxInstructions) {
    throw new RuleError(`Invalid pattern: more than ${maxInstructions} steps once its repeats are expanded`);
  }
  const { ops, x, y, sets } = new ProgramWriter(node);
  const items = node.type === 'cat' ? node.items : [node];
  const required = longestLiteral(items);
  return {
    ops,
    x,
    y,
    sets,
    ascii: flags.ascii,
    anchored: items[0]?.type === 'place' && items[0].place === 'start',
    required,
    literal:
      required.length > 0 && items.every((item) => item.type === 'set' && item.set.literal !== undefined),
  };
}

/** The instructions of a tree. */
class ProgramWriter {
  readonly ops: number[] = [];
  readonly x: number[] = [];
  readonly y: number[] = [];
  readonly sets: CharSet[] = [];
  readonly #setIndex = new Map<string, number>();

  constructor(node: Node) {
    this.#emit(node);
    this.#add(op.match);
  }

  #add(code: number, x = 0): number {
    this.ops.push(code);
    this.x.push(x);
    this.y.push(0);
    return this.ops.length - 1;
  }

  #emit(item: Node): void {
    if (item.type === 'set') this.#add(op.set, this.#indexOf(item.set));
    else if (item.type === 'place') this.#add(op.place, places.indexOf(item.place));
    else if (item.type === 'cat') for (const part of item.items) this.#emit(part);
    else if (item.type === 'alt') this.#emitAlternatives(item.items);
    else this.#emitRepeat(item);
  }

  #indexOf(set: CharSet): number {
    let index = this.#setIndex.get(set.key);
    if (index === undefined) {
      index = this.sets.push(set) - 1;
      this.#setIndex.set(set.key, index);
    }
    return index;
  }

  #emitAlternatives(items: readonly Node[]): void {
    const ends: number[] = [];
    items.forEach((part, i) => {
      const last = i === items.length - 1;
      const split = last ? -1 : this.#add(op.split);
      if (!last) this.x[split] = split + 1;
      this.#emit(part);
      if (last) return;
      ends.push(this.#add(op.jump));
      this.y[split] = this.ops.length;
    });
    for (const end of ends) this.x[end] = this.ops.length;
  }

  #emitRepeat({ item, min, max, lazy }: Extract<Node, { type: 'repeat' }>): void {
    for (let i = 0; i < min; i++) this.#emit(item);
    const splits: number[] = [];
    for (let i = min; max === Infinity ? i === min : i < max; i++) {
      splits.push(this.#add(op.split));
      this.#emit(item);
    }
    if (max === Infinity) this.#add(op.jump, splits[0]);
    for (const split of splits) {
      this.x[split] = lazy ? this.ops.length : split + 1;
      this.y[split] = lazy ? split + 1 : this.ops.length;
    }
  }
}

/** Instructions a node needs; at least one each, so that repeats of nothing are bounded as well. */
function sizeOf(node: Node): number {
  switch (node.type) {
    case 'set':
    case 'place':
      return 1;
    case 'cat':
      return node.items.reduce((sum, item) => sum + sizeOf(item), 1);
    case 'alt':
      return node.items.reduce((sum, item) => sum + sizeOf(item) + 2, 0);
    case 'repeat': {
      const size = sizeOf(node.item);
      return node.max === Infinity ? size * (node.min + 1) + 2 : size * node.max + (node.max - node.min) + 1;
    }
  }
}

function longestLiteral(items: readonly Node[]): string {
  let longest = '';
  let run = '';
  for (const item of items) {
    run = item.type === 'set' && item.set.literal !== undefined ? run + item.set.literal : '';
    if (run.length > longest.length) longest = run;
  }
  return longest;
}
