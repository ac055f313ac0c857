// `reeve config`: which settings are in force and where they come from, whether they fit, and a file to begin with.
import { ConfigError, readConfig, type SettingInForce, settings, showSettings } from '../config.ts';
import { readArguments } from './arguments.ts';
import { answer, type CommandResult, UsageError } from './output.ts';

const help = `reeve config show | check | template [--config FILE] [--json]

  show       print each setting with its value and source: environment, file, secret file or default; a secret is ***
  check      check all settings as a start does; exit code 1 if one does not fit
  template   print a settings file with every setting, its default and a line of help

  --config FILE   read settings from this YAML file too; the environment wins [REEVE_CONFIG]
  --json          print the result or the error as JSON
  --help          print this text
`;

const sourceWords = (source: SettingInForce['source']): string => source.replaceAll('_', ' ');

function show(): CommandResult {
  const inForce = showSettings();
  const width = Math.max(...inForce.map(({ name }) => name.length));
  return {
    result: { settings: inForce },
    words: inForce.map(
      ({ name, value, source }) => `${name.padEnd(width)}  ${value || '-'}  (${sourceWords(source)})`,
    ),
  };
}

function check(): CommandResult {
  try {
    const { warnings } = readConfig();
    return { result: { ok: true, problems: [], warnings }, words: [...warnings, 'All settings fit.'] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.exitCode = 1;
    return { result: { ok: false, problems: error.problems, warnings: [] }, words: error.problems };
  }
}

/** A commented line per setting: the file as it is printed changes nothing. */
function template(): CommandResult {
  const lines = settings
    .filter(({ name }) => name !== 'REEVE_CONFIG')
    .flatMap(({ name, fallback, help: line }) => ['', `# ${line}`, `# ${name}: ${JSON.stringify(fallback)}`]);
  const text = ['# Settings of Reeve. Remove the # in front of a setting to change it.', ...lines];
  return { result: { template: text.join('\n') }, words: text };
}

const actions: { readonly [action: string]: () => CommandResult } = { show, check, template };

export async function config(args: readonly string[]): Promise<void> {
  const { file: action, has } = readArguments('config', args, []);
  await answer({ help: has('help') || args.length === 0 ? help : null, json: has('json') }, async () => {
    const run = action !== null && Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (!run) throw new UsageError('Name one of show, check and template. See reeve config --help.');
    return run();
  });
}
