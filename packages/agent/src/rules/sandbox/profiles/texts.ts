// Programs that search, cut and write text. Patterns, scripts and messages are never a file.

import { type CommandProfile, flags, simple, underNames } from './profile.ts';

const grep: CommandProfile = {
  options: {
    flag: flags(
      '0123456789acEFGhHiIlLnoPqrRsTUvwxyzZ',
      `color colour count extended-regexp fixed-strings ignore-case line-number recursive
       invert-match files-with-matches files-without-match word-regexp line-regexp only-matching no-filename with-filename
       quiet silent text perl-regexp null`,
    ),
    number: '-A -B -C -m --max-count --context --after-context --before-context',
    word: '--include --exclude --exclude-dir',
    path: '-f --file --exclude-from',
    text: '-e --regexp',
  },
  operands: ['text', 'path'],
  instead: '-e --regexp -f --file',
  attached: '-e',
};

export const texts = [
  ...underNames('grep egrep fgrep', grep),
  ...underNames('rg', {
    options: {
      flag: flags(
        'aciFhHIlLnNopPqsSUuvwxz0',
        `hidden no-ignore ignore-case smart-case line-number no-heading count fixed-strings json`,
      ),
      word: '-g -t -T --glob --type --type-not',
      number: '-A -B -C -m',
      path: '-f --file',
      text: '-e --regexp',
    },
    operands: ['text', 'path'],
    instead: '-e --regexp -f --file',
    attached: '-e',
  }),
  ...underNames('sed', {
    options: {
      flag: flags('nrEsuzi', 'quiet silent regexp-extended in-place'),
      path: '-f --file',
      text: '-e --expression',
    },
    operands: ['text', 'path'],
    instead: '-e --expression -f --file',
    attached: '-e',
  }),
  ...underNames('awk gawk mawk', {
    options: { word: '-v', path: '-f', text: '-F' },
    operands: ['text', 'path'],
    stops: true,
    instead: '-f',
    attached: '-F',
  }),
  ...underNames('echo', { operands: ['text'] }),
  ...underNames('printf', { options: {}, operands: ['word'], stops: true }),
  ...underNames('tr', { operands: ['text'] }),
  ...underNames('jq yq', {
    options: {
      flag: flags(
        'aCcejMnRrsSy',
        'arg raw-output raw-input slurp compact-output exit-status null-input sort-keys tab',
      ),
      path: '-f --from-file',
      number: '--indent -I',
    },
    operands: ['word', 'path'],
  }),
  ...underNames(
    'sort',
    simple(
      'bcCdfghiMmnRrsuVz',
      `reverse unique numeric-sort human-numeric-sort version-sort ignore-case stable general-numeric-sort
       month-sort check merge zero-terminated ignore-leading-blanks`,
      ['path'],
      {
        path: '-o -T --output --temporary-directory',
        word: '-k -t --key --field-separator -S',
        number: '--parallel',
      },
    ),
  ),
  ...underNames(
    'uniq',
    simple('cdDiuz', 'count repeated all-repeated unique ignore-case zero-terminated', ['path'], {
      number: '-f -s -w -N --skip-fields --skip-chars --check-chars',
    }),
  ),
  ...underNames(
    'shuf',
    simple('erz', 'echo repeat zero-terminated', ['path'], {
      path: '-o --output',
      number: '-n --head-count',
      word: '-i --input-range',
    }),
  ),
  ...underNames(
    'cut paste join',
    simple('nszi', 'complement only-delimited zero-terminated', ['path'], {
      word: '-d -t -o -f -c -b --delimiter --output-delimiter --fields --characters --bytes',
      number: '-1 -2 -j -a -v',
    }),
  ),
  ...underNames('base64 base32', simple('di', 'decode ignore-garbage', ['path'], { number: '-w --wrap' })),
  ...underNames('date', {
    options: { flag: flags('uRI', 'utc iso-8601'), word: '-d --date --rfc-3339' },
    operands: ['word'],
  }),
  ...underNames('seq sleep expr factor', { options: { flag: '-w', word: '-s -f' }, operands: ['word'] }),
  ...underNames('test [', {
    options: {
      flag: flags('abcdefghknoprstuwxzGLNOS', '-eq -ne -lt -le -gt -ge -nt -ot -ef'),
    },
    operands: ['path'],
  }),
  ...underNames('less more', simple('#eEfFgiImMnNqrRsSX', 'no-init')),
  ...underNames('which whereis type hash', simple('abmsftpP', 'all', ['word'])),
  ...underNames('ps', { operands: ['word'] }),
  ...underNames('kill pkill pgrep', { operands: ['word'] }),
  ...underNames('pr fmt', simple('tucs', '', ['path'], { number: '-w -l' })),
];
