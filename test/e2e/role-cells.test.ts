// Role × environment × route on the embedded store.
import { afterAll, beforeAll } from 'vitest';
import { testRoleCells } from '../role-cells/cells.ts';
import { SharedHub } from './shared-hub.ts';

const hub = new SharedHub();

beforeAll(() => hub.start());
afterAll(() => hub.remove());

testRoleCells(() => hub);
