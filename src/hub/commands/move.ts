// `reeve move`: an embedded hub's data into a MongoDB and a Redis, which the nodes of a cluster then share.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openJobTarget } from '../../../adapters/bullmq/move.ts';
import { openMoveTarget } from '../../../adapters/mongo/move/target.ts';
import { systemClock } from '../../../adapters/node/clock.ts';
import { keepInstead, readKept } from '../../../adapters/node/data-folder.ts';
import { keptSecret, secretFile } from '../../../adapters/node/master.ts';
import { createSecrets } from '../../../adapters/node/secrets.ts';
import { openValueTarget } from '../../../adapters/redis/move.ts';
import { type MoveSource, openMoveSource } from '../../../adapters/sqlite/move/source.ts';
import { HubError } from '../../shared/error.ts';
import type { Log } from '../../shared/ports/log.ts';
import { type FolderSettings, readFolderSettings } from '../config.ts';
import { folderFailure } from '../folder-failure.ts';
import { opensSeal } from '../master.ts';
import { markMoved, markOf } from '../move/folder-mark.ts';
import { Move, type MoveResult } from '../move/move.ts';
import { answer, say, UsageError } from './output.ts';
import { createProgress } from './progress.ts';

const help = `reeve move --to-mongodb URL --to-redis URL [--json]

Moves the data of an embedded hub in DATA_DIR into MongoDB and Redis, for a cluster. Stop the hub first. The command
copies every record, then compares counts and digests of each kind and checks the audit chains. Only then it marks
DATA_DIR as moved: no hub starts on it any more. If the command is interrupted, run it again. Back up DATA_DIR first
(reeve backup).

  --to-mongodb URL   an empty database [MONGODB_URL]
  --to-redis URL     a server without keys of CLUSTER_NAME [REDIS_URL]
  --json             print the result or the error as JSON
  --help             print this text

Settings: DATA_DIR [./data], SECRET_KEY (the cluster's; it must be the one of DATA_DIR), CLUSTER_NAME [reeve].
docs/move.md has the steps.
`;

interface Request {
  readonly mongoUrl: string;
  readonly redisUrl: string;
  readonly settings: FolderSettings;
}

const noLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        'to-mongodb': { type: 'string' },
        'to-redis': { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message} See reeve move --help.`);
  }
}

/** @throws UsageError */
function requestOf(to: {
  readonly mongodb: string | undefined;
  readonly redis: string | undefined;
}): Request {
  const settings = readFolderSettings();
  const [mongoUrl, redisUrl] = [
    to.mongodb ?? settings.cluster.mongoUrl,
    to.redis ?? settings.cluster.redisUrl,
  ];
  if (!/^mongodb(\+srv)?:\/\/./.test(mongoUrl))
    throw new UsageError('--to-mongodb needs a URL that begins with mongodb:// or mongodb+srv://.');
  if (!/^rediss?:\/\/./.test(redisUrl) || !URL.canParse(redisUrl))
    throw new UsageError('--to-redis needs a URL that begins with redis:// or rediss://.');
  return { mongoUrl, redisUrl, settings };
}

/** Before the first write. @throws HubError conflict */
function checkSecret({ sealed }: MoveSource, { dataDir, secretKey }: FolderSettings): void {
  const secret = secretKey ?? keptSecret(dataDir);
  if (sealed !== null && secret !== null && opensSeal(createSecrets(secret), sealed)) return;
  throw new HubError(
    'conflict',
    secretKey === null
      ? `The master secret of ${resolve(dataDir)} is missing. Set SECRET_KEY to the one that the hub was started with.`
      : `SECRET_KEY is not the master secret of ${resolve(dataDir)}. A cluster needs the same one: use the content of its ${secretFile}, or the SECRET_KEY that the hub was started with.`,
  );
}

/** Hosts and database, without credentials. */
const shownTarget = (url: string): string =>
  url.replace(/^(mongodb(?:\+srv)?:\/\/)(?:[^/@]*@)?/, '$1').replace(/\?.*$/, '');

function openSource({ dataDir }: FolderSettings): MoveSource {
  const database = join(dataDir, 'reeve.db');
  if (!existsSync(database)) {
    throw new HubError('not_found', `${resolve(dataDir)} contains no hub (no reeve.db). Set DATA_DIR.`);
  }
  const idFile = join(dataDir, 'hub.id');
  try {
    return openMoveSource(database, {
      read: () => readKept(idFile),
      write: (id) => keepInstead(idFile, id),
    });
  } catch (error) {
    throw folderFailure(error, `The data folder ${resolve(dataDir)}`);
  }
}

async function run({ mongoUrl, redisUrl, settings }: Request): Promise<MoveResult> {
  const { dataDir, cluster } = settings;
  const source = openSource(settings);
  const closing: (() => unknown)[] = [() => source.close()];
  const progress = createProgress(systemClock, (records) => `${records} records`);
  try {
    if (!source.isSetUp) throw new HubError('not_found', `${resolve(dataDir)} contains a hub without users.`);
    checkSecret(source, settings);
    const target = await openMoveTarget(mongoUrl, noLog);
    closing.push(() => target.close());
    const mark = markOf(dataDir);
    if (mark && !(await target.marker())) {
      throw new HubError(
        'conflict',
        `The data of ${resolve(dataDir)} was moved to ${mark.to} at ${mark.at}.`,
      );
    }
    const values = await openValueTarget(redisUrl, `${cluster.name}:`, systemClock, noLog);
    closing.push(() => values.close());
    const jobs = await openJobTarget(redisUrl, cluster.name, systemClock);
    closing.push(() => jobs.close());
    const { report } = progress;
    say(`Moving about ${source.total} records from ${resolve(dataDir)} to ${shownTarget(mongoUrl)}.`);
    const at = new Date(systemClock.now()).toISOString();
    const checked = (): void => {
      if (!mark) markMoved(dataDir, { hubId: source.hubId, to: shownTarget(mongoUrl), at });
    };
    return await new Move({ source, target, values, jobs, clock: systemClock, report, checked }).run();
  } finally {
    progress.end();
    for (const close of closing.reverse()) await close();
  }
}

export async function move(args: readonly string[]): Promise<void> {
  const options = parse(args);
  await answer({ help: options.help ? help : null, json: options.json === true }, async () => {
    const request = requestOf({ mongodb: options['to-mongodb'], redis: options['to-redis'] });
    const { isNew, kinds } = await run(request);
    const { dataDir, secretKey } = request.settings;
    const to = shownTarget(request.mongoUrl);
    const count = Object.values(kinds).reduce((sum, { records }) => sum + records, 0);
    const secret =
      secretKey === null
        ? `Start every node with SECRET_KEY set to the content of ${join(resolve(dataDir), secretFile)}.`
        : 'Start every node with this SECRET_KEY.';
    return {
      result: { dataDir: resolve(dataDir), to, moved: isNew, records: count, kinds },
      words: [
        isNew
          ? `Moved ${count} records of ${resolve(dataDir)} to ${to}. Counts, digests and audit chains match.`
          : `The data of ${resolve(dataDir)} is in ${to} already.`,
        secret,
      ],
    };
  });
}
