// The options of a benchmark: declared once, from which come the parsing, the bounds and the text of --help. Every
// program has --json and --help besides its own.
import { parseArgs } from 'node:util';

interface NumberOption {
  readonly about: string;
  readonly default: number;
  /** 1 by default. */
  readonly atLeast?: number;
}

interface TextOption {
  readonly about: string;
  /** Null: nothing, where the option is not given. */
  readonly default: string | null;
  /** What stands for the value in the text of --help. */
  readonly value: string;
}

type Option = NumberOption | TextOption;
type Options = Readonly<Record<string, Option>>;

interface Program<O extends Options> {
  /** The file in `bench/`, without its ending. */
  readonly program: string;
  /** The command that starts it, where it is not the compiled file. */
  readonly start?: string;
  readonly options: O;
  /** What else --help says. */
  readonly note?: string;
}

export type Values<O extends Options> = {
  readonly [K in keyof O]: O[K]['default'] extends number
    ? number
    : O[K]['default'] extends string
      ? string
      : string | null;
} & { readonly json: boolean; readonly help: boolean };

const isNumber = (option: Option): option is NumberOption => typeof option.default === 'number';

/** The text of --help. */
export function usageOf({ program, start, options, note }: Program<Options>): string {
  const rows = Object.entries(options).map(([name, option]): readonly [string, string] => {
    const { about } = option;
    if (!isNumber(option)) return [`--${name} ${option.value}`, about];
    const { default: value, atLeast = 1 } = option;
    return [`--${name} N`, `${about} (${value}${atLeast > 1 ? `; at least ${atLeast}` : ''})`];
  });
  rows.push(['--json', 'one line of JSON instead of text']);
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return [
    `Usage: npm run build && ${start ?? `node dist/bench/${program}.js`} [options]`,
    ...rows.map(([name, about]) => `  ${name.padEnd(width)}${about}`),
    ...(note ? [note] : []),
    '',
  ].join('\n');
}

/**
 * The options that a command line gives, and the defaults of the others.
 * @throws Error for an option that there is not, and for a value that is no whole number or under its bound
 */
export function parseOptions<const O extends Options>(
  options: O,
  args: readonly string[],
): Values<{ readonly [K in keyof O]: O[K] }> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(Object.keys(options).map((name) => [name, { type: 'string' as const }])),
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const given = values as Readonly<Record<string, string | boolean | undefined>>;
  const read = Object.entries(options).map(([name, option]) => {
    const text = given[name];
    if (text === undefined || !isNumber(option)) return [name, text ?? option.default];
    const { atLeast = 1 } = option;
    const value = /^\d{1,12}$/.test(String(text)) ? Number(text) : Number.NaN;
    if (!(value >= atLeast)) throw new Error(`--${name} takes a whole number of at least ${atLeast}.`);
    return [name, value];
  });
  return { ...Object.fromEntries(read), json: given.json === true, help: given.help === true };
}

/**
 * Reads the options of this process. With --help it prints them and ends the process; with options that cannot be used
 * it says why and ends it with code 2.
 * @returns the values, and `say`, which prints a line for people, unless --json asks for JSON
 */
export function readOptions<const O extends Options>(program: Program<O>) {
  const usage = usageOf(program);
  const values = valuesOf(program.options, usage);
  if (values.help) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const say = (line: string): void => {
    if (!values.json) process.stdout.write(`${line}\n`);
  };
  return { ...values, say };
}

function valuesOf<const O extends Options>(options: O, usage: string) {
  try {
    return parseOptions(options, process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${usage}`);
    process.exit(2);
  }
}
