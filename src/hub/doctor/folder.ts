// Checks of an embedded hub's data folder and store. Reads alone; a hub may be running.
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { diskSpaceOf, readKept } from '../../../adapters/node/data-folder.ts';
import { keptSecret, secretFile } from '../../../adapters/node/master.ts';
import { createSecrets } from '../../../adapters/node/secrets.ts';
import {
  checkDatabase,
  enabledChannels,
  inspectDatabase,
  reserveOf,
} from '../../../adapters/sqlite/index.ts';
import type { Channel } from '../../notification/record.ts';
import { inWords } from '../commands/progress.ts';
import type { Config } from '../config.ts';
import { opensSeal } from '../master.ts';
import { markOf } from '../move/folder-mark.ts';
import { attempt, type CheckResult, failure, ok, warning } from './check-result.ts';

const hourMs = 3_600_000;
/** Less free space is a failure, whatever the reserve is. Bytes. */
const leastFree = 64 << 20;
/** Less room than this is used up soon. */
const littleRoom = 1 << 30;
/** A back-up older than this is old. */
const oldBackupMs = 36 * hourMs;

export interface FolderState {
  readonly findings: readonly CheckResult[];
  /** Null in a folder without a master secret. */
  readonly secret: string | null;
  /** Enabled notification channels. */
  readonly channels: readonly Channel[];
}

function folder(dataDir: string): CheckResult {
  const path = resolve(dataDir);
  const folderStat = statSync(dataDir, { throwIfNoEntry: false });
  if (!folderStat) {
    const parent = dirname(path);
    if (!existsSync(parent))
      return failure('folder', `${path} does not exist, and neither does ${parent}.`, `Make ${parent}.`);
    accessSync(parent, constants.W_OK);
    return ok('folder', `${path} does not exist yet. The first start makes it.`);
  }
  if (!folderStat.isDirectory())
    return failure('folder', `${path} is not a folder.`, 'Set DATA_DIR to a folder.');
  accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  const mark = markOf(dataDir);
  if (mark)
    return failure(
      'folder',
      `The data of ${path} was moved to ${mark.to} at ${mark.at}.`,
      'Set MONGODB_URL and REDIS_URL.',
    );
  if ((folderStat.mode & 0o077) !== 0)
    return warning('folder', `Other users can enter ${path}.`, `Run chmod 700 ${path}.`);
  return ok('folder', `${path} can be read and written by this user alone.`);
}

/** @param reserveBytes null: the usual part of the disk, as the hub reserves it */
export function space(
  { free, total }: { readonly free: number; readonly total: number },
  reserveBytes: number | null,
): CheckResult {
  if (free < Math.max(reserveBytes ?? reserveOf(total), leastFree))
    return failure(
      'space',
      `${inWords(free)} free.`,
      'Free space: the hub refuses events below its reserve.',
    );
  if (free < littleRoom) return warning('space', `${inWords(free)} free.`, 'Free space, or set retention.');
  return ok('space', `${inWords(free)} free.`);
}

async function store(dataDir: string, secret: string | null, deep: boolean): Promise<readonly CheckResult[]> {
  const database = join(dataDir, 'reeve.db');
  const size = statSync(database, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) {
    const hubId = existsSync(dataDir) ? readKept(join(dataDir, 'hub.id')) : null;
    return hubId === null
      ? [ok('store', 'No store yet. The first start makes it.')]
      : [failure('store', `${database} is missing, but a hub was set up here.`, 'Restore a back-up.')];
  }
  const facts = deep ? await checkDatabase(database) : inspectDatabase(database);
  const kept = readKept(join(dataDir, 'hub.id'));
  if (kept !== null && kept !== facts.hubId)
    return [
      failure('store', `${database} is not the database of this folder.`, 'Put it back (docs/backup.md).'),
    ];
  const checked = deep ? 'Every page is sound' : 'The tables of every request are sound';
  const results = [ok('store', `${checked} (${inWords(size)}, schema ${facts.schema}).`)];
  if (facts.sealed === null) return results;
  if (secret === null)
    return [...results, failure('secret', `${secretFile} is missing.`, 'Restore it, or set SECRET_KEY.')];
  return opensSeal(createSecrets(secret), facts.sealed)
    ? [...results, ok('secret', 'The master secret opens the secrets of the store.')]
    : [
        ...results,
        failure(
          'secret',
          'The master secret is another than the one of the store.',
          'Set the SECRET_KEY of the first start.',
        ),
      ];
}

function backup(dataDir: string, now: number): CheckResult {
  if (!existsSync(join(dataDir, 'reeve.db'))) return ok('backup', 'Nothing to back up yet.');
  const at = statSync(join(dataDir, 'last-backup'), { throwIfNoEntry: false })?.mtimeMs;
  const advice = 'Run reeve backup every day, and keep the file on another machine.';
  if (at === undefined) return warning('backup', 'No back-up was made by reeve backup.', advice);
  const age = `The last back-up is ${Math.floor((now - at) / hourMs)} hours old.`;
  return now - at > oldBackupMs ? warning('backup', age, advice) : ok('backup', age);
}

/** @param deep reads every page of the store */
export async function checkFolder(config: Config, now: number, deep: boolean): Promise<FolderState> {
  const { dataDir } = config;
  const advice = 'Make the user that runs the hub its owner, with write access.';
  const secret = config.secretKey ?? (existsSync(dataDir) ? keptSecret(dataDir) : null);
  const database = join(dataDir, 'reeve.db');
  const base = existsSync(dataDir) ? dataDir : dirname(resolve(dataDir));
  const findings = [
    ...(await attempt('folder', advice, () => folder(dataDir))),
    ...(await attempt('space', advice, () => space(diskSpaceOf(base), config.diskReserveBytes))),
    ...(await attempt('store', 'Restore a back-up (docs/backup.md).', () => store(dataDir, secret, deep))),
    ...(await attempt('backup', advice, () => backup(dataDir, now))),
  ];
  const isSound =
    existsSync(database) && !findings.some((one) => one.check === 'store' && one.outcome !== 'ok');
  return { findings, secret, channels: isSound ? enabledChannels(database) : [] };
}
