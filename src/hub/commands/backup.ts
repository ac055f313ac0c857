// `reeve backup`: one file with everything that is in the data folder of an embedded hub, which may be running. Keeps
// promise P24.
import { closeSync, existsSync, lstatSync, openSync, realpathSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type Archive, sealArchive } from '../../../adapters/node/archive.ts';
import { markBackup } from '../../../adapters/node/backup-mark.ts';
import { systemClock } from '../../../adapters/node/clock.ts';
import { publishFirst, syncFolder } from '../../../adapters/node/data-folder.ts';
import { keptSecret } from '../../../adapters/node/master.ts';
import { createSecrets } from '../../../adapters/node/secrets.ts';
import { copyDatabase, type Facts } from '../../../adapters/sqlite/index.ts';
import { HubError } from '../../shared/error.ts';
import { version } from '../../version.ts';
import { readFolderSettings } from '../config.ts';
import { folderFailure } from '../folder-failure.ts';
import { opensSeal } from '../master.ts';
import { readArguments } from './arguments.ts';
import { draftSuffix, removeAbandonedDrafts, withDraft } from './cleanup.ts';
import { answer, refuseCluster } from './output.ts';
import { createProgress, inWords } from './progress.ts';

const help = `reeve backup [FILE] [--force] [--json]

Writes an embedded hub to one file: a snapshot of its database, its id, and its master secret if DATA_DIR contains it. The hub can keep
running; the file contains everything that it acknowledged before the command began. Run the command as the hub's user, or as root.

  FILE      file to write, or a folder for a file named after the time [reeve-<time>.backup]
  --force   replace an existing FILE
  --json    print the result or the error as JSON
  --help    print this text

Only its owner can read the file. A reader of the file can sign in place of the hub and read all its data: protect it like the hub.
Settings: DATA_DIR [./data]. With MONGODB_URL the data is in MongoDB: back it up with its own tools (docs/cluster.md).
`;

/** Reports the growth of a file that another thread writes. */
const watchEveryMs = 200;

/** The file to write: the one named, or one named after the time in the folder named. */
function targetOf(name: string | null, now: Date): string {
  const stamp = now.toISOString().replace(/[-:]|\.\d+/g, '');
  const isFolder = name !== null && (statSync(name, { throwIfNoEntry: false })?.isDirectory() ?? false);
  return resolve(name === null || isFolder ? join(name ?? '.', `reeve-${stamp}.backup`) : name);
}

/** The master secret that is kept in the folder, when it is the one of this database. */
function secretOf(dataDir: string, { sealed }: Facts): string | null {
  const kept = keptSecret(dataDir);
  if (kept === null || (sealed !== null && !opensSeal(createSecrets(kept), sealed))) return null;
  return kept;
}

export async function backup(args: readonly string[]): Promise<void> {
  const { file, has } = readArguments('backup', args, ['force']);
  await answer({ help: has('help') ? help : null, json: has('json') }, async () => {
    const { dataDir, isCluster } = readFolderSettings();
    refuseCluster(isCluster);
    const target = targetOf(file, new Date(systemClock.now()));
    const { manifest, sha256, bytes } = await write(dataDir, target, has('force'));
    const { hubId, createdAt, schema, masterSecret } = manifest;
    const isMarked = markBackup(dataDir, createdAt);
    const secret = masterSecret === null ? 'not_included' : 'included';
    return {
      result: {
        file: target,
        bytes,
        sha256,
        hubId,
        createdAt,
        version,
        schema,
        masterSecret: secret,
      },
      words: [
        `Backed up hub ${hubId} to ${target} (${inWords(bytes)}, SHA-256 ${sha256}).`,
        masterSecret === null
          ? 'The back-up does not contain the master secret, because DATA_DIR does not. Store SECRET_KEY separately: the back-up is useless without it.'
          : 'The back-up contains the master secret. Protect the file like the hub.',
        ...(isMarked
          ? []
          : [`${dataDir} cannot be written, so the metrics of the hub do not show this back-up.`]),
      ],
    };
  });
}

/**
 * Nothing of the hub is replaced by its back-up, and nothing that is no file.
 * @throws HubError conflict, not_found when there is no such folder
 */
function refuseTarget(dataDir: string, target: string): void {
  const folder = dirname(target);
  if (!(statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false)) {
    throw new HubError('not_found', `The folder ${folder} does not exist. Create it, or name another.`);
  }
  const isHubs = /^(reeve\.db|hub\.id|secret\.key)/.test(basename(target));
  if (isHubs && realpathSync(folder) === realpathSync(dataDir)) {
    throw new HubError('conflict', `${target} belongs to the hub itself. Name another file.`);
  }
  const there = lstatSync(target, { throwIfNoEntry: false });
  if (there && !there.isFile() && !there.isSymbolicLink()) {
    throw new HubError(
      'conflict',
      `${target} is not a regular file, so it is not replaced. Name another file.`,
    );
  }
}

async function write(dataDir: string, target: string, overwrite: boolean): Promise<Archive> {
  const database = join(dataDir, 'reeve.db');
  if ((statSync(database, { throwIfNoEntry: false })?.size ?? 0) === 0) {
    throw new HubError(
      'not_found',
      `${resolve(dataDir)} contains no hub: reeve.db is missing or empty. Set DATA_DIR.`,
    );
  }
  const taken = (): HubError =>
    new HubError('conflict', `${target} already exists. Name another file, or use --force.`);
  refuseTarget(dataDir, target);
  if (!overwrite && existsSync(target)) throw taken();
  removeAbandonedDrafts(dirname(target));
  const draft = `${target}${draftSuffix()}`;
  const progress = createProgress(systemClock);
  return withDraft(draft, async () => {
    try {
      closeSync(openSync(draft, 'wx', 0o600));
      const createdAt = new Date(systemClock.now()).toISOString();
      const facts = await copy(database, draft, progress.report);
      const { hubId, schema } = facts;
      const masterSecret = secretOf(dataDir, facts);
      const manifest = { version, createdAt, hubId, schema, masterSecret };
      const archive = await sealArchive(draft, manifest, (done, total) =>
        progress.report('Computing the digest', done, total),
      );
      if (overwrite) renameSync(draft, target);
      else if (!publishFirst(draft, target)) throw taken();
      syncFolder(dirname(target));
      return archive;
    } catch (error) {
      throw folderFailure(error, dirname(target));
    } finally {
      progress.end();
    }
  });
}

async function copy(
  database: string,
  draft: string,
  report: (what: string, done: number, total: number) => void,
): Promise<Facts> {
  let total = 0;
  const watch = systemClock.every(watchEveryMs, () =>
    report('Copying', statSync(draft, { throwIfNoEntry: false })?.size ?? 0, total),
  );
  try {
    return await copyDatabase(database, draft, (bytes) => {
      total = bytes;
    });
  } finally {
    watch.cancel();
  }
}
