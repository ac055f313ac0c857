// "Where is the first match?": a simulation of all alternatives at once, in order of preference. Slower than the
// automaton, at most (length of text) x (instructions); used for redaction only.
import { type Budget, holds, side, sideOf, spend } from './automaton.ts';
import { membershipsOf } from './charset.ts';
import { op, type Program } from './program.ts';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The leftmost match at or after `from`, and of those the one a backtracking matcher would prefer. */
export function findSpan(program: Program, text: string, from: number, budget: Budget): Span | null {
  const { ops, x, y, sets, ascii } = program;
  const seen = new Int32Array(ops.length).fill(-1);
  spend(budget, ops.length >> 4);
  let current: { pc: number; start: number }[] = [];
  let next: { pc: number; start: number }[] = [];
  let found: Span | null = null;
  let before = from === 0 ? side.edge : sideBefore(text, from, ascii);

  const follow = (
    list: { pc: number; start: number }[],
    first: number,
    start: number,
    at: number,
    after: number,
  ) => {
    const stack = [first];
    while (stack.length > 0) {
      const pc = stack.pop() as number;
      if (seen[pc] === at) continue;
      seen[pc] = at;
      const code = ops[pc];
      if (code === op.jump) stack.push(x[pc] as number);
      else if (code === op.split) stack.push(y[pc] as number, x[pc] as number);
      else if (code === op.place) {
        if (holds(x[pc] as number, before, after)) stack.push(pc + 1);
      } else list.push({ pc, start });
    }
  };

  for (let at = from; ; ) {
    const cp = at < text.length ? (text.codePointAt(at) as number) : -1;
    const width = cp > 0xffff ? 2 : 1;
    const last = cp === 10 && at + 1 === text.length;
    const after = cp < 0 ? side.edge : last ? side.lastNewline : sideOf(cp, ascii);
    // `next` holds instructions not yet followed: their places need both neighbours.
    const waiting = next;
    current = [];
    for (const thread of waiting) follow(current, thread.pc, thread.start, at, after);
    if (!found && !(program.anchored && at > 0)) follow(current, 0, at, at, after);
    spend(budget, 4 + current.length * 2 + sets.length);
    const inSets = cp < 0 || current.length === 0 ? [] : membershipsOf(cp, sets);
    next = [];
    for (const { pc, start } of current) {
      if (ops[pc] === op.match) {
        found = { start, end: at };
        break;
      }
      if (inSets[x[pc] as number]) next.push({ pc: pc + 1, start });
    }
    if (cp < 0 || (next.length === 0 && (found || program.anchored))) return found;
    before = after;
    at += width;
  }
}

function sideBefore(text: string, at: number, ascii: boolean): number {
  const unit = text.charCodeAt(at - 1);
  const low = unit >= 0xdc00 && unit < 0xe000 && at > 1;
  return sideOf(low ? (text.codePointAt(at - 2) as number) : unit, ascii);
}
