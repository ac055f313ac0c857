// `reeve restore`: puts the file of a back-up into a data folder, or only checks it. Keeps promise P24.
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Archive, openArchive, readArchive } from '../../../adapters/node/archive.ts';
import { removeBackupMark } from '../../../adapters/node/backup-mark.ts';
import { systemClock } from '../../../adapters/node/clock.ts';
import {
  diskSpaceOf,
  keepInstead,
  makeFolder,
  ownAsFolder,
  readKept,
  syncFolder,
} from '../../../adapters/node/data-folder.ts';
import { secretFile } from '../../../adapters/node/master.ts';
import { createSecrets } from '../../../adapters/node/secrets.ts';
import { checkDatabase, type Facts, lockStore, renumberDeployments } from '../../../adapters/sqlite/index.ts';
import { HubError } from '../../shared/error.ts';
import { snake } from '../../shared/snake-keys.ts';
import { type FolderSettings, readFolderSettings } from '../config.ts';
import { folderFailure } from '../folder-failure.ts';
import { opensSeal } from '../master.ts';
import { removeMark } from '../move/folder-mark.ts';
import { readArguments } from './arguments.ts';
import { withDraft } from './cleanup.ts';
import { answer, refuseCluster, UsageError } from './output.ts';
import { createProgress, inWords, type Progress } from './progress.ts';

const help = `reeve restore FILE [--force] [--check] [--keep-sequences] [--json]

Restores a \`reeve backup\` into DATA_DIR: the database, its id and, if the file contains it, the master secret. Before the command replaces
anything, it compares the whole file with its digest and checks every page of the database. Stop the hub first.

  FILE      back-up file
  --force   replace the hub in DATA_DIR
  --check   only check the file; neither read nor write DATA_DIR
  --keep-sequences
            keep the sequences of deployments: agents with a newer deployment keep it until its bundle is deployed
            again. Without this option, they accept the restored deployment.
  --json    print the result or the error as JSON
  --help    print this text

Changes after the back-up are lost: keys and users that were removed since are valid again (docs/backup.md).
Settings: DATA_DIR [./data]. With MONGODB_URL the data is in MongoDB: restore it with its own tools (docs/cluster.md).
`;

/** True if the hub will find the master secret of this database. */
type SecretState = 'included' | 'inFolder' | 'inEnvironment' | 'missing';

const secretWords: { readonly [S in SecretState]: string } = {
  included: 'The master secret was in the back-up and is now in secret.key.',
  inFolder: 'The master secret was not in the back-up. The secret.key in the folder matches.',
  inEnvironment: 'The master secret was not in the back-up. The configured SECRET_KEY matches.',
  missing:
    'The master secret was not in the back-up, and the hub does not start without it. Set its previous SECRET_KEY, or put its ' +
    'secret.key into DATA_DIR.',
};

const renumberedWords = (count: number): string =>
  count === 0
    ? ''
    : `Current deployments with new sequences: ${count}. Agents accept them even after newer ones. ` +
      'Deploy later documents again.';
const keptWords =
  'Deployments keep their sequences. Agents with a newer deployment keep it until its bundle is deployed again.';

export async function restore(args: readonly string[]): Promise<void> {
  const { file, has } = readArguments('restore', args, ['force', 'check', 'keep-sequences']);
  await answer({ help: has('help') ? help : null, json: has('json') }, async () => {
    if (file === null) throw new UsageError('Name a back-up file. See reeve restore --help.');
    const archive = await readArchive(file);
    const { hubId, createdAt, version, schema, databaseBytes } = archive.manifest;
    const result = { file: resolve(file), hubId, createdAt, version, schema };
    const progress = createProgress(systemClock);
    const what = `hub ${hubId} of ${createdAt} (${inWords(databaseBytes)})`;
    if (has('check')) {
      try {
        await openArchive(file, archive, null, (done, total) => progress.report('Comparing', done, total));
        await check(file, archive, file);
      } finally {
        progress.end();
      }
      return { result: { ...result, ok: true }, words: [`${file} is a complete back-up of ${what}.`] };
    }
    const settings = readFolderSettings();
    refuseCluster(settings.isCluster);
    const how = { force: has('force'), renumber: !has('keep-sequences') };
    const { secret, deployments } = await write(file, archive, settings, how, progress);
    const dataDir = resolve(settings.dataDir);
    return {
      result: { ...result, dataDir, masterSecret: snake(secret), renumberedDeployments: deployments },
      words: [
        `Restored ${what} into ${dataDir}.`,
        secretWords[secret],
        how.renumber ? renumberedWords(deployments) : keptWords,
        ...(secret === 'missing' ? [] : ['You can start the hub.']),
      ].filter((line) => line !== ''),
    };
  });
}

/**
 * Reads every page of the database.
 * @param path where the database is: in the file itself, or copied out of it
 * @throws HubError when it is damaged, or not the one that the back-up's manifest describes
 */
async function check(path: string, { manifest }: Archive, file: string): Promise<Facts> {
  const facts = await checkDatabase(path).catch((error: unknown) => {
    if (!(error instanceof HubError)) throw error;
    throw new HubError(error.code, `The database in ${file} is not usable. ${error.message}`);
  });
  const { masterSecret } = manifest;
  const opens =
    masterSecret === null || facts.sealed === null || opensSeal(createSecrets(masterSecret), facts.sealed);
  if (facts.hubId === manifest.hubId && facts.schema === manifest.schema && opens) return facts;
  throw new HubError(
    'conflict',
    `${file} is damaged: its database or master secret does not match its description. Use another back-up.`,
  );
}

/** @throws HubError when there is a hub in the folder, or another master secret */
function refuseTaken(dataDir: string, { manifest }: Archive): void {
  const size = statSync(join(dataDir, 'reeve.db'), { throwIfNoEntry: false })?.size ?? 0;
  const kept = manifest.masterSecret === null ? null : readKept(join(dataDir, secretFile));
  const existingFiles = [
    ...(size > 0 ? ['reeve.db'] : []),
    ...(existsSync(join(dataDir, 'hub.id')) ? ['hub.id'] : []),
    ...(kept !== null && kept !== manifest.masterSecret ? [secretFile] : []),
  ];
  if (existingFiles.length === 0) return;
  throw new HubError(
    'conflict',
    `${resolve(dataDir)} already contains a hub (${existingFiles.join(', ')}). Set DATA_DIR to another folder, or replace the hub with --force.`,
  );
}

async function write(
  file: string,
  archive: Archive,
  settings: FolderSettings,
  { force, renumber }: { readonly force: boolean; readonly renumber: boolean },
  progress: Progress,
): Promise<{ readonly secret: SecretState; readonly deployments: number }> {
  const { dataDir } = settings;
  const database = join(dataDir, 'reeve.db');
  const draft = `${database}.restoring`;
  try {
    makeFolder(dataDir);
    const lock = lockStore(database);
    ownAsFolder(dataDir, [`${database}.lock`]);
    try {
      if (!force) refuseTaken(dataDir, archive);
      rmSync(draft, { force: true });
      return await withDraft(draft, async () => {
        const { databaseBytes } = archive.manifest;
        const { free } = diskSpaceOf(dataDir);
        if (free < databaseBytes) {
          throw new HubError(
            'disk_full',
            `The disk of ${resolve(dataDir)} has ${inWords(free)} left, but the database needs ${inWords(databaseBytes)}. Free space, or set DATA_DIR to another disk.`,
          );
        }
        await openArchive(file, archive, draft, (done, total) => progress.report('Copying', done, total));
        progress.report('Checking', databaseBytes, databaseBytes);
        const facts = await check(draft, archive, file);
        const deployments = renumber ? renumberDeployments(draft, systemClock.now()) : 0;
        replace(dataDir, draft, archive, facts.isSetUp);
        removeMark(dataDir);
        removeBackupMark(dataDir);
        return { secret: secretState(settings, archive, facts), deployments };
      });
    } finally {
      progress.end();
      lock.release();
    }
  } catch (error) {
    throw folderFailure(error, `The data folder ${resolve(dataDir)}`);
  }
}

/**
 * Puts the checked database in place. Killed anywhere in here, it leaves the old hub, the new one, or a folder that no
 * hub starts on.
 */
function replace(dataDir: string, draft: string, { manifest }: Archive, isSetUp: boolean): void {
  const at = (name: string): string => join(dataDir, name);
  const { hubId, masterSecret } = manifest;
  keepInstead(at('hub.id'), hubId);
  if (masterSecret !== null) {
    const old = readKept(at(secretFile));
    // Older back-ups of the hub that is replaced may need it.
    if (old !== null && old !== masterSecret) keepInstead(at(`${secretFile}.replaced`), old);
    keepInstead(at(secretFile), masterSecret);
  }
  // Without a database no hub starts here, so nobody finds the old one without its log.
  if (existsSync(at('reeve.db'))) renameSync(at('reeve.db'), at('reeve.db.replaced'));
  syncFolder(dataDir);
  // A log of the old database would be read into the new one.
  for (const name of ['reeve.db-wal', 'reeve.db-shm']) rmSync(at(name), { force: true });
  renameSync(draft, at('reeve.db'));
  syncFolder(dataDir);
  rmSync(at('reeve.db.replaced'), { force: true });
  // A hub that was never set up has no id in its folder.
  if (!isSetUp) rmSync(at('hub.id'));
  const names = ['reeve.db', 'hub.id', secretFile, `${secretFile}.replaced`];
  ownAsFolder(dataDir, names.map(at));
}

function secretState(
  { dataDir, secretKey }: FolderSettings,
  { manifest }: Archive,
  facts: Facts,
): SecretState {
  const { sealed } = facts;
  if (manifest.masterSecret !== null) return 'included';
  const opens = (secret: string | null): boolean =>
    secret !== null && secret.length >= 32 && (sealed === null || opensSeal(createSecrets(secret), sealed));
  if (opens(secretKey)) return 'inEnvironment';
  return opens(readKept(join(dataDir, secretFile))) ? 'inFolder' : 'missing';
}
