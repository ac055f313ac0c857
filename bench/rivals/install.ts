// `rivals`: the state of each rival; `rivals install NAME…`: builds Go and C programs into .cache/rivals, and prints
// the command for Debian's packages.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { UsageFault, unknownName } from '../suite/arguments.ts';
import { CannotRun } from '../suite/failure.ts';
import { rivals, rivalsOf } from './index.ts';
import { findProgram, rivalCache, rivalFolder } from './process.ts';
import type { Rival, RivalSource } from './rival.ts';

type Print = (line: string) => void;

/** Go checks each module's checksum: of go.sum in our own module, of its checksum database otherwise. */
function runGo(args: readonly string[], folder: string): void {
  const go = findProgram('go');
  if (go === null) throw new CannotRun('go is not on PATH. Install Go from https://go.dev/dl/, then repeat.');
  mkdirSync(rivalCache, { recursive: true });
  const env = { ...process.env, GOBIN: rivalCache };
  const { status } = spawnSync(go, args, { cwd: folder, env, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new CannotRun(`go ${args.join(' ')} failed.`);
}

const compilerOf = (): string | null => findProgram('cc');

function runCompiler(name: string, file: string): void {
  const compiler = compilerOf();
  if (compiler === null) throw new CannotRun('cc is not on PATH. Install a C compiler, then repeat.');
  mkdirSync(rivalCache, { recursive: true });
  const args = ['-O2', '-o', join(rivalCache, name), join(rivalFolder, file)];
  const { status } = spawnSync(compiler, args, { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new CannotRun(`cc ${args.join(' ')} failed.`);
}

function install(name: string, source: RivalSource, print: Print): void {
  if (source.kind === 'debian') {
    print(`${name} comes with Debian: apt-get install --no-install-recommends ${source.packages.join(' ')}`);
  } else if (source.kind === 'path') {
    print(`${name} is used when it is on PATH: ${source.page}`);
  } else {
    if (source.kind === 'c-source') runCompiler(name, source.file);
    else if (source.kind === 'go') runGo(['install', source.module], rivalFolder);
    else runGo(['build', '-o', join(rivalCache, name), '.'], join(rivalFolder, source.folder));
    print(`${name} is in ${rivalCache}.`);
  }
}

const loopInC = 'epoll';

/** These rivals, and the bare loop in C where it is built or a compiler is there: it is a bound as well. */
export function withLoopInC(names: readonly string[]): readonly string[] {
  if (names.includes(loopInC)) return names;
  if (findProgram(loopInC) === null) {
    if (compilerOf() === null) return names;
    for (const { name, source } of rivalsOf([loopInC])) install(name, source, () => {});
  }
  return [loopInC, ...names];
}

const stateOf = (rival: Rival): string => {
  const state = rival.locate();
  return 'absent' in state ? `absent: ${state.absent}` : state.version;
};

/**
 * @param words behind `rivals` on the command line
 * @throws UsageFault for wrong words or an unknown name; CannotRun if Go is absent or fails
 */
export function runRivals([action, ...names]: readonly string[], print: Print): void {
  if (action === undefined) {
    for (const rival of rivals) print(`${rival.name}  ${rival.about}; ${stateOf(rival)}`);
    return;
  }
  if (action !== 'install') throw new UsageFault(unknownName('command rivals', action, ['install']));
  if (names.length === 0) {
    throw new UsageFault('rivals takes install and names: rivals install centrifuge opa.');
  }
  for (const { name, source } of rivalsOf(names)) install(name, source, print);
}
