// The regular expressions of users: compiled once, matched in linear time, never handed to the language's own engine.
import { RuleError } from '../error.ts';
import { Automaton, type Budget, BudgetSpent, spend } from './automaton.ts';
import { compileProgram, type Program } from './program.ts';
import { findSpan } from './span.ts';
import { parsePattern } from './syntax.ts';

export { type Budget, BudgetSpent, spend } from './automaton.ts';

/** A test reads this many UTF-16 units of the text. */
export const maxSearchLength = 10_000;

/** A budget for callers without one of their own: about a fifth of a second. */
export const newBudget = (work = 20_000_000): Budget => ({ left: work });

export interface Replaced {
  readonly text: string;
  readonly count: number;
  /** False when the budget ended: what was not searched has been replaced as a whole. */
  readonly complete: boolean;
}

/**
 * A compiled pattern in the dialect of Python's `re`, without what needs backtracking. Holds no state a caller can see.
 */
export class Regex {
  readonly source: string;
  readonly #program: Program;
  #automaton: Automaton | undefined;

  /** @throws RuleError "Invalid pattern: …" */
  constructor(pattern: string) {
    this.source = pattern;
    this.#program = compileProgram(parsePattern(pattern));
  }

  /** Instructions of the compiled program: what it costs in memory, and in time per character at worst. */
  get size(): number {
    return this.#program.ops.length;
  }

  /**
   * Whether the first 10,000 units of the text hold a match anywhere.
   * @throws BudgetSpent
   */
  test(text: string, budget: Budget = newBudget()): boolean {
    const length = Math.min(text.length, maxSearchLength);
    spend(budget, 1 + (length >> 3));
    const { required, literal } = this.#program;
    if (required.length > 0) {
      const at = (text.length === length ? text : text.slice(0, length)).indexOf(required);
      if (at < 0) return false;
      if (literal) return true;
    }
    this.#automaton ??= new Automaton(this.#program);
    return this.#automaton.test(text, length, budget);
  }

  /**
   * Replaces every match in the whole text, leftmost first. The replacement is literal. Never throws: when the budget
   * ends, the rest of the text is replaced, so that nothing unsearched is shown.
   */
  replaceAll(text: string, replacement: string, budget: Budget = newBudget()): Replaced {
    const parts: string[] = [];
    let from = 0;
    let kept = 0;
    let count = 0;
    try {
      while (from <= text.length) {
        const span = findSpan(this.#program, text, from, budget);
        if (!span) break;
        parts.push(text.slice(kept, span.start), replacement);
        count++;
        kept = span.end;
        // An empty match must not be found again at the same place.
        from = span.end > span.start ? span.end : span.end + widthAt(text, span.end);
      }
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error;
      return { text: parts.join('') + replacement, count: count + 1, complete: false };
    }
    return { text: parts.join('') + text.slice(kept), count, complete: true };
  }
}

/** Compiles a pattern. @throws RuleError "Invalid pattern: …" */
export const compileRegex = (pattern: string): Regex => new Regex(pattern);

/** Why a pattern cannot be used; null when it can. */
export function patternProblem(pattern: string): string | null {
  try {
    compileRegex(pattern);
    return null;
  } catch (error) {
    if (error instanceof RuleError) return error.message;
    throw error;
  }
}

const widthAt = (text: string, at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
