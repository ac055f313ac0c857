// Debian's packages, where this process may install them.
import { access } from 'node:fs/promises';
import { cacheFolder, output } from './command.ts';
import { alone } from './lock.ts';
import { say } from './service.ts';

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * Installs the package unless `there` says that it is; false when this is no Debian, when the user may not, or when
 * apt-get fails.
 */
export async function installed(name: string, there: () => Promise<boolean>): Promise<boolean> {
  if (process.getuid?.() !== 0 || !(await exists('/etc/debian_version'))) return false;
  return alone(cacheFolder, async () => {
    if (await there()) return true;
    say(`installing ${name} with apt-get`);
    const install = ['install', '-y', '-qq', '--no-install-recommends', name];
    await output('apt-get', install, 300_000).catch(async () => {
      await output('apt-get', ['update', '-qq'], 300_000);
      await output('apt-get', install, 300_000);
    });
    return there();
  }).catch((error: Error) => {
    say(`apt-get failed: ${error.message.split('\n')[0]}`);
    return false;
  });
}
