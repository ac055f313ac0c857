// Network programs: which of their words are host names although no scheme says so.
import { hostOfRemote, hostsOfUrl } from './url.ts';

interface NetworkProgram {
  /** Short options that take a value, which is no host. */
  readonly shorts: string;
  /** Long options that take a value, which is no host. */
  readonly longs: string;
  /** Options whose value is a host, or holds one between colons. */
  readonly hosts?: string;
  /** Which operands name hosts: all, all with a dot or an `@`, the first, or those with a colon (`host:path`). */
  readonly operands: 'all' | 'dotted' | 'first' | 'remote';
}

const curl: NetworkProgram = {
  operands: 'all',
  shorts: 'AbcCdDeEFhHKmoPQrtTuUwXyYz',
  longs: `--abstract-unix-socket --cacert --capath --cert --cert-type --ciphers --config --connect-timeout --continue-at --cookie
    --cookie-jar --create-file-mode --crlfile --curves --data --data-ascii --data-binary --data-raw --data-urlencode --delegation
    --dump-header --engine --expect100-timeout --form --form-string --header --hostpubmd5 --json --keepalive-time --key --key-type
    --limit-rate --local-port --login-options --max-filesize --max-redirs --max-time --netrc-file --output --output-dir --pass
    --pinnedpubkey --proto --proto-default --proto-redir --proxy-header --proxy-user --quote --random-file --range --rate --referer
    --request --request-target --retry --retry-delay --retry-max-time --speed-limit --speed-time --stderr --telnet-option
    --time-cond --tls-max --trace --trace-ascii --unix-socket --upload-file --url-query --user --user-agent --variable --write-out`,
  hosts:
    '-x --proxy --preproxy --socks4 --socks4a --socks5 --socks5-hostname --connect-to --resolve --doh-url --url --dns-servers',
};
const wget: NetworkProgram = {
  operands: 'all',
  shorts: 'aABDeGIiloOPQRtTUwX',
  longs: `--append-output --output-file --output-document --directory-prefix --tries --timeout --wait --quota --user --password
    --header --user-agent --referer --post-data --post-file --body-data --body-file --method --load-cookies --save-cookies --accept
    --reject --level --execute --input-file --limit-rate --certificate --private-key --ca-certificate --cut-dirs`,
  hosts: '-B --base --domains -D',
};
const ssh: NetworkProgram = {
  operands: 'first',
  shorts: 'BbcDEeFIiLlmOopQRSw',
  longs: '',
  hosts: '-J -W',
};
const plain = (shorts: string): NetworkProgram => ({ operands: 'first', shorts, longs: '' });
const copying = (shorts: string, longs = ''): NetworkProgram => ({
  operands: 'remote',
  shorts,
  longs,
  hosts: '-J',
});

const programs: ReadonlyMap<string, NetworkProgram> = new Map([
  ['curl', curl],
  ['wget', wget],
  ['ssh', ssh],
  ['scp', copying('cDFiloPSX')],
  ['sftp', { operands: 'first', shorts: 'BbcDFiloPRSs', longs: '', hosts: '-J' }],
  [
    'rsync',
    copying(
      'BefTM',
      '--rsh --exclude --include --exclude-from --include-from --files-from --filter --rsync-path',
    ),
  ],
  ['nc', { ...plain('eGgIiMmOopPqsTVwX'), hosts: '-x' }],
  ['ncat', plain('ceGgimopPsw')],
  ['netcat', { ...plain('eGgIiMmOopPqsTVwX'), hosts: '-x' }],
  ['ftp', plain('NoPqrsTu')],
  ['telnet', plain('bceklnSX')],
  ['ping', { operands: 'all', shorts: 'cFIiLlMmNpQsStTWw', longs: '' }],
  ['ping6', { operands: 'all', shorts: 'cFIiLlMmNpQsStTWw', longs: '' }],
  ['dig', { operands: 'dotted', shorts: 'bcfkpty', longs: '', hosts: '-q -x' }],
]);

/** Options of git before its subcommand that take a value. */
const gitGlobals = new Set([
  '-C',
  '-c',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--exec-path',
  '--config-env',
]);
/** No option is told apart here: one letter takes a value in one subcommand and none in the next. */
const gitRemotes: NetworkProgram = { operands: 'remote', shorts: '', longs: '', hosts: '--remote --repo' };
const gitSubcommands = new Set([
  'clone',
  'fetch',
  'pull',
  'push',
  'ls-remote',
  'remote',
  'submodule',
  'archive',
]);
/** Programs that run the command in their own words, with the letters of options that take a value. */
const wrappers: ReadonlyMap<string, string> = new Map([
  ['sudo', 'CDgGhpRrTtuU'],
  ['doas', 'Cu'],
  ['env', 'CSu'],
  ['nohup', ''],
  ['time', 'fo'],
  ['nice', 'n'],
  ['ionice', 'cnpPu'],
  ['timeout', 'ks'],
  ['stdbuf', 'eio'],
  ['command', ''],
  ['exec', 'a'],
  ['xargs', 'adEILnPs'],
  ['setsid', ''],
  ['busybox', ''],
  ['unbuffer', ''],
  ['chronic', ''],
  ['proxychains', 'f'],
  ['proxychains4', 'f'],
  ['strace', 'abeEIoOpPsSuX'],
  ['watch', 'n'],
]);

/** The name of a program, wherever it lies. */
export const nameOf = (word: string): string => word.slice(word.lastIndexOf('/') + 1).replace(/\.exe$/i, '');

/** The hosts a command names without a scheme; none for a program that is not known to use the network. */
export function hostsOfProgram(words: readonly string[]): ReadonlySet<string> {
  const hosts = new Set<string>();
  addProgram(hosts, words);
  return hosts;
}

function addProgram(hosts: Set<string>, words: readonly string[]): void {
  const at = programIndex(words);
  const name = nameOf(words[at] ?? '');
  const program = programs.get(name);
  const rest = words.slice(at + 1);
  // A variable that makes a proxy of everything.
  for (const word of words.slice(0, at)) {
    const proxy = /^\w*_proxy=(.+)$/i.exec(word)?.[1];
    if (proxy !== undefined) addValue(hosts, proxy);
  }
  if (program) addOperands(hosts, program, rest);
  else if (name === 'git') addGit(hosts, rest);
  else if (name === 'find') for (const command of commandsOfFind(rest)) addProgram(hosts, command);
}

/** The command that `find` runs: up to `;` or `+`. */
function* commandsOfFind(words: readonly string[]): Iterable<readonly string[]> {
  for (const [i, word] of words.entries()) {
    if (!/^-(?:exec|ok)(?:dir)?$/.test(word)) continue;
    const rest = words.slice(i + 1);
    const end = rest.findIndex((one) => one === ';' || one === '+');
    const command = end < 0 ? rest : rest.slice(0, end);
    if (nameOf(command[0] ?? '') !== 'find') yield command;
  }
}

/** Where the program stands behind assignments and the programs that only run it. */
function programIndex(words: readonly string[]): number {
  let valued: string | null = null;
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] as string;
    const wrapper = wrappers.get(nameOf(word));
    if (wrapper !== undefined) valued = wrapper;
    else if (valued !== null && /^-[A-Za-z]/.test(word)) {
      // A value that is a word of its own is no program.
      const letter = [...word].findIndex((char, i) => i > 0 && valued?.includes(char));
      if (letter === word.length - 1) at++;
    } else if (!/^\w+=/.test(word) && !(valued !== null && /^(?:-|\d)/.test(word))) break;
  }
  return at;
}

function addGit(hosts: Set<string>, words: readonly string[]): void {
  let at = 0;
  while (words[at]?.startsWith('-')) {
    if (words[at] === '-c') addGitSetting(hosts, (words[at + 1] ?? '').split('='));
    at += gitGlobals.has(words[at] as string) ? 2 : 1;
  }
  const subcommand = words[at] ?? '';
  if (subcommand === 'config') {
    for (const [i, word] of words.entries()) addGitSetting(hosts, [word, words[i + 1] ?? '']);
  }
  if (!gitSubcommands.has(subcommand)) return;
  const refs = subcommand === 'fetch' || subcommand === 'pull' || subcommand === 'push';
  addOperands(hosts, gitRemotes, words.slice(at + 1), refs);
}

/** Settings that send git elsewhere: an address of a remote, another name for an address, a proxy. */
function addGitSetting(hosts: Set<string>, [key = '', ...rest]: readonly string[]): void {
  const base = /^url\.(.+)\.(?:push)?insteadof$/i.exec(key)?.[1];
  const value = base ?? (/^(?:remote\..+\.(?:push)?url|(?:.+\.)?proxy)$/i.test(key) ? rest.join('=') : '');
  if (value === '' || value.includes('://')) return;
  const host = hostOfRemote(value);
  if (host !== null) hosts.add(host);
  else if (/proxy$/i.test(key)) addValue(hosts, value);
}

/**
 * @param refs all operands behind the first name branches (`from:to`), unless they look like nothing else than a host
 */
function addOperands(
  hosts: Set<string>,
  program: NetworkProgram,
  words: readonly string[],
  refs = false,
): void {
  const longs = listed(program.longs);
  const named = listed(program.hosts ?? '');
  let operands = 0;
  let onlyOperands = false;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    if (!onlyOperands && word === '--') onlyOperands = true;
    else if (!onlyOperands && word.startsWith('--')) {
      const [option = '', value] = splitOption(word);
      if (named.has(option)) addValue(hosts, value ?? words[++i] ?? '');
      else if (value === undefined && longs.has(option)) i++;
    } else if (!onlyOperands && word.length > 1 && word[0] === '-') {
      const { option, value } = shortOption(word, program.shorts, named);
      if (option !== null && named.has(option)) addValue(hosts, value === '' ? (words[++i] ?? '') : value);
      else if (option !== null) {
        const given = value === '' ? (words[++i] ?? '') : value;
        // Options of ssh that lead to another host, or run a command that does.
        if (option === '-o' && /^(?:hostname|proxy|localcommand)/i.test(given)) hosts.add('');
      }
    } else {
      addOperand(hosts, program, word, operands, refs);
      operands++;
    }
  }
}

const splitOption = (word: string): [string, string | undefined] => {
  const at = word.indexOf('=');
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
};

/** The first letter of a cluster that takes a value, and what of the value stands in the same word. */
function shortOption(
  word: string,
  shorts: string,
  named: ReadonlySet<string>,
): { option: string | null; value: string } {
  for (let i = 1; i < word.length; i++) {
    const letter = word[i] as string;
    if (shorts.includes(letter) || named.has(`-${letter}`))
      return { option: `-${letter}`, value: word.slice(i + 1) };
  }
  return { option: null, value: '' };
}

function addOperand(
  hosts: Set<string>,
  program: NetworkProgram,
  word: string,
  index: number,
  refs: boolean,
): void {
  if (program.operands === 'remote') {
    const host = hostOfRemote(word);
    if (host === null || word.includes('://')) return;
    if (refs && index > 0 && !/^[^:]*[.@][^:]*:(?!refs\/)/.test(word)) return;
    hosts.add(host);
  } else if (program.operands === 'dotted') {
    if (/[.@]/.test(word)) addValue(hosts, word.replace(/^@/, ''));
  } else if (program.operands === 'all' || index === 0) addValue(hosts, word);
}

function addValue(hosts: Set<string>, value: string): void {
  if (value === '') return;
  const parts = value.split(':');
  // `name:port:address` sends what is meant for one host to another.
  if (parts.length < 3 || value.includes('/')) for (const host of hostsOfUrl(value)) hosts.add(host);
  else
    for (const part of parts) if (!/^\d*$/.test(part)) for (const host of hostsOfUrl(part)) hosts.add(host);
}

const lists = new Map<string, ReadonlySet<string>>();
function listed(names: string): ReadonlySet<string> {
  let set = lists.get(names);
  if (!set) {
    set = new Set(names.split(/\s+/));
    lists.set(names, set);
  }
  return set;
}
