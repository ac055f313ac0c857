// Refuses options that the command would ignore, and load on another machine's hub without consent, before anything is
// measured.
import { scenarios } from '../scenarios/index.ts';
import { type Arguments, UsageFault } from './arguments.ts';
import { checkTarget, readAccess } from './remote.ts';

const otherCommands = ['counts', 'compare', 'docs', 'report', 'rivals', 'scale'] as const;
type Kind = (typeof otherCommands)[number] | '--guard' | '--clean' | 'scenarios';

function kindOf({ guard, clean, nightly, words: [command] }: Arguments): Kind {
  if (guard) return '--guard';
  if (clean !== null) return '--clean';
  if (nightly) return 'scenarios';
  return otherCommands.find((name) => name === command) ?? 'scenarios';
}

interface Option {
  readonly name: string;
  readonly isSet: boolean;
  readonly goesWith: readonly Kind[];
}

const optionsOf = (args: Arguments): readonly Option[] => [
  { name: '--url', isSet: args.url !== null, goesWith: ['scenarios', '--clean'] },
  { name: '--check', isSet: args.check !== null, goesWith: ['scale'] },
  { name: '--base', isSet: args.base !== null, goesWith: ['--guard'] },
  { name: '--false-alarms', isSet: args.falseAlarms !== null, goesWith: ['--guard'] },
  { name: '--write-bands', isSet: args.writeBands, goesWith: ['counts'] },
  { name: '--full', isSet: args.full, goesWith: ['scenarios'] },
  { name: '--profile', isSet: args.profile, goesWith: ['scenarios', 'scale'] },
  { name: '--slow', isSet: args.slow.length > 0, goesWith: ['scenarios', 'counts', '--guard', 'scale'] },
  { name: '--json', isSet: args.json !== null, goesWith: ['scenarios', 'counts', '--guard', 'scale'] },
  {
    name: '--html',
    isSet: args.html !== null,
    goesWith: ['scenarios', 'counts', '--guard', 'scale', 'report'],
  },
];

const listOf = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

function checkWords({ guard, clean, words, falseAlarms, base, slow, json, html }: Arguments): void {
  const [command, file] = words;
  if (guard && command !== undefined) throw new UsageFault(`--guard takes no command: ${command}.`);
  if (clean !== null && command !== undefined) throw new UsageFault(`--clean takes no scenario: ${command}.`);
  if (falseAlarms !== null && (base !== null || slow.length > 0)) {
    throw new UsageFault('--false-alarms compares a tree with itself: leave --base and --slow out.');
  }
  if (command === 'scale' && file !== undefined && (json !== null || html !== null)) {
    throw new UsageFault('scale with files measures nothing: leave --json and --html out.');
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
  for (const { name, isSet, goesWith } of optionsOf(args)) {
    if (isSet && !goesWith.includes(kind)) throw new UsageFault(`${name} goes with ${listOf(goesWith)}.`);
  }
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
