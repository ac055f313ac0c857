// The SQLite store on its own thread of the caller: every promise of a store.
import { openSqliteInline } from '../../../adapters/sqlite/index.ts';
import { storeContract } from '../../conformance/store.ts';
import { valuesContract } from '../../conformance/values.ts';

storeContract('sqlite in memory', () => openSqliteInline(':memory:'));
valuesContract('sqlite in memory', () => openSqliteInline(':memory:'));
