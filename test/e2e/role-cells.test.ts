// Role × environment × route on the embedded store.
import { afterAll, beforeAll } from 'vitest';
import { testRoleCells } from '../role-cells/cells.ts';
import { HubProcess } from './process.ts';

// The figures of a hub are an admin's where it has one tenant.
const hub = new HubProcess({ RATE_LIMIT_MAX_ATTEMPTS: '100000', LOG_LEVEL: 'warn' });

beforeAll(() => hub.start());
afterAll(() => hub.remove());

testRoleCells(() => hub);
