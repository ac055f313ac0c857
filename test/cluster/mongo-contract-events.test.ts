// The store on MongoDB keeps every promise of the ports: events and runs.
import { storeContract } from '../conformance/store.ts';
import { mongoDatabases } from './stage.ts';

const databases = mongoDatabases();
storeContract('mongo', () => databases.open(), ['events'], false);
