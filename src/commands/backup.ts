// `reeve backup`: one file with everything that is in the data folder of an embedded hub, which may be running.
import { closeSync, existsSync, lstatSync, openSync, realpathSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type Archive, sealArchive } from '../../adapters/node/archive.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { publishFirst, syncFolder } from '../../adapters/node/data-folder.ts';
import { keptSecret } from '../../adapters/node/master.ts';
import { createSecrets } from '../../adapters/node/secrets.ts';
import { copyDatabase, type Facts } from '../../adapters/sqlite/index.ts';
import { folderFailure } from '../bootstrap/folder-failure.ts';
import { opensSeal } from '../bootstrap/master.ts';
import { readFolderSettings } from '../config.ts';
import { HubError } from '../domain/error.ts';
import { version } from '../version.ts';
import { readArguments } from './arguments.ts';
import { withDraft } from './cleanup.ts';
import { answer, refuseCluster } from './output.ts';
import { createProgress, inWords } from './progress.ts';

const help = `reeve backup [FILE] [--force] [--json]

Writes everything of an embedded hub into one file: its database as it is at one moment, its id, and its master secret when that is kept in
DATA_DIR. The hub may run meanwhile; what it acknowledged before the back-up began is in it. Run it as the hub's user, or as root.

  FILE      where to write, or a folder for a file named after the time [reeve-<time>.backup]
  --force   replace FILE when it exists
  --json    print the result, or the error, as JSON
  --help    this text

The file can be read by its owner alone. Who has it can sign in place of the hub and read all that it holds: keep it as safe as the hub.
Settings: DATA_DIR [./data]. With MONGODB_URL the data is in MongoDB: back that up with its own tools (docs/cluster.md).
`;

/** Reports the growth of a file that another thread writes. */
const watchEveryMs = 200;

/** The file to write: the one named, or one named after the time in the folder named. */
function targetOf(named: string | null, now: Date): string {
  const stamp = now.toISOString().replace(/[-:]|\.\d+/g, '');
  const isFolder = named !== null && (statSync(named, { throwIfNoEntry: false })?.isDirectory() ?? false);
  return resolve(named === null || isFolder ? join(named ?? '.', `reeve-${stamp}.backup`) : named);
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
    const secret = masterSecret === null ? 'not_included' : 'included';
    return {
      result: {
        file: target,
        bytes,
        sha256,
        hub_id: hubId,
        created_at: createdAt,
        version,
        schema,
        master_secret: secret,
      },
      words: [
        `Hub ${hubId} is backed up in ${target} (${inWords(bytes)}, SHA-256 ${sha256}).`,
        masterSecret === null
          ? 'Its master secret is not in it, because DATA_DIR does not keep it: keep SECRET_KEY apart, or the back-up cannot be used.'
          : 'Its master secret is in it: keep the file as safe as the hub.',
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
    throw new HubError('not_found', `There is no folder ${folder}. Make it first, or name another.`);
  }
  const isHubs = /^(reeve\.db|hub\.id|secret\.key)/.test(basename(target));
  if (isHubs && realpathSync(folder) === realpathSync(dataDir)) {
    throw new HubError('conflict', `${target} is a file of the hub itself. Name another file.`);
  }
  const there = lstatSync(target, { throwIfNoEntry: false });
  if (there && !there.isFile() && !there.isSymbolicLink()) {
    throw new HubError('conflict', `${target} is no file, and is not replaced. Name another file.`);
  }
}

async function write(dataDir: string, target: string, overwrite: boolean): Promise<Archive> {
  const database = join(dataDir, 'reeve.db');
  if ((statSync(database, { throwIfNoEntry: false })?.size ?? 0) === 0) {
    throw new HubError(
      'not_found',
      `There is no hub in ${resolve(dataDir)}: reeve.db is missing or empty. Set DATA_DIR.`,
    );
  }
  const taken = (): HubError =>
    new HubError('conflict', `${target} exists. Name another file, or use --force.`);
  refuseTarget(dataDir, target);
  if (!overwrite && existsSync(target)) throw taken();
  const draft = `${target}.${process.pid}.partial`;
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
