// Programs and builtins that run another command: what they run has a profile of its own.

import { flags, named } from './letters.ts';
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
  ...named('nohup setsid doas unbuffer chronic busybox builtin noglob nocorrect coproc exec ! -', runs()),
  ...named('proxychains proxychains4', runs('q')),
  ...named('time', runs('pv')),
  ...named('sudo', runs('nEHS', { word: '-u -g', flag: '--non-interactive' })),
  ...named('env', runs('i', { flag: '--ignore-environment', word: '-u --unset' })),
  ...named('nice', runs('#', { number: '-n --adjustment' })),
  ...named('ionice', runs('t', { number: '-c -n' })),
  ...named(
    'timeout',
    runs('v', { flag: '--foreground --preserve-status', number: '-k --kill-after', word: '-s --signal' }, [
      'number',
    ]),
  ),
  ...named('stdbuf', runs('', { word: '-o -e -i --output --error --input' })),
  ...named(
    'xargs',
    runs('0rtpx', {
      flag: '--null --no-run-if-empty --verbose',
      number: '-n -P -L -s --max-args --max-procs --max-lines',
      word: '-I -d --delimiter',
      path: '-a --arg-file',
    }),
  ),
  ...named('strace', runs('cCfFrtTvy', { path: '-o', word: '-e', number: '-s' })),
  ...named('watch', runs('bcdegtx', { number: '-n --interval' })),
  ...named('command', runs('pvV')),
  // The words of these are read once more.
  ...named('eval trap mapfile readarray compgen complete', { operands: [] }),
];
