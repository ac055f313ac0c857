// The embedded store: one SQLite file, one process.
import { HubError } from '../../src/shared/error.ts';
import { openInline } from './inline.ts';
import { purgeReserveOf } from './purge-reserve.ts';
import type { SqliteStore } from './sync.ts';
import { openThreads, type SqliteOptions } from './threads/threads.ts';

export { checkDatabase, copyDatabase, type Facts } from './copy.ts';
export { reserveOf } from './disk.ts';
export { lockStore } from './lock.ts';
export { enabledChannels, inspectDatabase } from './look.ts';
export { renumberDeployments } from './restored.ts';
export type { SqliteStore } from './sync.ts';
export type { SqliteOptions } from './threads/threads.ts';

/**
 * Opens the store on two threads of its own: nothing it does holds up the event loop. On a full disk it opens in the
 * space that is kept for a purge, if there is any.
 * @throws HubError('conflict') when another process has it open or a newer version made it
 */
export async function openSqlite(options: SqliteOptions): Promise<SqliteStore> {
  try {
    return await openThreads(options);
  } catch (error) {
    const isFull = error instanceof HubError && error.code === 'disk_full';
    if (!isFull || !(await purgeReserveOf(options.path).release())) throw error;
    return openThreads(options);
  }
}

/** Opens a store that works on the caller's own thread. @param path a file, or `:memory:` */
export const openSqliteInline = (path: string): Promise<SqliteStore> => openInline(path);
