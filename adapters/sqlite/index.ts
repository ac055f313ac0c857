// The embedded store: one SQLite file, one process.
import type { Store } from '../../src/ports/store.ts';
import { openInline } from './inline.ts';

/** Opens a store that works on the caller's own thread. @param path a file, or `:memory:` */
export const openSqliteInline = (path: string): Promise<Store> => openInline(path);
