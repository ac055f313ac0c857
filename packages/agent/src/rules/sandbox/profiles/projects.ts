// Programs that build, test and install, and interpreters. The code that these run is the project's own.
import { type CommandProfile, flags, namesIn, simple, underNames, type WordKind } from './profile.ts';

const any: readonly WordKind[] = ['word'];
type Options = NonNullable<CommandProfile['options']>;
/** The same profile for each of several subcommands. */
const each = (subcommands: string, profile: CommandProfile): { readonly [name: string]: CommandProfile } =>
  Object.fromEntries(underNames(subcommands, profile));

const npmOptions: Options = {
  flag: flags(
    'DEgPSOsyqwlabhv',
    `save save-dev save-exact save-optional save-peer no-save global silent workspaces if-present no-audit no-fund force
     legacy-peer-deps production prefer-offline offline ignore-scripts json yes dry-run long all frozen-lockfile
     immutable recursive no-frozen-lockfile no-git-tag-version version help parallel fix`,
  ),
  path: '--prefix -C --cwd --dir',
  host: '--registry',
  word: '-m --message --depth --omit --include --tag --access --workspace --loglevel --filter --audit-level',
};
const npm: CommandProfile = {
  options: npmOptions,
  operands: [],
  subcommands: {
    ...each('run run-script', { options: npmOptions, operands: any }),
    ...each(
      `test t start stop restart install i add ci clean-install uninstall remove rm un update up upgrade outdated ls list ll
       view info show version audit prune dedupe pack root prefix bin why explain fund doctor ping whoami help init link
       unlink rebuild search cache owner dist-tag build dev lint format typecheck check`,
      { options: npmOptions, operands: any },
    ),
    ...each('exec x dlx', {
      options: { flag: '-y --yes -q --quiet', word: '-p --package' },
      operands: ['command'],
    }),
  },
};

const goOptions: Options = {
  flag: flags(
    'vxnaujmcidl',
    `-race -short -cover -json -benchmem -failfast -trimpath -e -all -m -deps -buildvcs`,
  ),
  path: '-o -C',
  number: '-count -timeout -p -parallel',
  word: `-run -bench -tags -ldflags -f -coverprofile -skip -gcflags -mod -covermode -coverpkg -shuffle -benchtime -cpu`,
};
const cargoOptions: Options = {
  flag: flags(
    'qvrhV',
    `release quiet verbose all workspace all-targets all-features no-default-features locked offline frozen lib bins tests
     examples benches doc no-run no-fail-fast keep-going check fix allow-dirty allow-staged list dev version open no-deps`,
  ),
  word: '-p -F -j -Z --package --exclude --bin --test --example --bench --features --target --profile --message-format --color --jobs',
  path: '--manifest-path --target-dir',
};
const dockerCompose: CommandProfile = {
  options: { path: '-f --file --env-file --project-directory', word: '-p --profile --project-name' },
  operands: [],
  subcommands: each(
    'up down ps logs build pull push start stop restart config ls images top kill rm pause unpause events port',
    {
      options: {
        flag: flags(
          'daqvft',
          'detach build force-recreate no-deps remove-orphans volumes wait follow quiet no-cache pull services all no-start timestamps',
        ),
        number: '-t --timeout --tail',
      },
      operands: any,
    },
  ),
};
const list = {
  flag: flags('aqlfth', 'all quiet no-trunc follow timestamps force size'),
  number: '-n --tail',
  word: '--filter --format --since --until',
};

/** Options of interpreters without those that are followed by code. */
const script = (letters: string, longs = '', options: Options = {}): CommandProfile => ({
  options: { ...options, flag: flags(letters, longs) },
  operands: ['path', 'word'],
  stops: true,
});

export const projects = [
  ...underNames('npm pnpm yarn', npm),
  ...underNames('npx pnpx bunx', {
    options: { flag: flags('yq', 'yes no no-install quiet'), word: '-p --package' },
    operands: ['command'],
  }),
  ...underNames(
    'node nodejs',
    script(
      'vi',
      'version help watch test check enable-source-maps no-warnings trace-warnings experimental-strip-types inspect inspect-brk expose-gc preserve-symlinks test-only max-old-space-size trace-deprecation',
      {
        path: '-r --require --import --env-file --loader',
        word: '-C --conditions --test-name-pattern --test-reporter',
      },
    ),
  ),
  ...underNames('deno bun', {
    options: { flag: flags('vV', 'version help') },
    operands: [],
    subcommands: each('run test install add remove fmt lint check build task i', {
      options: {
        flag: flags(
          'AqrRWENS',
          'allow-all allow-read allow-net allow-write allow-env check watch quiet reload frozen dev production coverage silent',
        ),
      },
      operands: any,
      stops: true,
    }),
  }),
  ...underNames('tsx ts-node', script('v', 'version watch', { path: '--tsconfig -P' })),
  ...underNames('python python2 python3', script('bBdEhiIOqsSuvVx', 'version help', { word: '-m -W -X' })),
  ...underNames('perl ruby php lua', script('vwTt', 'version')),
  ...underNames('bash sh zsh dash ksh', {
    ...script('efuvx', 'version norc noprofile posix', { word: '-o' }),
    values: { '-o': 'pipefail errexit nounset xtrace' },
  }),
  ...underNames('pytest', {
    options: {
      flag: flags(
        'xqvslh',
        `verbose quiet exitfirst lf last-failed ff failed-first nf pdb no-header no-summary collect-only
        co cov disable-warnings strict-markers sw stepwise version showlocals -vv -vvv -qq
        runxfail cache-clear no-cov`,
      ),
      word: `-k -m -n -W -r -p --deselect --markers --maxfail --durations --tb --cov-report
        --color --reruns --timeout`,
      path: '--ignore --rootdir -c --junitxml --basetemp',
    },
    operands: ['word'],
  }),
  ...underNames('pip pip3', {
    options: { flag: flags('qvV', 'version disable-pip-version-check') },
    operands: [],
    subcommands: each('install uninstall list show freeze check download wheel cache index inspect help', {
      options: {
        flag: flags(
          'UqvyIlo',
          'upgrade user quiet yes no-deps pre force-reinstall no-cache-dir break-system-packages outdated no-input no-build-isolation dry-run all prefer-binary no-warn-script-location ignore-installed verbose',
        ),
        path: '-r -e -t -d --requirement --editable --target --dest -c --constraint --prefix --find-links -f',
        host: '-i --index-url --extra-index-url',
        word: '--format',
      },
      operands: any,
    }),
  }),
  ...underNames('cargo', {
    options: { flag: flags('qvV', 'version list locked offline') },
    operands: [],
    subcommands: each(
      `build b check c test t run r bench clippy fmt doc clean update add remove tree fetch metadata new init search publish
       package install uninstall fix vendor generate-lockfile nextest`,
      { options: cargoOptions, operands: any },
    ),
  }),
  ...underNames('go', {
    options: { path: '-C' },
    operands: [],
    subcommands: {
      ...each('build test vet fmt get install list mod env version doc clean work generate', {
        options: goOptions,
        operands: any,
      }),
      run: { options: goOptions, operands: any, stops: true },
      tool: { options: { flag: '-n' }, operands: any },
    },
  }),
  ...underNames('make gmake', {
    options: {
      flag: flags(
        'bBdeiknpqrsStw',
        'always-make keep-going silent quiet dry-run just-print touch trace version no-print-directory jobs output-sync',
      ),
      number: '-j -l',
      path: '-f -C -I -o -W --file --makefile --directory --include-dir',
    },
    operands: any,
  }),
  ...underNames('docker podman', {
    options: { flag: '-v --version', word: '--context -c' },
    operands: [],
    subcommands: {
      compose: dockerCompose,
      ...each(
        'ps images logs inspect pull push stop start restart rm rmi top port stats version info tag kill pause unpause wait history diff',
        { options: list, operands: any },
      ),
      ...each('network volume image container system context', {
        operands: [],
        subcommands: each('ls list inspect rm prune create df info show', { options: list, operands: any }),
      }),
      build: {
        options: {
          flag: flags('q', 'no-cache pull quiet load push rm'),
          path: '-f --file',
          word: '-t --tag --target --platform --build-arg --label --cache-from --cache-to --progress',
        },
        operands: ['path'],
      },
    },
  }),
  ...underNames('docker-compose', dockerCompose),
  ...underNames('gh', {
    options: { flag: '--version --help' },
    operands: [],
    subcommands: {
      ...each('pr issue repo run release workflow label gist secret variable cache', {
        operands: [],
        subcommands: each(
          'list view create status checks diff checkout close reopen comment edit merge ready review watch download rerun cancel enable disable run clone fork sync develop delete upload',
          {
            options: {
              flag: flags(
                'wcdsrmyaq',
                'web comments draft fill fill-first squash rebase merge delete-branch auto admin watch patch name-only approve request-changes comment yes log log-failed verbose exit-status generate-notes private public clone latest prerelease',
              ),
              word: '-t -b -B -H -R -l -A -S -L -s -w -j -n --title --body --base --head --repo --label --author --assignee --search --limit --state --json --jq -q --template --milestone --reviewer --branch --workflow --status --job --notes --target --ref --project --event --user --add-label --remove-label --reason --pattern',
              path: '-F --body-file --notes-file -D --dir',
            },
            operands: any,
          },
        ),
      }),
      auth: { operands: [], subcommands: { status: { options: { flag: '' }, operands: [] } } },
      api: {
        options: {
          flag: flags('i', 'paginate include silent slurp verbose'),
          word: '-X -H -f -F -q --method --header --jq --raw-field --field --template',
          path: '--input',
        },
        operands: any,
      },
      search: {
        operands: [],
        subcommands: each('code commits issues prs repos', {
          options: { word: '-L --limit --repo --owner --json --language --state --sort' },
          operands: any,
        }),
      },
    },
  }),
  ...underNames(
    'tsc',
    simple(
      'bwphv',
      'noEmit build watch version pretty strict incremental listFiles skipLibCheck init showConfig declaration emitDeclarationOnly force clean noErrorTruncation diagnostics extendedDiagnostics verbose noCheck',
      ['path'],
      { path: '-p --project --outDir --rootDir', word: '--target --module --lib --jsx --moduleResolution' },
    ),
  ),
];

/** Interpreters by their plain names, and words before the code that they run. */
const words: readonly (readonly [programs: string, word: RegExp])[] = [
  [
    `bash sh zsh dash ash ksh mksh yash fish csh tcsh nu elvish xonsh python pythonw ipython pypy micropython guile`,
    /^-\w*c/,
  ],
  [
    'node nodejs perl raku ruby jruby php lua luajit deno bun tsx ts-node r rscript osascript',
    /^(?:-\w*[ceEpr]|--?eval|--print|--run|eval$)/,
  ],
  ['julia groovy scala elixir iex erl swift racket octave', /^(?:-[eE]$|--?(?:eval|print)|-[eE][^a-z])/],
  ['pwsh powershell', /^[-/](?:c(?:o(?:m\w*)?)?|e(?:c|n\w*)?)$/i],
  ['cmd', /^\/[ckr](?!.*\/)/i],
];
export const inlineCode: ReadonlyMap<string, RegExp> = new Map(
  words.flatMap(([programs, word]) => namesIn(programs).map((program) => [program, word] as const)),
);

/** A list with one of these programs, by its plain name, allows everything. */
export const interpreters: ReadonlySet<string> = new Set([
  ...inlineCode.keys(),
  ...'env xargs sudo doas awk gawk mawk sed make npx npm pnpm yarn vim less'.split(' '),
]);
