// Refuses options that the command would ignore, and load on another machine's hub without consent, before anything is
// measured.
import { rivalsOf } from '../rivals/index.ts';
import { scenarios } from '../scenarios/index.ts';
import type { ScenarioProgram } from '../scenarios/scenario.ts';
import { type Arguments, type OptionName, UsageFault } from './arguments.ts';
import { checkTarget, readAccess } from './remote.ts';

const otherCommands = ['counts', 'compare', 'docs', 'report', 'rivals', 'scale'] as const;
type Kind = (typeof otherCommands)[number] | '--guard' | '--clean' | 'scenarios';

function kindOf({ guard, clean, nightly, words: [command] }: Arguments): Kind {
  if (guard) return '--guard';
  if (clean !== null) return '--clean';
  if (nightly) return 'scenarios';
  return otherCommands.find((name) => name === command) ?? 'scenarios';
}

const measuring = ['rounds', 'seed', 'hub', 'slow', 'json', 'html'] as const;
/** Each scenario takes them, so that one command can run several. */
const sizes = ['seconds', 'rows', 'agents', 'frame', 'quiet'] as const;
const rareOptions = ['rivals', 'ids', 'loaders'] as const;

/** The options of a command, besides --help and --list; one that is not among them would be ignored. */
const optionsOfKinds: { readonly [kind in Kind]: readonly OptionName[] } = {
  scenarios: [
    ...measuring,
    ...sizes,
    ...rareOptions,
    ...(['profile', 'url', 'yes-load', 'full', 'nightly'] as const),
  ],
  scale: [...measuring, ...sizes, 'rivals', 'profile', 'check'],
  counts: [...measuring, 'write-bands'],
  '--guard': [...measuring, 'guard', 'base', 'false-alarms'],
  '--clean': ['clean', 'url', 'yes-load'],
  compare: ['seed'],
  report: ['html'],
  docs: [],
  rivals: [],
};

/** Files are not measured. */
const optionsWithFiles: readonly OptionName[] = ['agents', 'check'];

const takes = (name: (typeof rareOptions)[number], { rivals, ids, loaders }: ScenarioProgram): boolean =>
  ({ rivals: rivals !== undefined, ids: ids === true, loaders: loaders === true })[name];

/** @throws UsageFault that names the options of the command */
function refuseOption(name: OptionName, command: string, options: readonly OptionName[]): never {
  const names = options.map((option) => `--${option}`);
  const list = names.length === 0 ? 'It has no options' : `Its options: ${names.join(', ')}`;
  throw new UsageFault(`--${name} does not go with ${command}. ${list}.`);
}

function checkOptions(args: Arguments, kind: Kind): void {
  const { options, words, nightly } = args;
  const hasFiles = kind === 'scale' && words.length > 1;
  const kindOptions = hasFiles ? optionsWithFiles : optionsOfKinds[kind];
  const strange = options.find((name) => !kindOptions.includes(name));
  if (strange !== undefined) refuseOption(strange, hasFiles ? 'scale with files' : kind, kindOptions);
  if (kind !== 'scenarios') return;
  const programs = words.flatMap((word) => scenarios[word] ?? []);
  if (programs.length === 0) return;
  const names = words.join(' ');
  const isTaken = (name: OptionName): boolean => {
    const rare = rareOptions.find((one) => one === name);
    return rare === undefined || programs.some((program) => takes(rare, program));
  };
  const ignored = options.find((name) => !isTaken(name));
  if (ignored !== undefined) refuseOption(ignored, names, kindOptions.filter(isTaken));
  // A nightly command can name rivals for all of its scenarios.
  const useless = nightly
    ? undefined
    : rivalsOf(args.rivals).find(({ kind: rival }) => programs.every(({ rivals }) => rivals !== rival));
  if (useless === undefined) return;
  const places = Object.entries(scenarios).filter(([, { rivals }]) => rivals === useless.kind);
  throw new UsageFault(
    `${useless.name} is no rival of ${names}. It goes with ${listOf(places.map(([name]) => name))}.`,
  );
}

const listOf = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

function checkWords({ guard, clean, words: [command], falseAlarms, base, slow }: Arguments): void {
  if (guard && command !== undefined) throw new UsageFault(`--guard takes no command: ${command}.`);
  if (clean !== null && command !== undefined) throw new UsageFault(`--clean takes no scenario: ${command}.`);
  if (falseAlarms !== null && (base !== null || slow.length > 0)) {
    throw new UsageFault('--false-alarms compares a tree with itself: leave --base and --slow out.');
  }
}

/** A scenario by name fails where a run of all of them skips it. */
function checkScenarios({ words, url, slow, profile }: Arguments): void {
  for (const name of words) {
    const { ownHub, hasNoHub } = scenarios[name] ?? {};
    if (url !== null && ownHub !== undefined) {
      throw new UsageFault(`${name} does not measure a hub of others: ${ownHub}.`);
    }
    if (hasNoHub && (slow.length > 0 || profile)) {
      throw new UsageFault(`${name} starts no hub: leave --slow and --profile out.`);
    }
  }
}

/** @throws UsageFault, or CannotRun for a hub of others without credentials */
export function checkUsage(args: Arguments): void {
  const kind = kindOf(args);
  checkWords(args);
  checkOptions(args, kind);
  const { url, clean, full, nightly, hub, slow, profile, yesLoad } = args;
  if (full && nightly) throw new UsageFault('--nightly has sizes of its own: leave --full out.');
  if (url === null) {
    if (clean !== null) throw new UsageFault('--clean goes with --url.');
    if (yesLoad !== null) throw new UsageFault('--yes-load goes with --url.');
  } else {
    checkTarget(url, yesLoad);
    if (hub !== null) throw new UsageFault('--hub and --url choose two hubs: leave one out.');
    if (slow.length > 0 || profile) {
      throw new UsageFault('--slow and --profile need a hub that the suite starts: leave --url out.');
    }
  }
  if (kind === 'scenarios') checkScenarios(args);
  if (url !== null) readAccess(process.env);
}
