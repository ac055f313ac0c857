// The regular expressions of users: compiled once, matched in linear time, never handed to the language's own engine.
import { RuleError } from '../error.ts';
import { Automaton } from './automaton.ts';
import { type Budget, BudgetSpent, CharClasses, spend } from './classes.ts';
import { compileProgram, type Program } from './program.ts';
import { SpanFinder } from './span.ts';
import { parsePattern } from './syntax.ts';

export { type Budget, BudgetSpent, spend } from './classes.ts';

/**
 * Steps of one condition: 50 patterns read 1 MB each. A text that needs more is a fault. A step is a character that a
 * pattern reads, or less than what that takes, about 10 ns. The same condition takes the same steps for the same text
 * wherever it is judged, whatever else is judged.
 */
export const maxSteps = 50_000_000;

/** Steps of all conditions of a call together, and again of its result. */
export const maxTotalSteps = 10 * maxSteps;

export const newBudget = (steps = maxTotalSteps): Budget => ({ left: steps });

/** One condition's part of a budget. @throws BudgetSpent when it needs more */
export function withinCondition(budget: Budget, test: (own: Budget) => boolean): boolean {
  const steps = Math.min(maxSteps, budget.left);
  const own: Budget = { left: steps };
  try {
    return test(own);
  } finally {
    budget.left -= steps - own.left;
  }
}

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
  protected readonly program: Program;
  #classes: CharClasses | undefined;
  #automaton: Automaton | undefined;

  /** @throws RuleError "Invalid pattern: …" */
  constructor(pattern: string) {
    this.source = pattern;
    this.program = compileProgram(parsePattern(pattern));
  }

  /** Instructions of the compiled program: what it costs in memory, and in time per character at worst. */
  get size(): number {
    return this.program.ops.length;
  }

  /**
   * True if the text holds a match anywhere.
   * @throws BudgetSpent at the same character for the same text and budget, whatever was tested before
   */
  test(text: string, budget: Budget = newBudget()): boolean {
    spend(budget, 1 + (text.length >> 3));
    const { required, literal } = this.program;
    if (required.length > 0) {
      if (!text.includes(required)) return false;
      if (literal) return true;
    }
    this.#automaton ??= new Automaton(this.program, this.classes);
    return this.#automaton.test(text, budget);
  }

  protected get classes(): CharClasses {
    this.#classes ??= new CharClasses(this.program);
    return this.#classes;
  }
}

/** A pattern whose matches can be replaced, too: apart, so that programs that replace nothing need not carry it. */
export class ReplacingRegex extends Regex {
  #spans: SpanFinder | undefined;

  /**
   * Replaces every match in the whole text, leftmost first. The replacement is literal. Never throws: when the budget
   * ends, the rest of the text is replaced, so that nothing unsearched is shown.
   */
  replaceAll(text: string, replacement: string, budget: Budget = newBudget(maxSteps)): Replaced {
    this.classes.begin();
    this.#spans ??= new SpanFinder(this.program, this.classes);
    const parts: string[] = [];
    let from = 0;
    let kept = 0;
    let count = 0;
    try {
      while (from <= text.length) {
        const span = this.#spans.find(text, from, budget);
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
export const compileRegex = (pattern: string): ReplacingRegex => new ReplacingRegex(pattern);

/** The same for patterns that are only looked for. */
export const compileSearch = (pattern: string): Regex => new Regex(pattern);

/** Problem of a pattern; null for a valid one. */
export function patternProblem(pattern: string): string | null {
  try {
    compileSearch(pattern);
    return null;
  } catch (error) {
    if (error instanceof RuleError) return error.message;
    throw error;
  }
}

const widthAt = (text: string, at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
