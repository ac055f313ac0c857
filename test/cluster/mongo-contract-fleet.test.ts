// The store on MongoDB keeps every promise of the ports: approvals, agents and channels.
import { storeContract } from '../conformance/store.ts';
import { mongoDatabases } from './stage.ts';

const databases = mongoDatabases();
storeContract('mongo', () => databases.open(), ['fleet'], false);
