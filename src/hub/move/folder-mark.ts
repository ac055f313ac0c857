// The mark of a data folder whose data was moved to a cluster: no hub starts on it any more.

import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { keepInstead, readKept } from '../../../adapters/node/data-folder.ts';
import { HubError } from '../../shared/error.ts';
import { camelKeys, snakeKeys } from '../../shared/snake-keys.ts';

export const markFile = 'moved.json';

export interface FolderMark {
  readonly hubId: string;
  /** Hosts and database, without credentials. */
  readonly to: string;
  readonly at: string;
}

export function markOf(dataDir: string): FolderMark | null {
  const text = readKept(join(dataDir, markFile));
  return text === null ? null : (camelKeys(JSON.parse(text)) as FolderMark);
}

export const markMoved = (dataDir: string, mark: FolderMark): void =>
  keepInstead(join(dataDir, markFile), JSON.stringify(snakeKeys({ ...mark }), null, 2));

export const removeMark = (dataDir: string): void => rmSync(join(dataDir, markFile), { force: true });

/** @throws HubError conflict for a folder whose data was moved */
export function refuseMoved(dataDir: string): void {
  const mark = markOf(dataDir);
  if (!mark) return;
  throw new HubError(
    'conflict',
    `The data of ${resolve(dataDir)} was moved to ${mark.to} at ${mark.at}. Set MONGODB_URL and REDIS_URL to start a node ` +
      `there. To start the old data all the same, remove ${join(dataDir, markFile)}: the two hubs then know nothing of each other.`,
  );
}
