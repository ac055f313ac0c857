// Programs and builtins that run another command: what they run has a profile of its own.

import { flags, underNames } from './letters.ts';
import type { CommandProfile } from './profile.ts';

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
