// Commands that programs other than shells are given in one word: the value of an option, of a variable or of a setting
// of git. Interpreters of other languages are not read: who lets them run lets everything run.

import { nameOf } from './network.ts';

/** Programs with options whose value is a command line: their letters, then their long names. */
const carriers: ReadonlyMap<string, readonly string[]> = new Map(
  [
    'env|S --split-string',
    'tar gtar bsdtar|IF --use-compress-program --to-command --rsh-command --info-script --new-volume-script',
    'zip| -TT --unzip-command',
    'rsync|e --rsh',
    'sort| --compress-program',
    'man|P --pager',
    'flock su runuser script|c --command',
    'npx npm|c --call',
    'split| --filter',
    'fish|cC --command --init-command',
    'nc ncat netcat|ce --exec --sh-exec',
    'fc|e',
  ].flatMap((line) => {
    const [names = '', options = ''] = line.split('|');
    return names.split(' ').map((name) => [name, options.split(' ')] as const);
  }),
);

/** Programs that hand each operand with a blank in it to a shell. */
const runners = /^(?:watch|parallel)$/;
const sshLike = /^(?:s(?:sh|cp|ftp)|sshfs)$/;
const sshCommand = /^(?:ProxyCommand|LocalCommand|KnownHostsCommand)[\s=]+(.*)$/is;
/** Variables that programs run. */
const variable =
  /^\w*(?:PAGER|EDIT(?:OR)?|VISUAL|BROWSER|_COMMAND\d*|ASKPASS|LESSOPEN|LESSCLOSE|_[RS]SH|GIT_EXTERNAL_DIFF|GIT_CONFIG_VALUE_\d+|HGMERGE|_WRAPPER|_RUNNER)=(.+)$/s;
/** Settings of git that it runs; one that begins with `!` is run whatever its name. */
const gitSetting =
  /(?:^(?:pager|difftool|mergetool)\..*|(?:command|cmd|pager|editor|program|helper|external|textconv|driver|clean|smudge|process|askpass|fsmonitor|hook|gitproxy|difffilter|uploadpack|receivepack|httpd|smtpserver))$/i;

/** The command lines that the words of one command hold besides its own. */
export function commandsWithin(words: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (const [i, word] of words.entries()) {
    const set = variable.exec(word)?.[1];
    // Words that tar takes as if it stood on its command line.
    if (word.startsWith('TAR_OPTIONS=')) found.push(`tar ${word.slice(12)}`);
    if (set !== undefined) found.push(set.replace(/^[|!]-?/, ''));
    const rest = words.slice(i + 1);
    const name = nameOf(word);
    const options = carriers.get(name);
    // Env takes some escapes for blanks.
    if (options) found.push(...valuesOf(rest, ...options).map((one) => one.replace(/\\[_fnrtv]/g, ' ')));
    found.push(/^(?:(?:EXEC|SYSTEM):|[|!](?=\w.*\s))([^,]+)/is.exec(word)?.[1] ?? '');
    if (name.endsWith('tar')) found.push(...tarCommands(rest));
    if (runners.test(name)) found.push(...rest.filter((one) => /\s/.test(one)));
    if (sshLike.test(name)) {
      for (const value of valuesOf(rest, 'o')) found.push(sshCommand.exec(value)?.[1] ?? '');
    }
    if (name === 'git') found.push(...gitCommands(rest), ...gitVariables(words.slice(0, i), rest));
  }
  return found.filter((line) => line.trim() !== '');
}

function tarCommands(words: readonly string[]): readonly string[] {
  const found = valuesOf(words, '', '--checkpoint-action').flatMap(checkpoint);
  // Letters without a dash take their values from the next words, in order: `tar cIf 'zstd -19' out src`.
  return /^[A-Za-z]*[IF]/.test(words[0] ?? '') ? [...found, ...words.slice(1)] : found;
}

const checkpoint = (action: string): string[] => (action.startsWith('exec=') ? [action.slice(5)] : []);

/** The text behind options, in their own word or in the next one. */
function valuesOf(words: readonly string[], shorts = '', ...longs: readonly string[]): readonly string[] {
  const values: string[] = [];
  for (const [i, word] of words.entries()) {
    const next = words[i + 1] ?? '';
    const equals = word.indexOf('=');
    // Most programs take the beginning of a long option for the whole.
    const isOne = (option: string): boolean =>
      longs.some(
        (long) => long === option || (option.length > 2 && long.startsWith(option) && long[1] === '-'),
      );
    if (isOne(word)) values.push(next);
    else if (equals > 0 && isOne(word.slice(0, equals))) values.push(word.slice(equals + 1));
    else if (/^-[A-Za-z]/.test(word)) {
      const letter = [...word].findIndex((char, at) => at > 0 && shorts.includes(char));
      if (letter > 0) values.push(letter === word.length - 1 ? next : word.slice(letter + 1));
    }
  }
  return values;
}

const gitLongs = ['--upload-pack', '--receive-pack', '--exec', '--extcmd', '--open-files-in-pager'];
/** Letters that mean a command in one subcommand alone. */
const gitShorts: { readonly [subcommand: string]: string } = {
  clone: 'u',
  rebase: 'x',
  difftool: 'x',
  grep: 'O',
};

function gitCommands(words: readonly string[]): readonly string[] {
  const found = [...valuesOf(words, '', ...gitLongs)];
  for (const [i, word] of words.entries()) {
    const next = words[i + 1] ?? '';
    if (word === '-c' || word === '--config') found.push(...setting(next.split('=')));
    else if (/^(?:[a-z.]+\.)?[a-z-]+\.[\w.-]+$/i.test(word) && words.includes('config'))
      found.push(...setting([word, next]));
    else if (/-filter$/.test(word)) found.push(next);
    else if (word.startsWith('ext::')) found.push(word.slice(5).replace(/%(.)/g, '$1'));
    else if (Object.hasOwn(gitShorts, word)) found.push(...valuesOf(words.slice(i + 1), gitShorts[word]));
  }
  const each = words.indexOf('foreach');
  if (each > 0 && words[each - 1] === 'submodule')
    found.push(
      words
        .slice(each + 1)
        .filter((word) => !/^--(?:recursive|quiet)$/.test(word))
        .join(' '),
    );
  return found;
}

/** Settings of git in variables: as such, or in one that `--config-env` names. */
function gitVariables(before: readonly string[], words: readonly string[]): readonly string[] {
  const named = words.some((word) => word.startsWith('--config-env'));
  return before.flatMap((word) => {
    const [, name = '', value = ''] = /^(\w+)=(.+)$/s.exec(word) ?? [];
    if (name === 'GIT_CONFIG_PARAMETERS')
      return value.split("' '").flatMap((one) => setting(one.replace(/^'+|'+$/g, '').split('=')));
    return named ? [value.replace(/^!/, '')] : [];
  });
}

function setting([key = '', ...rest]: readonly string[]): readonly string[] {
  const value = rest.join('=');
  if (value.startsWith('!')) return [value.slice(1)];
  return gitSetting.test(key) ? [value] : [];
}
