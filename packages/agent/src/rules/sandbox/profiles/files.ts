// Programs that work on files and folders.
import { flags, simple, underNames } from './profile.ts';

export const files = [
  ...underNames(
    'cat',
    simple('AbeEnstTuv', 'number number-nonblank show-all show-ends show-tabs squeeze-blank'),
  ),
  ...underNames('tac', simple('br', 'before regex', ['path'], { word: '-s --separator' })),
  ...underNames('nl', simple('p', '', ['path'], { number: '-i -l -v -w', word: '-b -d -f -h -n -s' })),
  ...underNames('od', simple('abcdfilosvx', '', ['path'], { number: '-j -N -w -S', word: '-A -t' })),
  ...underNames('hexdump', simple('bcCdovx', '', ['path'], { number: '-n -s', word: '-e', path: '-f' })),
  ...underNames('xxd', simple('abeEipru', '', ['path'], { number: '-c -g -l -o -s' })),
  ...underNames('strings', simple('adfow', 'all', ['path'], { number: '-n', word: '-e -t' })),
  ...underNames('fold', simple('bs', 'bytes spaces', ['path'], { number: '-w --width' })),
  ...underNames('expand unexpand', simple('aif', 'initial all first-only', ['path'], { word: '-t --tabs' })),
  ...underNames('column', simple('etx', '', ['path'], { number: '-c -l', word: '-H -N -n -O -o -s' })),
  ...underNames('rev', simple('')),
  ...underNames(
    'ls dir',
    simple(
      'aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1',
      `all almost-all author directory classify color colour full-time group-directories-first no-group human-readable
       inode numeric-uid-gid recursive reverse size si`,
      ['path'],
      {
        number: '-w --width',
        word: '-I --ignore --hide --sort --time --time-style --format --indicator-style',
      },
    ),
  ),
  ...underNames(
    'tree',
    simple('adfipsughDFrtcQNCn', 'dirsfirst noreport du prune gitignore', ['path'], {
      number: '-L',
      word: '-I -P',
      path: '-o',
    }),
  ),
  ...underNames(
    'head tail',
    simple('#fFqrvz', 'quiet silent verbose follow retry', ['path'], {
      number: '-n -c -s --lines --bytes --sleep-interval --pid',
    }),
  ),
  ...underNames(
    'wc',
    simple('clLmw', 'lines words bytes chars max-line-length', ['path'], { word: '--total' }),
  ),
  ...underNames(
    'find',
    simple(
      'aoLHP',
      `-print -print0 -delete -prune -or -and -not -empty -depth -mount -xdev -true -false -quit -daystart -follow -ls
       -nouser -nogroup -readable -writable -executable`,
      ['path'],
      {
        number: '-maxdepth -mindepth -mmin -mtime -amin -atime -cmin -ctime -links -inum -size',
        word: '-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -type -user -group -perm',
        path: '-newer -anewer -cnewer -samefile',
      },
    ),
  ),
  ...underNames('pwd', simple('LP', '', [])),
  ...underNames('cd pushd', simple('LPe@n')),
  ...underNames('popd true false hostname whoami id uname tty nproc arch logname groups users uptime', {
    options: { flag: flags('aAbcdfghilmnopqrsuUvz', 'all') },
    operands: [],
  }),
  ...underNames('mkdir', simple('pv', 'parents verbose', ['path'], { word: '-m --mode' })),
  ...underNames('rmdir', simple('pv', 'parents verbose ignore-fail-on-non-empty')),
  ...underNames(
    'touch',
    simple('acmh', 'no-create', ['path'], { path: '-r --reference', word: '-d --date -t' }),
  ),
  ...underNames(
    'cp mv install',
    simple(
      'abBCcDdfHiLlnPpRrsuTvxZ',
      `archive force interactive link no-clobber no-dereference preserve recursive symbolic-link update verbose
       no-target-directory dereference parents strip-trailing-slashes backup`,
      ['path'],
      { path: '-t --target-directory', word: '-m --mode -S --suffix -o --owner -g --group' },
    ),
  ),
  ...underNames(
    'rm unlink',
    simple('dfiIrRv', 'force recursive dir verbose interactive preserve-root one-file-system'),
  ),
  ...underNames(
    'ln',
    simple('bfinrsvLPT', 'force symbolic relative verbose', ['path'], { path: '-t --target-directory' }),
  ),
  ...underNames(
    'chmod',
    simple('RcfvwxX', 'recursive verbose changes quiet', ['word', 'path'], { path: '--reference' }),
  ),
  ...underNames('chown chgrp', simple('RcfhvHLP', 'recursive verbose', ['word', 'path'])),
  ...underNames(
    'cmp',
    simple('bls', 'print-bytes verbose quiet silent', ['path'], {
      number: '-i -n --ignore-initial --bytes',
    }),
  ),
  ...underNames(
    'diff comm colordiff',
    simple(
      '#abBcdeEiNnpqrstTuwyZlv123',
      `unified context brief recursive ignore-case ignore-all-space ignore-space-change ignore-blank-lines side-by-side
       new-file text minimal color strip-trailing-cr`,
      ['path'],
      { number: '-U -C -W --width', word: '-x --exclude -I --label -L', path: '-X --exclude-from' },
    ),
  ),
  ...underNames(
    'stat',
    simple('fLt', 'dereference file-system terse', ['path'], { word: '-c --format --printf' }),
  ),
  ...underNames('file', simple('bhiLkNpsz', 'brief mime mime-type mime-encoding dereference')),
  ...underNames(
    'du',
    simple('abcDhHklLmPsSx0', 'all human-readable summarize total apparent-size si bytes', ['path'], {
      number: '-d --max-depth',
      word: '--exclude -t --threshold',
    }),
  ),
  ...underNames(
    'df',
    simple('ahHiklPT', 'all human-readable total si local print-type', ['path'], {
      word: '-t -x --type --exclude-type',
    }),
  ),
  ...underNames('basename dirname', simple('az', 'multiple zero', ['path', 'word'], { word: '-s --suffix' })),
  ...underNames('realpath readlink', simple('eEfmnqsvzLP', 'canonicalize no-newline quiet zero')),
  ...underNames(
    'md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum shasum sum',
    simple('bctwz', 'check tag text binary quiet status strict warn', ['path'], { number: '-a --algorithm' }),
  ),
  ...underNames(
    'gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat zstd unzstd zstdcat',
    simple(
      '#cdfhklLnNqrtvz',
      'stdout decompress keep force list recursive test verbose best fast quiet',
      ['path'],
      { number: '-T --threads' },
    ),
  ),
  ...underNames('tar', {
    // The first operand may be a cluster of letters without a dash; those that take no program stand here.
    options: {
      flag: flags(
        'acdjJkmnOpPrtuUvwxzZ',
        `create extract get list append update diff verbose gzip bzip2 xz zstd auto-compress keep-old-files no-same-owner
         preserve-permissions same-permissions totals no-recursion overwrite wildcards`,
      ),
      archive: '-f --file',
      path: '-C -T -X --directory --files-from --exclude-from --add-file',
      word: '--exclude --transform --xform -s --sort --owner --group --mtime',
      number: '--strip-components --strip -b',
    },
    operands: ['archive'],
  }),
  ...underNames('zip', simple('#0ADFfjJlmqrSuvXyz', 'recurse-paths quiet', ['path'], { word: '-x -i -n' })),
  ...underNames(
    'unzip zipinfo',
    simple('aCfjlLnopqtTuvXZ12', '', ['path', 'word'], { path: '-d', word: '-x' }),
  ),
  ...underNames('dd', { operands: ['word'] }),
  ...underNames(
    'truncate',
    simple('co', 'no-create', ['path'], { number: '-s --size', path: '-r --reference' }),
  ),
  ...underNames('tee', simple('ai', 'append ignore-interrupts')),
  ...underNames(
    'split csplit',
    simple('dex', 'numeric-suffixes', ['path', 'word'], {
      number: '-l -b -n -C -a --lines --bytes --number --suffix-length',
    }),
  ),
];
