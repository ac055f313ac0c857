// The store on MongoDB keeps every promise of the ports: events and runs.
import { storeContract } from '../conformance/store.ts';
import { mongoDatabasesOfFile } from './stage.ts';

const databases = mongoDatabasesOfFile();
storeContract('mongo', () => databases.open(), ['events'], false);
