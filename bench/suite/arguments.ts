// The command line of the suite: a command, options, and the near name for a word that is neither.
import { parseArgs } from 'node:util';

/** Wrong use of the suite; its message is one line. */
export class UsageFault extends Error {}

interface OptionForm {
  readonly about: string;
  /** Stands for the value in --help; absent: the option has no value. */
  readonly value?: string;
  /** Least and greatest whole number; absent: the value is text. */
  readonly atLeast?: number;
  readonly atMost?: number;
}

export const optionForms = {
  list: { about: 'print the scenarios' },
  help: { about: 'print this text' },
  rounds: { about: 'rounds of each measurement (3)', value: 'N', atLeast: 1, atMost: 1000 },
  seconds: { about: 'length of each measurement (5)', value: 'N', atLeast: 1, atMost: 86_400 },
  rows: { about: 'events stored before (100000)', value: 'N', atLeast: 0, atMost: 100_000_000 },
  agents: { about: 'streams that are opened (2000)', value: 'N', atLeast: 1, atMost: 10_000_000 },
  frame: {
    about: 'bytes of a deployed frame, such as 1024 or 32k (32k)',
    value: 'SIZE',
    atLeast: 1024,
    atMost: 4_194_304,
  },
  seed: { about: 'of ids and resamples (1)', value: 'N', atLeast: 0, atMost: 1_000_000_000 },
  ids: { about: 'call ids of ingest: random or ordered by time (random)', value: 'ORDER' },
  loaders: { about: 'client processes of ingest (1)', value: 'N', atLeast: 1, atMost: 64 },
  json: { about: 'write the results to FILE', value: 'FILE' },
  html: { about: 'write a report to FILE', value: 'FILE' },
  quiet: {
    about: 'before each round, wait up to S seconds for an idle machine (0)',
    value: 'S',
    atLeast: 0,
    atMost: 86_400,
  },
  hub: { about: 'measure the built checkout in FOLDER (this one)', value: 'FOLDER' },
  url: {
    about: 'measure a running hub, by REEVE_BENCH_KEYS or REEVE_BENCH_EMAIL and _PASSWORD',
    value: 'URL',
  },
  'yes-load': { about: 'consent to load HOST, for --url with another machine', value: 'HOST' },
  clean: { about: 'with --url: remove the keys of the run NAME', value: 'NAME' },
  full: { about: 'every scenario at full size (5 rounds of 10 s, 1,000,000 rows, 10,000 agents)' },
  profile: { about: "write processor profiles of the hub's threads to .cache/bench/profiles" },
  nightly: { about: 'the long runs: 1,000,000 events, 19,400 streams for 10 min, mixed load for 30 min' },
  guard: { about: 'compare this tree with an earlier commit, in alternate rounds' },
  'false-alarms': {
    about: 'with --guard: compare a clean tree with itself N times, and count what is called worse',
    value: 'N',
    atLeast: 1,
    atMost: 1000,
  },
  base: { about: 'commit for --guard (merge base with main; on main the parent)', value: 'REF' },
  check: { about: 'with scale: compare the predictions with a run of more streams', value: 'FILE' },
  'write-bands': { about: 'with counts: measure bench/bands.json anew' },
  rivals: { about: 'also measure these rivals, such as nchan,centrifuge (none)', value: 'A,B' },
  slow: { about: 'load a slow-down from bench/slow into the hub', value: 'NAME' },
} as const satisfies { readonly [name: string]: OptionForm };

export type OptionName = keyof typeof optionForms;

const defaults = {
  rounds: 3,
  seconds: 5,
  rows: 100_000,
  agents: 2000,
  frame: 32_768,
  seed: 1,
  loaders: 1,
  quiet: 0,
};

type Sizes = typeof defaults;

/** Defaults with `--full`. */
const fullSizes: Partial<Sizes> = {
  rounds: 5,
  seconds: 10,
  rows: 1_000_000,
  agents: 10_000,
};

/** Of a run of every scenario, which is to end within ten minutes. */
const shortSizes: Partial<Sizes> = { seconds: 1, rows: 10_000, agents: 500 };

const idOrders = ['random', 'ordered'] as const;
export type IdOrder = (typeof idOrders)[number];

/** Load and length of a scenario. */
export interface RunSettings {
  readonly rounds: number;
  /** Length of each measurement. */
  readonly seconds: number;
  /** Events stored before. */
  readonly rows: number;
  /** Streams of scenarios that open some. */
  readonly agents: number;
  /** Bytes of a deployed frame. */
  readonly frame: number;
  readonly seed: number;
  readonly loaders: number;
  /** Longest wait for an idle machine before each round, seconds. */
  readonly quiet: number;
  /** Slow-downs in `bench/slow/`. */
  readonly slow: readonly string[];
  /** Names of rivals that are measured beside the hub. */
  readonly rivals: readonly string[];
  /** A running hub; null: the suite starts one. */
  readonly url: string | null;
  readonly profile: boolean;
  /** Call ids of events: random (UUID version 4), or ordered by time (version 7). */
  readonly ids: IdOrder;
}

export interface Arguments extends RunSettings {
  /** The words that are no options. */
  readonly words: readonly string[];
  readonly list: boolean;
  readonly help: boolean;
  readonly full: boolean;
  readonly json: string | null;
  readonly html: string | null;
  readonly hub: string | null;
  readonly writeBands: boolean;
  readonly guard: boolean;
  readonly nightly: boolean;
  readonly base: string | null;
  readonly check: string | null;
  readonly yesLoad: string | null;
  readonly clean: string | null;
  /** Null: the false alarms of the guard are not counted. */
  readonly falseAlarms: number | null;
  /** The sizes that stand on the command line. */
  readonly sizes: Partial<Sizes>;
  /** The options that stand on the command line. */
  readonly options: readonly OptionName[];
}

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...left].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...right].entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** The name that is at most half as different as it is long; null without one. */
export function nearestName(word: string, names: readonly string[]): string | null {
  const near = names
    .map((name) => ({ name, distance: editDistance(word, name) }))
    .filter(({ name, distance }) => distance <= Math.max(1, name.length / 2))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.name ?? null;
}

/** A line such as "There is no option --round. Did you mean --rounds?". */
export function unknownName(kind: string, word: string, names: readonly string[]): string {
  const near = nearestName(word, names);
  return `There is no ${kind} ${word}. ${near === null ? 'See --help.' : `Did you mean ${near}?`}`;
}

type NumberName = keyof Sizes | 'false-alarms';

/** @throws UsageFault for a text that is no whole number within the option's bounds */
function readNumber(name: NumberName, text: string): number {
  const { atLeast, atMost } = optionForms[name];
  const [, digits, thousand] = /^(\d{1,12})(k?)$/.exec(text) ?? [];
  const isSize = thousand === '' || name === 'frame';
  const value = digits !== undefined && isSize ? Number(digits) * (thousand === 'k' ? 1024 : 1) : Number.NaN;
  if (value >= atLeast && value <= atMost) return value;
  throw new UsageFault(`--${name} takes a whole number from ${atLeast} to ${atMost}, not ${text}.`);
}

function readSizes(last: (name: keyof Sizes) => string | undefined): Partial<Sizes> {
  const names = Object.keys(defaults) as (keyof Sizes)[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const text = last(name);
      return text === undefined ? [] : [[name, readNumber(name, text)]];
    }),
  );
}

function readIds(text: string | undefined): IdOrder {
  const order = idOrders.find((name) => name === (text ?? 'random'));
  if (order) return order;
  throw new UsageFault(`${unknownName('order of ids', text ?? '', idOrders)}`);
}

/** Words, and the values of each option in order. @throws UsageFault for an unknown option or a missing value */
function readTokens(args: readonly string[]) {
  const forms: { readonly [name: string]: OptionForm } = optionForms;
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(
      Object.entries(forms).map(([name, { value }]) => [
        name,
        { type: value === undefined ? ('boolean' as const) : ('string' as const) },
      ]),
    ),
  });
  const words: string[] = [];
  const values = new Map<OptionName, string[]>();
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const form = Object.hasOwn(forms, token.name) ? forms[token.name] : undefined;
    const names = Object.keys(forms).map((name) => `--${name}`);
    if (!form) throw new UsageFault(unknownName('option', token.rawName, names));
    if (form.value === undefined && token.value !== undefined) {
      throw new UsageFault(`--${token.name} takes no value.`);
    }
    if (form.value !== undefined && (token.value === undefined || token.value === '')) {
      throw new UsageFault(`--${token.name} takes a value: --${token.name} ${form.value}.`);
    }
    const name = token.name as OptionName;
    values.set(name, [...(values.get(name) ?? []), token.value ?? '']);
  }
  return { words, values };
}

/** @throws UsageFault for an unknown option, a missing value or a value out of bounds */
export function parseArguments(args: readonly string[]): Arguments {
  const { words, values } = readTokens(args);
  const last = (name: OptionName): string | undefined => values.get(name)?.at(-1);
  const sizes = readSizes(last);
  const isEveryScenario = words.length === 0 && !values.has('nightly') && !values.has('guard');
  const formSizes = values.has('full') ? fullSizes : isEveryScenario ? shortSizes : {};
  const alarmRuns = last('false-alarms');
  return {
    words,
    list: values.has('list'),
    help: values.has('help'),
    full: values.has('full'),
    ...defaults,
    ...formSizes,
    ...sizes,
    sizes,
    options: [...values.keys()],
    ids: readIds(last('ids')),
    falseAlarms: alarmRuns === undefined ? null : readNumber('false-alarms', alarmRuns),
    json: last('json') ?? null,
    html: last('html') ?? null,
    hub: last('hub') ?? null,
    slow: values.get('slow') ?? [],
    rivals: [...new Set((values.get('rivals') ?? []).flatMap((text) => text.split(',')))],
    writeBands: values.has('write-bands'),
    guard: values.has('guard'),
    nightly: values.has('nightly'),
    base: last('base') ?? null,
    check: last('check') ?? null,
    url: last('url') ?? null,
    yesLoad: last('yes-load') ?? null,
    clean: last('clean') ?? null,
    profile: values.has('profile'),
  };
}

/** The text of --help. @param commands name and purpose of each */
export function helpText(commands: readonly (readonly [name: string, about: string])[]): string {
  const forms = Object.entries(optionForms).map(([name, form]): readonly [string, string] => [
    'value' in form ? `--${name} ${form.value}` : `--${name}`,
    form.about,
  ]);
  const width = Math.max(...[...commands, ...forms].map(([name]) => name.length)) + 2;
  const lines = (rows: readonly (readonly [string, string])[]): string[] =>
    rows.map(([name, about]) => `  ${name.padEnd(width)}${about}`);
  return [
    'Usage: npm run bench -- [SCENARIO… | COMMAND] [options]',
    'Without a scenario or command: a short run of every scenario, about ten minutes on two idle cores.',
    ...lines(commands),
    'Options:',
    ...lines(forms),
    'Exit codes: 0 all targets met, 1 a target or comparison failed, 2 wrong use or could not run, 3 no verdict.',
    '',
  ].join('\n');
}
