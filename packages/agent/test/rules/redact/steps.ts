// A machine that runs regular expressions by backtracking and counts its steps: what one reads again counts again. Each
// match is compared with the platform's own.

/** One character, from the text at a place and in the direction of the search. */
interface SetTest {
  readonly op: 'set';
  readonly test: (character: string) => boolean;
  readonly isBackward: boolean;
}
type Instruction =
  | SetTest
  | { readonly op: 'edge'; readonly pattern: RegExp }
  | { readonly op: 'save'; readonly slot: string }
  | { readonly op: 'back'; readonly name: string }
  | { readonly op: 'split'; readonly first: number; readonly second: number }
  | { readonly op: 'look'; readonly program: Program; readonly isNegative: boolean }
  | { readonly op: 'end' };
type Program = readonly Instruction[];
type Slots = Map<string, number>;

/** The parts of a pattern. A place behind an instruction is relative until the end. */
const token =
  /(?<edge>\^|\$|\\[bB])|(?<open>\((?:\?(?:<?[=!]|:|<\w+>))?)|\\k<(?<back>\w+)>|(?<set>\[(?:\\.|[^\]\\])*\]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[pP]\{\w+\}|\\.|[^()|])/sy;
const quantifier = /([*+?]|\{\d+(?:,\d*)?\})(\??)/y;

/** Compiles a pattern; instructions name others by their distance. */
class Compiler {
  readonly #source: string;
  readonly #flags: string;
  #at = 0;

  constructor({ source, flags }: RegExp) {
    this.#source = source;
    this.#flags = flags.replace(/[^isu]/g, '');
  }

  program(): Program {
    return [...this.#choice(false), { op: 'end' }];
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#source);
    if (match) this.#at = pattern.lastIndex;
    return match;
  }

  #choice(isBackward: boolean): Instruction[] {
    const first = this.#sequence(isBackward);
    if (this.#source[this.#at] !== '|') return first;
    this.#at++;
    const rest = this.#choice(isBackward);
    return [
      { op: 'split', first: 1, second: first.length + 2 },
      ...first,
      { op: 'split', first: rest.length + 1, second: 0 },
      ...rest,
    ];
  }

  #sequence(isBackward: boolean): Instruction[] {
    const parts: Instruction[][] = [];
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source[this.#at] ?? ''))
      parts.push(this.#repeated(this.#atom(isBackward)));
    return (isBackward ? parts.reverse() : parts).flat();
  }

  #atom(isBackward: boolean): Instruction[] {
    const groups = this.#take(token)?.groups ?? {};
    const { edge, open, back, set } = groups;
    if (edge !== undefined) return [{ op: 'edge', pattern: new RegExp(edge, 'y') }];
    if (back !== undefined) return [{ op: 'back', name: back }];
    if (open === undefined) return [{ op: 'set', test: this.#setTest(set ?? ''), isBackward }];
    const isLook = /[=!]$/.test(open);
    const isBehind = isLook ? open.includes('<') : isBackward;
    const body = this.#choice(isBehind);
    this.#at++;
    if (isLook) return [{ op: 'look', program: [...body, { op: 'end' }], isNegative: open.endsWith('!') }];
    const name = /<(\w+)>/.exec(open)?.[1];
    if (name === undefined) return body;
    const edges: Instruction[] = ['start', 'end'].map((edge) => ({ op: 'save', slot: `${name} ${edge}` }));
    if (isBehind) edges.reverse();
    return [edges[0] as Instruction, ...body, edges[1] as Instruction];
  }

  #setTest(source: string): (character: string) => boolean {
    const pattern = new RegExp(`^(?:${source})$`, this.#flags);
    const results = new Map<string, boolean>();
    return (character) => {
      const result = results.get(character) ?? pattern.test(character);
      results.set(character, result);
      return result;
    };
  }

  #repeated(body: Instruction[]): Instruction[] {
    const match = this.#take(quantifier);
    if (match === null) return body;
    const [, bounds = '', lazy = ''] = match;
    const [min = 0, max = Number.POSITIVE_INFINITY] =
      { '*': [0], '+': [1], '?': [0, 1] }[bounds] ?? rangeOf(bounds);
    const split = (next: number, out: number): Instruction =>
      lazy === '' ? { op: 'split', first: next, second: out } : { op: 'split', first: out, second: next };
    const needed = Array.from({ length: min }, () => body).flat();
    if (max === Number.POSITIVE_INFINITY) {
      const loop = [
        split(1, body.length + 2),
        ...body,
        { op: 'split', first: -body.length - 1, second: 0 } as const,
      ];
      return [...needed, ...loop];
    }
    const size = body.length + 1;
    const others = Array.from({ length: max - min }, (_, i) => [
      split(1, (max - min - i) * size),
      ...body,
    ]).flat();
    return [...needed, ...others];
  }
}

function rangeOf(bounds: string): readonly [number, number] {
  const [min = '', max = min] = bounds.slice(1, -1).split(',');
  return [Number(min), max === '' ? Number.POSITIVE_INFINITY : Number(max)];
}

const programs = new Map<string, Program>();
function programOf(pattern: RegExp): Program {
  const key = String(pattern);
  const program = programs.get(key) ?? new Compiler(pattern).program();
  programs.set(key, program);
  return program;
}

/** Runs one pattern over one text. */
class Machine {
  steps = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The end of a match from a place; null if there is none. */
  run(program: Program, start: number, slots: Slots): number | null {
    const choices: { readonly place: number; readonly at: number; readonly slots: Slots }[] = [];
    let [place, at, own] = [0, start, slots];
    for (;;) {
      this.steps++;
      const instruction = program[place] as Instruction;
      if (instruction.op === 'end') {
        for (const [slot, value] of own) slots.set(slot, value);
        return at;
      }
      let next: number | null = at;
      if (instruction.op === 'split') {
        if (instruction.second !== 0) choices.push({ place: place + instruction.second, at, slots: own });
        place += instruction.first - 1;
      } else if (instruction.op === 'save') own = new Map(own).set(instruction.slot, at);
      else next = this.#step(instruction, at, own);
      if (next === null) {
        const choice = choices.pop();
        if (choice === undefined) return null;
        ({ place, at, slots: own } = choice);
      } else [place, at] = [place + 1, next];
    }
  }

  #step(
    instruction: Exclude<Instruction, { op: 'split' | 'save' | 'end' }>,
    at: number,
    slots: Slots,
  ): number | null {
    const text = this.#text;
    if (instruction.op === 'set') {
      const from = instruction.isBackward ? at - 1 : at;
      const isFit = from >= 0 && from < text.length && instruction.test(text[from] as string);
      return isFit ? (instruction.isBackward ? from : at + 1) : null;
    }
    if (instruction.op === 'edge') {
      instruction.pattern.lastIndex = at;
      return instruction.pattern.test(text) ? at : null;
    }
    if (instruction.op === 'look')
      return (this.run(instruction.program, at, slots) === null) === instruction.isNegative ? at : null;
    const part = text.slice(
      slots.get(`${instruction.name} start`) ?? 0,
      slots.get(`${instruction.name} end`) ?? 0,
    );
    this.steps += part.length;
    return text.startsWith(part, at) ? at + part.length : null;
  }
}

/** The steps of one search, and the end of its match; null if there is none. */
function searchSteps(
  pattern: RegExp,
  text: string,
  from: number,
): { readonly steps: number; readonly end: number | null } {
  const machine = new Machine(text);
  const program = programOf(pattern);
  let end: number | null = null;
  for (let start = from; end === null && start <= text.length; start++) {
    end = machine.run(program, start, new Map());
    if (pattern.sticky) break;
  }
  return { steps: machine.steps, end };
}

/**
 * Steps of all patterns that are matched while something runs.
 * @throws Error if a match is another one than the platform's
 */
export function patternSteps(run: () => void): number {
  const { exec } = RegExp.prototype;
  let steps = 0;
  const count = function (this: RegExp, text: string): RegExpExecArray | null {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const match = exec.call(this, text);
    RegExp.prototype.exec = exec;
    const search = searchSteps(this, text, from);
    RegExp.prototype.exec = count;
    steps += search.steps;
    const end = match === null ? null : match.index + match[0].length;
    if (search.end !== end)
      throw new Error(`${this} ends at ${end}, not at ${search.end}, in ${JSON.stringify(text)}`);
    return match;
  };
  RegExp.prototype.exec = count;
  try {
    run();
  } finally {
    RegExp.prototype.exec = exec;
  }
  return steps;
}
