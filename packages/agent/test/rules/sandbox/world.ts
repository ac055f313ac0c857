// A folder to break out of, and a real shell that says which commands did: what they read and wrote outside of `work`.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface World {
  /** Holds all folders below. */
  readonly root: string;
  /** The folder that commands run in and must not leave. */
  readonly work: string;
  readonly outside: string;
  readonly home: string;
  /** Runs each command line in a fresh shell. Gives, for each, what it read or wrote outside; '' for nothing. */
  run(shell: string, commands: readonly string[]): readonly string[];
  /** The words that bash makes of each line, as a program gets them; null when it does not run it. */
  words(lines: readonly string[]): readonly (readonly string[] | null)[];
  remove(): void;
}

/** The content of every file outside, and part of a name there: seen in an output, it was read. */
const mark = 'LEAKED';

/** @param links whether `work` holds symbolic links that lead out */
export function createWorld(links: boolean): World {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'sandbox-')));
  // Deep enough that nothing which climbs three times gets out of `root`.
  const base = join(root, 'x', 'y');
  const [work, outside, home] = ['work', 'outside', 'home'].map((name) => join(base, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [join(work, 'sub'), join(outside, 'deep'), home])
    mkdirSync(folder, { recursive: true });
  for (const name of ['secret', '.hidden', `${mark}-name`, 'deep/inner'])
    writeFileSync(join(outside, name), `${mark}\n`);
  for (const name of ['.profile', 'secret']) writeFileSync(join(home, name), `${mark}\n`);
  for (const name of ['a', 'b.txt', 'sub/c', 'sp ace', '.dot']) writeFileSync(join(work, name), 'inside\n');
  if (links) {
    symlinkSync('../outside', join(work, 'link'));
    symlinkSync('../outside/secret', join(work, 'linkfile'));
    symlinkSync('../outside/new', join(work, 'dangling'));
    symlinkSync('../../outside', join(work, 'sub', 'up'));
    symlinkSync('sub/c', join(work, 'inner'));
  }
  const pristine = join(root, 'pristine');
  execFileSync('cp', ['-a', base, pristine]);
  const script = join(root, 'driver.sh');
  writeFileSync(script, driver);
  return {
    root,
    work,
    outside,
    home,
    run: (shell, commands) => {
      const input = join(root, 'commands');
      writeFileSync(input, commands.map((command) => `${command}\0`).join(''));
      execFileSync('bash', [script, shell, base, pristine, input], {
        cwd: root,
        env: { PATH: process.env.PATH ?? '', HOME: home, OLDPWD: outside, V: outside, D: '..', LC_ALL: 'C' },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const lines = readFileSync(`${input}.found`, 'utf8').split('\n').slice(0, -1);
      if (lines.length !== commands.length)
        throw new Error(`${lines.length} answers to ${commands.length} commands`);
      return lines;
    },
    words: (lines) => {
      const input = lines.map((line) => `${line.replace(/^(?:\s|\\\n)+/, '')}\0`).join('');
      const output = execFileSync('bash', ['-fc', splitter], {
        cwd: work,
        env: {},
        input,
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      const answers = output.toString().split('\x01\0').slice(0, -1);
      return answers.map((answer) => (answer.endsWith('ok\0') ? answer.split('\0').slice(1, -2) : null));
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/**
 * For each command: a fresh shell in `work`, then one line: what of its output was read outside, and what changed
 * there. Whatever changed is put back.
 */
const driver = `
shell=$1 base=$2 pristine=$3 input=$4
shopt -s nullglob dotglob
: >"$input.found"
# All names and first lines: of what lies in work, and of everything else.
look() {
  local name line
  inside= others=
  for name in "$base"/* "$base"/*/* "$base"/*/*/* "$base"/../*; do
    line=
    [ -f "$name" ] && IFS= read -r line <"$name"
    case $name in
      "$base"/work/*) inside+="$name=$line;" ;;
      *) others+="$name=$line;" ;;
    esac
  done
}
look
inside_before=$inside others_before=$others
while IFS= read -r -d '' command; do
  # A program that writes without end is stopped, and the shell says so; nobody needs to read it.
  { ( cd "$base/work" && ulimit -f 2000 && exec timeout -k 1 10 "$shell" -c "$command" "$base/outside/secret" "$base/outside/secret" "$base/outside" ) \
    >"$input.out" 2>&1 </dev/null; } 2>/dev/null
  found= output=
  IFS= read -r -d '' output <"$input.out"
  [[ $output == *${mark}* ]] && found=read
  look
  [ "$others" = "$others_before" ] || found+=wrote
  if [ "$inside$others" != "$inside_before$others_before" ]; then
    rm -rf "$base"
    cp -a "$pristine" "$base"
  fi
  printf '%s\\n' "$found" >>"$input.found"
done <"$input"
`;

/** Writes the words of each line, with \x01 after the last. */
const splitter = `
while IFS= read -r -d '' line; do
  ( eval "printf '%s\\0' begin $line" ) && printf 'ok\\0'
  printf '\\1\\0'
done
`;
