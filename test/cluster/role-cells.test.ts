// Role × environment × route on a node of a cluster, over MongoDB and Redis.
import { afterAll, beforeAll } from 'vitest';
import { testRoleCells } from '../role-cells/cells.ts';
import { type Nodes, startNodes } from './nodes.ts';

let nodes: Nodes;

beforeAll(async () => {
  nodes = await startNodes({ count: 1, env: { RATE_LIMIT_MAX_ATTEMPTS: '100000' } });
});
afterAll(() => nodes?.remove());

testRoleCells(() => nodes.at(0), true);
