// Git: its subcommands, without the options and settings that name a command.

import { type CommandProfile, flags } from './profile.ts';

type Options = CommandProfile['options'];
const sub = (
  letters: string,
  longs: string,
  operands: CommandProfile['operands'] = ['word'],
  options: Options = {},
): CommandProfile => ({ options: { ...options, flag: flags(letters, longs) }, operands: operands ?? [] });

const show = `stat shortstat numstat name-only name-status cached staged color no-color color-words word-diff patch no-patch
  oneline all graph decorate no-decorate merges no-merges first-parent follow reverse abbrev-commit abbrev full-index
  ignore-all-space ignore-space-change ignore-blank-lines ignore-space-at-eol minimal patience histogram exit-code quiet
  check summary raw no-renames find-renames find-copies pickaxe-all pickaxe-regex text no-index no-ext-diff cc compact-summary
  dirstat pretty format branches tags remotes relative-date merge-base ignore-submodules submodule cherry left-right no-walk left-only right-only cherry-pick
  simplify-by-decoration topo-order date-order not invert-grep show-signature no-textconv no-prefix binary log-size
  perl-regexp extended-regexp fixed-strings regexp-ignore-case`;
const showValues: Options = {
  number: '-n -U --unified --max-count --skip',
  word: '-S -G -L --date --since --until --after --before --author --committer --grep --diff-filter',
};
const showOptions: Options = { ...showValues, path: '--output' };
const message: Options = { text: '-m -am -sm -nm -qm -asm --message' };
const network = `all tags prune quiet verbose dry-run force no-tags progress no-progress atomic`;
const networkValues: Options = { number: '-j --jobs --depth', word: '--shallow-since' };

const subcommands: { readonly [name: string]: CommandProfile } = {
  status: sub(
    'sbuvz',
    'short branch long porcelain ignored untracked-files verbose show-stash ahead-behind no-ahead-behind',
  ),
  diff: sub('#pabBmMRCsuwWzq', show, ['word'], showOptions),
  log: sub('#pabBmMcCEFgiPRsuwzq', show, ['word'], showOptions),
  show: sub('#pabBmMCRsuwzq', show, ['word'], showOptions),
  shortlog: sub('nsec', `${show} summary numbered email`, ['word'], showValues),
  reflog: sub('#p', show, ['word'], showValues),
  add: sub(
    'AfNnpuv',
    'all force intent-to-add dry-run patch update verbose no-all renormalize ignore-errors',
    ['path'],
    { word: '--chmod' },
  ),
  commit: sub(
    'aqsvn',
    `all amend no-edit no-verify quiet signoff verbose allow-empty allow-empty-message dry-run only include
     no-gpg-sign reset-author`,
    ['path'],
    {
      ...message,
      path: '-F --file',
      word: '-C -c --reuse-message --fixup --squash --date --author --cleanup --trailer',
    },
  ),
  checkout: sub('fqtldp', 'force quiet track no-track detach ours theirs patch guess merge', ['ref'], {
    word: '-b -B --orphan',
  }),
  switch: sub('fqtd', 'force quiet track no-track detach guess discard-changes', ['word'], {
    word: '-c -C --create --force-create --orphan',
  }),
  restore: sub('qSWp', 'staged worktree quiet ours theirs patch', ['word'], { word: '-s --source' }),
  branch: sub(
    'aDdfilmMqrtvcC',
    `all delete force list move copy quiet remotes verbose show-current track no-track
     unset-upstream color no-color`,
    ['word'],
    { word: '-u --set-upstream-to --contains --merged --no-merged --sort --format' },
  ),
  stash: {
    options: { ...message, flag: flags('kuaqpS', 'keep-index include-untracked all quiet patch staged') },
    operands: ['word'],
    subcommands: {
      push: sub('kuaqpS', 'keep-index include-untracked all quiet patch staged', ['path'], message),
      list: sub('#p', show, ['word'], showValues),
      show: sub('pu', show, ['word'], showValues),
      pop: sub('q', 'index quiet'),
      apply: sub('q', 'index quiet'),
      drop: sub('q', 'quiet'),
      branch: sub('', ''),
      clear: sub('', '', []),
    },
  },
  tag: sub('adfilns', 'annotate delete force list sign verify', ['word'], {
    ...message,
    path: '-F --file',
    number: '-n',
    word: '--sort --format --contains --merged --points-at --cleanup',
  }),
  merge: sub(
    'nqv',
    'no-ff ff-only ff squash no-commit commit no-edit abort continue quit quiet stat no-stat no-verify',
    ['word'],
    {
      ...message,
      word: '-X -s --strategy-option --strategy',
    },
  ),
  notes: {
    operands: [],
    subcommands: { add: sub('f', 'force', ['word'], message), list: sub('', ''), show: sub('', '') },
  },
  rebase: sub(
    'fikqvmr',
    'abort continue skip quit interactive autosquash no-autosquash autostash no-autostash root keep-empty quiet verbose rebase-merges edit-todo show-current-patch',
    ['word'],
    { word: '-X --onto' },
  ),
  reset: sub('qpN', 'hard soft mixed keep merge quiet patch'),
  revert: sub('ns', 'no-commit no-edit abort continue skip quit signoff', ['word'], { number: '-m' }),
  'cherry-pick': sub('nsx', 'no-commit abort continue skip quit signoff allow-empty', ['word'], {
    number: '-m',
  }),
  bisect: {
    operands: [],
    subcommands: {
      start: sub('', 'first-parent'),
      good: sub('', ''),
      bad: sub('', ''),
      reset: sub('', ''),
      skip: sub('', ''),
      log: sub('', '', []),
      new: sub('', ''),
      old: sub('', ''),
    },
  },
  blame: sub('#bcCefklMnpstw', 'line-porcelain porcelain show-email show-name show-number', ['word'], {
    word: '-L --since',
  }),
  'rev-parse': sub(
    'q',
    'short verify abbrev-ref show-toplevel git-dir is-inside-work-tree symbolic-full-name symbolic all branches tags remotes show-prefix show-cdup git-common-dir absolute-git-dir quiet is-bare-repository',
  ),
  'rev-list': sub('#', `${show} count objects`, ['word'], showValues),
  'ls-files': sub(
    'cdikmotuvz',
    'cached deleted modified others ignored stage unmerged exclude-standard error-unmatch full-name directory',
    ['path'],
    { word: '-x --exclude' },
  ),
  'ls-tree': sub('dlrtz', 'name-only name-status long full-name full-tree'),
  'cat-file': sub('epst', 'batch-check'),
  'for-each-ref': sub('', '', ['word'], {
    number: '--count',
    word: '--format --sort --contains --merged --no-merged --points-at',
  }),
  'merge-base': sub('a', 'all is-ancestor fork-point octopus independent'),
  describe: sub('', 'tags all always long dirty abbrev exact-match contains first-parent', ['word'], {
    number: '--candidates',
    word: '--match --exclude',
  }),
  grep: sub(
    'acEFGhHiIlLnopPqrvwWz',
    'count line-number ignore-case cached untracked no-index name-only files-with-matches word-regexp extended-regexp fixed-strings perl-regexp function-context show-function color heading break and or not all-match',
    ['word'],
    {
      number: '-A -B -C -m',
      word: '-e',
      path: '-f',
    },
  ),
  'hash-object': sub('w', 'stdin', ['path'], { word: '-t' }),
  clean: sub('dfinqxX', 'force dry-run quiet', ['path'], { word: '-e --exclude' }),
  rm: sub('fnqr', 'cached force dry-run quiet ignore-unmatch', ['path']),
  mv: sub('fknv', 'force dry-run verbose', ['path']),
  init: sub('q', 'bare quiet', ['path'], { word: '-b --initial-branch' }),
  apply: sub('R3v', 'check stat numstat summary reverse index cached 3way verbose reject', ['path'], {
    number: '-p',
  }),
  am: sub('3iks', 'abort continue skip quit signoff 3way', ['path']),
  'format-patch': sub('#kns', 'stdout numbered cover-letter signoff', ['word'], {
    path: '-o --output-directory',
  }),
  worktree: {
    operands: [],
    subcommands: {
      list: sub('vz', 'porcelain verbose', []),
      add: sub('fdq', 'force detach checkout no-checkout quiet', ['path', 'word'], { word: '-b -B' }),
      remove: sub('f', 'force', ['path']),
      prune: sub('nv', 'dry-run verbose', []),
      lock: sub('', '', ['path'], { word: '--reason' }),
      unlock: sub('', '', ['path']),
      move: sub('f', 'force', ['path']),
    },
  },
  submodule: {
    options: { flag: flags('q', 'quiet') },
    operands: [],
    subcommands: {
      status: sub('', 'cached recursive', ['remote']),
      update: sub('fN', 'init recursive remote force merge rebase no-fetch', ['remote'], {
        number: '--depth',
      }),
      init: sub('', '', ['remote']),
      sync: sub('', 'recursive', ['remote']),
      deinit: sub('f', 'force all', ['remote']),
      summary: sub('', '', ['remote']),
    },
  },
  config: {
    options: {
      flag: flags('lz', 'list global local system show-origin show-scope name-only worktree bool int'),
      word: '--get --get-all --get-regexp --unset --unset-all',
      path: '-f --file',
    },
    operands: [],
    subcommands: Object.fromEntries(
      [
        'user.name',
        'user.email',
        'init.defaultBranch',
        'pull.rebase',
        'push.default',
        'color.ui',
        'core.autocrlf',
        'core.filemode',
        'core.ignorecase',
        'core.quotepath',
        'commit.gpgsign',
        'fetch.prune',
        'rebase.autoStash',
        'advice.detachedHead',
        'push.autoSetupRemote',
        'remote.origin.url',
      ].map((key) => [key, sub('', '', key === 'remote.origin.url' ? ['remote'] : ['word'])]),
    ),
  },
  fetch: sub('aftnpqv', `${network} unshallow prune-tags set-upstream`, ['remote', 'ref'], networkValues),
  pull: sub(
    'fnqrv',
    `${network} rebase no-rebase ff-only no-ff ff autostash no-autostash squash no-commit no-edit allow-unrelated-histories`,
    ['remote', 'ref'],
    networkValues,
  ),
  push: sub(
    'dfnquv',
    `${network} set-upstream delete force-with-lease no-verify follow-tags mirror porcelain force-if-includes`,
    ['remote', 'ref'],
  ),
  clone: sub(
    'lnqvs',
    `${network} bare mirror single-branch no-single-branch recursive recurse-submodules no-checkout shallow-submodules sparse`,
    ['remote'],
    { ...networkValues, remote: '-b --branch -o --origin', word: '--shallow-since --filter' },
  ),
  'ls-remote': sub('htq', 'heads tags refs quiet exit-code symref get-url branches', ['remote']),
  remote: {
    options: { flag: '-v --verbose' },
    operands: [],
    subcommands: {
      show: sub('n', '', ['remote']),
      add: sub('f', 'fetch tags no-tags', ['remote'], { word: '-t' }),
      remove: sub('', '', ['remote']),
      rm: sub('', '', ['remote']),
      rename: sub('', '', ['remote']),
      'get-url': sub('', 'all push', ['remote']),
      'set-url': sub('', 'add delete push', ['remote']),
      update: sub('p', 'prune', ['remote']),
      prune: sub('n', 'dry-run', ['remote']),
    },
  },
  version: sub('', '', []),
  help: sub('', ''),
  gc: sub('q', 'prune auto aggressive quiet', []),
  prune: sub('nv', 'dry-run verbose', []),
  fsck: sub('', 'full', []),
  'show-ref': sub('dhqs', 'heads tags verify hash quiet'),
  'symbolic-ref': sub('q', 'short quiet'),
  'check-ignore': sub('nvq', 'verbose quiet no-index', ['path']),
  'diff-tree': sub('prsz', show, ['word'], showValues),
  'name-rev': sub('', 'name-only tags always'),
  var: sub('', ''),
  'write-tree': sub('', '', []),
};

/** Settings for one call that are neither a command nor an address. */
const settings = `user.name= user.email= color. core.pager=cat core.quotepath= core.autocrlf= core.fsmonitor=false
  core.preloadindex= core.filemode= commit.gpgsign= tag.gpgsign= init.defaultBranch= advice. diff.noprefix= diff.mnemonicPrefix=
  log. gc.auto= fetch.prune= pull.rebase= push.default= rebase.autoStash= merge.conflictStyle= protocol.version=`;

export const git: CommandProfile = {
  options: {
    flag: '-P -p --no-pager --paginate --version --help --bare --no-optional-locks --literal-pathspecs --no-replace-objects',
    path: '-C',
    word: '-c',
  },
  values: { '-c': settings },
  operands: [],
  stops: true,
  subcommands,
};
