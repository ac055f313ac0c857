// Calls for two engines to judge: programs with their own options, words that lead outside, URLs in many forms.
import fc from 'fast-check';
import { profiles } from '../../../src/rules/sandbox/profiles/index.ts';
import { commandLine } from './generator.ts';
import type { World } from './world.ts';

const pick = <T>(...items: readonly T[]) => fc.constantFrom(...items);
type Args = Readonly<Record<string, unknown>>;

/** Names of options in a profile and in its subcommands, and the names of these. */
function wordsOf(program: string): readonly string[] {
  const found: string[] = [];
  const visit = (profile: (typeof profiles)[string]): void => {
    for (const names of Object.values(profile.options ?? {}))
      found.push(...names.split(/\s+/).filter(Boolean));
    for (const [name, below] of Object.entries(profile.subcommands ?? {})) {
      found.push(name);
      if (found.length < 400) visit(below);
    }
  };
  visit(profiles[program] ?? {});
  return found.length > 0 ? found : ['-a'];
}

const programs = [
  ...Object.keys(profiles),
  ...[
    'mytool',
    'man',
    'fc',
    'flock',
    'su',
    'script',
    'fish',
    'parallel',
    'socat',
    'sshfs',
    'declare',
    'export',
    'read',
  ],
  ...[
    'unset',
    'let',
    '/usr/bin/git',
    './curl',
    'bsdtar',
    'gtar',
    'svn',
    'psql',
    'kubectl',
    'terraform',
    'source',
    '.',
  ],
  ...['GIT_PAGER=x', 'A=1', 'https_proxy=evil.com:80', 'wait', 'getopts', 'link', 'link/tool', '../tool'],
];

/** Words that mean something to one program or another. */
function wordsAround(world: World): fc.Arbitrary<string> {
  const commands = pick(
    "'cat $HOME/x'",
    "'cat /etc/passwd'",
    "'cat a; cat b'",
    "'curl evil.com'",
    "'zstd -19'",
    "'!cat /etc/passwd'",
    "'|cat /etc/passwd'",
    "'EXEC:cat /etc/passwd'",
    "'ext::sh -c cat% /etc/passwd'",
    "exec='cat /etc/passwd'",
    "PAGER='cat $V/x'",
    'GIT_CONFIG_PARAMETERS="\'alias.x=!cat /etc/passwd\'"',
    'TAR_OPTIONS=\'-I "cat /etc/passwd"\'',
    "'a[$(cat /etc/passwd)]=1'",
    "alias.x='!cat /etc/passwd'",
    "core.sshCommand='cat /etc/passwd'",
    'core.pager=cat',
    "core.pager='cat /etc/passwd'",
    "user.name='A B'",
    'remote.origin.url=git@evil.com:x',
    'url.evil.com:.insteadOf=https://allowed.com/',
    'ProxyCommand=nc',
    "'ProxyCommand=nc evil.com 22'",
    "ENV='$(cat a)'",
    "BASH_FUNC_ls%%='() { cat a; }'",
    'cIf',
    'xf',
  );
  const paths = pick(
    ...[
      'a',
      'b.txt',
      'sub/c',
      'sub',
      'link',
      'linkfile',
      'dangling',
      'inner',
      'sub/up',
      'link/secret',
      'l*',
      'sub/*',
      '*',
    ],
    ...[
      '.dot',
      '.*',
      '../outside/secret',
      '..',
      '/etc/passwd',
      '/',
      '.',
      '-',
      './a',
      "'sp ace'",
      "'~/x'",
      '~/x',
      '/dev/null',
    ],
    ...[
      `${world.work}/a`,
      `${world.work}/*`,
      `${world.outside}/secret`,
      `${world.outside}/*`,
      'sub/../a',
      'secret/key',
    ],
    ...[
      '@a',
      '@/etc/passwd',
      'x=@/etc/passwd',
      'x=link',
      'if=/etc/passwd',
      'of=a',
      'a:/etc',
      'X=a:/etc',
      '%2e%2e/x',
      '1',
      '10',
    ],
    ...[
      'file:///etc/passwd',
      `file://${world.work}/a`,
      "'file:///{etc,x}/passwd'",
      "'[f-f]ile:///etc/passwd'",
      'git+file:///etc/x',
    ],
    ...[
      '-1',
      '+20',
      "'/etc/x'",
      '"/api/users"',
      '"s/a/b/"',
      "'{print $1}'",
      '"fix: a & b"',
      "'see https://evil.com'",
      'HEAD~1',
    ],
  );
  const hosts = pick(
    ...[
      'allowed.com',
      'evil.com',
      'a.allowed.com/x',
      'evil.com:80',
      'git@evil.com:x/y',
      'git@allowed.com:x/y',
      'user@evil.com',
    ],
    ...[
      'https://allowed.com/x',
      'https://allowed.com',
      'https://evil.com/',
      'HTTPS://evil.com',
      'https:evil.com',
      'http:/evil.com',
    ],
    ...[
      "'https://allowed.com\\@evil.com'",
      "'https://allowed.com/?u=https://evil.com'",
      'evil.com:x',
      'evil:x',
      'allowed.com:x',
    ],
    ...[
      "'https://allowed.com,https://evil.com'",
      '--url=https://evil.com',
      'x=https://evil.com',
      'ssh://git@evil.com/x',
      '//evil.com',
    ],
  );
  const names = pick(
    ...[
      'sh',
      'bash',
      '-c',
      '-lc',
      'ls',
      'env',
      '-S',
      'tar',
      '-I',
      'git',
      'curl',
      'eval',
      'sudo',
      'timeout',
      '5',
      '--',
      '-e',
      '-f',
    ],
    ...[
      'config',
      'foreach',
      'submodule',
      'commit',
      '-m',
      '-am',
      'api',
      'run',
      'exec',
      'clone',
      '--upload-pack',
      '-x',
      '-o',
      '-u',
    ],
    ...[
      '-exec',
      "';'",
      '2>&1',
      '>/dev/null',
      '>a',
      '<a',
      '#x',
      '\\\n',
      "''",
      '-O',
      '-W',
      '-J',
      '--config-env=alias.x=X',
      '-oc',
    ],
  );
  return fc.oneof(
    { weight: 2, arbitrary: commands },
    { weight: 5, arbitrary: paths },
    { weight: 4, arbitrary: hosts },
    { weight: 3, arbitrary: names },
  );
}

/** A program, and words of which some are options of its profile, with a value in the same word or none. */
function programLine(world: World): fc.Arbitrary<string> {
  const around = wordsAround(world);
  const own = (program: string): fc.Arbitrary<string> => {
    const options = pick(...wordsOf(program));
    return fc.oneof(
      { weight: 4, arbitrary: options },
      { weight: 1, arbitrary: fc.tuple(options, pick('=', ''), around).map((parts) => parts.join('')) },
      { weight: 4, arbitrary: around },
    );
  };
  const plain = pick(...programs).chain((program) =>
    fc.array(own(program), { maxLength: 5 }).map((words) => [program, ...words].join(' ')),
  );
  const wrapper = pick(
    '',
    '',
    '',
    '',
    'sudo ',
    'timeout 5 ',
    'env ',
    'nice -n 1 ',
    'xargs ',
    'mytool ',
    'command ',
    'time ',
    'git ',
  );
  return fc.tuple(wrapper, plain).map(([before, line]) => before + line);
}

const url: fc.Arbitrary<string> = fc
  .tuple(
    pick('https:', 'http:', 'HTTPS:', 'wss:', 'ftp:', 'ssh:', 'evil.com:', ''),
    pick('//', '//', '//', '/', '\\\\', '/\\', '///', ''),
    pick(
      '',
      '',
      'user@',
      'user:pw@',
      'allowed.com@',
      "allowed.com'@",
      'allowed.com<@',
      'allowed.com%40@',
      'a@b@',
      'allowed.com @',
    ),
    pick(
      'allowed.com',
      'a.allowed.com',
      'evil.com',
      'ALLOWED.com',
      'allowed.com.',
      '127.1',
      'allowed.com,evil.com',
      '[::1]',
    ),
    pick('', '', ':8443', ':80', ':443', ':80x', ':'),
    pick(
      '',
      '/',
      '/x?u=https://evil.com',
      '?x',
      '#@allowed.com',
      '/a b',
      '\\@allowed.com',
      '/x,evil.com/',
      ',https://evil.com',
      '/a',
    ),
  )
  .map((parts) => parts.join(''));
const sentence = fc
  .tuple(
    pick('', 'see ', '(', '"', ' ', '[x](', 'a=', 'ht\ntp://x '),
    url,
    pick('', ' now', ')', '".', '\n', ' https://allowed.com/', '.'),
  )
  .map((parts) => parts.join(''));

/** Calls with commands, paths and URLs in several shapes. */
export function anyCall(world: World): fc.Arbitrary<Args> {
  const lines = fc.oneof(
    { weight: 2, arbitrary: commandLine(world, true) },
    { weight: 5, arbitrary: programLine(world) },
  );
  const around = wordsAround(world).map((word) => word.replace(/^(['"])(.*)\1$/s, '$2'));
  return fc.oneof(
    { weight: 12, arbitrary: lines.map((command) => ({ command })) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(pick(...programs), fc.array(around, { maxLength: 4 }))
        .map(([program, words]) => ({ command: [program, ...words] })),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(pick(...programs), fc.array(around, { maxLength: 4 }))
        .map(([command, args]) => ({ command, args })),
    },
    { weight: 1, arbitrary: fc.tuple(lines, around).map(([command, cwd]) => ({ command, cwd })) },
    {
      weight: 3,
      arbitrary: fc
        .tuple(pick('url', 'x', 'host', 'urls', 'note'), sentence)
        .map(([name, text]) => ({ [name]: text })),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(pick('path', 'x', 'file', 'deep'), around)
        .map(([name, text]) => ({ a: [{ [name]: text }] })),
    },
  );
}
