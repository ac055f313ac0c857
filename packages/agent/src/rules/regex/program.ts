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
  const ops: number[] = [];
  const x: number[] = [];
  const y: number[] = [];
  const sets: CharSet[] = [];
  const setIndex = new Map<string, number>();
  const add = (code: number, a = 0, b = 0): number => {
    ops.push(code);
    x.push(a);
    y.push(b);
    return ops.length - 1;
  };
  const branch = (at: number, lazy: boolean, into: number, past: number) => {
    x[at] = lazy ? past : into;
    y[at] = lazy ? into : past;
  };
  const emit = (item: Node): void => {
    switch (item.type) {
      case 'set': {
        let index = setIndex.get(item.set.key);
        if (index === undefined) {
          index = sets.push(item.set) - 1;
          setIndex.set(item.set.key, index);
        }
        add(op.set, index);
        return;
      }
      case 'place':
        add(op.place, places.indexOf(item.place));
        return;
      case 'cat':
        for (const part of item.items) emit(part);
        return;
      case 'alt': {
        const ends: number[] = [];
        item.items.forEach((part, i) => {
          const last = i === item.items.length - 1;
          const split = last ? -1 : add(op.split);
          if (!last) x[split] = split + 1;
          emit(part);
          if (last) return;
          ends.push(add(op.jump));
          y[split] = ops.length;
        });
        for (const end of ends) x[end] = ops.length;
        return;
      }
      case 'repeat': {
        for (let i = 0; i < item.min; i++) emit(item.item);
        if (item.max === Infinity) {
          const split = add(op.split);
          emit(item.item);
          add(op.jump, split);
          branch(split, item.lazy, split + 1, ops.length);
          return;
        }
        const splits: number[] = [];
        for (let i = item.min; i < item.max; i++) {
          splits.push(add(op.split));
          emit(item.item);
        }
        for (const split of splits) branch(split, item.lazy, split + 1, ops.length);
      }
    }
  };
  emit(node);
  add(op.match);
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
