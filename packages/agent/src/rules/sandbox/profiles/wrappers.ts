// Programs and builtins that run another command: what they run has a profile of its own. Words in which programs find
// a command: behind names of programs, in variables, settings and addresses.

import { type CommandProfile, flags, underNames } from './profile.ts';

const runs = (
  letters = '',
  options: CommandProfile['options'] = {},
  before: CommandProfile['operands'] = [],
): CommandProfile => ({
  options: { ...options, flag: [flags(letters), options.flag ?? ''].join(' ') },
  operands: [...before, 'command'],
  stops: true,
});

export const wrappers = [
  ...underNames(
    'nohup setsid doas unbuffer chronic busybox builtin noglob nocorrect coproc exec ! -',
    runs(),
  ),
  ...underNames('proxychains proxychains4', runs('q')),
  ...underNames('time', runs('pv')),
  ...underNames('sudo', runs('nEHS', { word: '-u -g', flag: '--non-interactive' })),
  ...underNames('env', runs('i', { flag: '--ignore-environment', word: '-u --unset' })),
  ...underNames('nice', runs('#', { number: '-n --adjustment' })),
  ...underNames('ionice', runs('t', { number: '-c -n' })),
  ...underNames(
    'timeout',
    runs('v', { flag: '--foreground --preserve-status', number: '-k --kill-after', word: '-s --signal' }, [
      'number',
    ]),
  ),
  ...underNames('stdbuf', runs('', { word: '-o -e -i --output --error --input' })),
  ...underNames(
    'xargs',
    runs('0rtpx', {
      flag: '--null --no-run-if-empty --verbose',
      number: '-n -P -L -s --max-args --max-procs --max-lines',
      word: '-I -d --delimiter',
      path: '-a --arg-file',
    }),
  ),
  ...underNames('strace', runs('cCfFrtTvy', { path: '-o', word: '-e', number: '-s' })),
  ...underNames('watch', runs('bcdegtx', { number: '-n --interval' })),
  ...underNames('command', runs('pvV')),
  // The words of these are read once more.
  ...underNames('eval trap mapfile readarray compgen complete', { operands: [] }),
];

/** Programs, by their plain names, that run the text in one of their words. */
export const carriers =
  /^(?:env|\w*tar|zip|rsync|sort|man|flock|su|runuser|script|np[mx]|split|fish|nc|ncat|netcat|fc|watch|parallel|git|s(?:sh|cp|ftp|shfs)|(?:r?ba|z|d?a|m?k|ya|t?c)?sh)$/;

const { raw } = String;
/** A text up to its first character with a meaning to some shell. */
const toMark = raw`[^\0]*[\s$\x60;&|<>(){}\\"'*?[\]~!#]`;
/** Variables that programs run, and settings of git that it runs. */
const commandVariable = raw`PAGER|EDIT(?:OR)?|VISUAL|BROWSER|_COMMAND\d*|ASKPASS|LESSOPEN|LESSCLOSE|_[RS]SH|GIT_EXTERNAL_DIFF|(?==)(?<=GIT_CONFIG_\w*)|HGMERGE|_WRAPPER|_RUNNER|TAR_OPTIONS|command|cmd|program|helper|external|textconv|driver|clean|smudge|process|fsmonitor|hook|gitproxy|difffilter|uploadpack|receivepack|httpd|smtpserver`;

/** Programs by their plain names, and words in which they find a command; the next word follows behind a NUL. */
export const hiding: readonly (readonly [programs: RegExp, word: RegExp])[] = [
  // An option may begin behind the value of another one, unless that is plain.
  [carriers, /^-[A-Za-z][^\0]*[^\w.,:+%@\0-]/],
  [/sh$/, /^\+/],
  // Letters without a dash that make tar run the next word.
  [/tar$/, /^(?:[^\0]*\/)?[\w-]*tar(?:\.[eE][xX][eE])?\0[A-Za-z]*[IF]/],
  // A subscript that builtins expand: `a[$(…)]`. Texts may hold one.
  [/^(?!(?:[ef]?grep|rg|sed|[gm]?awk|echo|tr|git)$)/, /^[^\0]*\[[^\][\0]*(?:\$[({[]|`)/],
  // Programs that read the files that their expression names.
  [
    /^(?:go)?jq$|^[jy]a?q$/,
    /^[^\0]*(?:(?<![^\s;])(?:import|include)\s*["#]|(?<![\w.$])(?:load\w*|strload)\s*\()/,
  ],
  // Watch hands its words to a shell, and env splits them.
  [/^(?:watch|env)$/, new RegExp(`^${toMark}`)],
  [/^np[mx]$/, new RegExp(raw`^(?:-(?=[A-Za-z])[^\0]*c\0|--c(?:a(?:ll?)?)?[\0=])${toMark}`)],
  [
    /^/,
    new RegExp(raw`^(?:[\w.-]*(?:${commandVariable})|(?:pager|difftool|mergetool)\.[^=\0]*)=${toMark}`, 'i'),
  ],
  // Variables and subscripts that shells expand by themselves; addresses, remotes and settings that are commands.
  [
    /^/,
    /^(?:(?:ENV|BASH_ENV|R?PS\d|R?PROMPT\d?|MAILPATH)\+?=[^\0]*(?:\$[({[\w]|`)|BASH_FUNC_|\w+\+?=[^\0]*\[[^\][\0]*(?:\$[({[]|`)|(?:EXEC|SYSTEM):|[|!](?:[/.~]|[^\0]*[^\w.*/\0-])|[\w.-]+=!|ext::|--config-env|(?:Proxy|Local|KnownHosts)Command[\s=])/i,
  ],
];
