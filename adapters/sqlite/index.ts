// The embedded store: one SQLite file, one process.
import type { Store } from '../../src/ports/store.ts';
import { openInline } from './inline.ts';
import { openThreads, type SqliteOptions } from './threads.ts';

export type { SqliteOptions } from './threads.ts';

/**
 * Opens the store on two threads of its own: nothing it does holds up the event loop.
 * @throws HubError('conflict') when another process has it open or a newer version made it
 */
export const openSqlite = (options: SqliteOptions): Promise<Store> => openThreads(options);

/** Opens a store that works on the caller's own thread. @param path a file, or `:memory:` */
export const openSqliteInline = (path: string): Promise<Store> => openInline(path);
