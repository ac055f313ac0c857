// Programs of this machine: whether they are there, what they say, and the venv that pip fills. Installs nothing by
// itself.
import { execFile } from 'node:child_process';
import { access, constants, mkdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { installed } from './debian.ts';
import { alone } from './lock.ts';
import { say } from './service.ts';

const exec = promisify(execFile);

/** Where installed servers are kept between runs; ignored by git. */
export const cacheFolder = join(import.meta.dirname, '../../.cache/services');

/** The program's path, or null when PATH has none of that name. */
export async function onPath(name: string): Promise<string | null> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (
      folder !== '' &&
      (await access(path, constants.X_OK).then(
        () => true,
        () => false,
      ))
    )
      return path;
  }
  return null;
}

/** The program's output. Throws when it fails or takes longer than `ms`. */
export async function output(command: string, args: readonly string[], ms = 10_000): Promise<string> {
  const { stdout } = await exec(command, [...args], { timeout: ms, maxBuffer: 16 * 1024 * 1024 });
  return stdout.trim();
}

export const dockerWorks = async (): Promise<boolean> =>
  (await onPath('docker')) !== null &&
  output('docker', ['info', '--format', '{{.ServerVersion}}']).then(
    (version) => version !== '',
    () => false,
  );

/**
 * The folder of programs of a virtual environment that has `requirement` (several: with a blank between), made once and
 * kept. Throws what to install.
 */
export async function pipVenv(name: string, requirement: string): Promise<string> {
  const python = await onPath('python3');
  if (python === null) throw new Error('Install python3.');
  // Debian ships python3 without what makes virtual environments.
  const complete = () =>
    output(python, ['-c', 'import ensurepip, venv']).then(
      () => true,
      () => false,
    );
  if (!(await complete())) await installed('python3-venv', complete);
  const venv = join(cacheFolder, name);
  const mark = join(venv, `.has-${requirement.replace(/[^\w.]+/g, '-')}`);
  return alone(cacheFolder, async () => {
    const bin = join(venv, 'bin');
    if (
      await access(mark).then(
        () => true,
        () => false,
      )
    )
      return bin;
    say(`installing ${requirement} with pip into ${venv}`);
    await rm(venv, { recursive: true, force: true });
    await mkdir(cacheFolder, { recursive: true });
    await output(python, ['-m', 'venv', venv], 120_000);
    await output(join(bin, 'pip'), ['install', '--quiet', ...requirement.split(' ')], 600_000);
    await writeFile(mark, '');
    return bin;
  });
}
