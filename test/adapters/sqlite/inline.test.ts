// The SQLite store on the thread of its caller: every promise of a store. At night, since the same statements run on
// threads per commit (threads.test.ts), and most other tests use this store.
import { describe } from 'vitest';
import { openSqliteInline } from '../../../adapters/sqlite/index.ts';
import { storeContract } from '../../conformance/store.ts';
import { valuesContract } from '../../conformance/values.ts';
import { isNightly } from '../../runs.ts';

describe.runIf(isNightly)('at night', () => {
  storeContract('sqlite in memory', () => openSqliteInline(':memory:'));
  valuesContract('sqlite in memory', () => openSqliteInline(':memory:'));
});
