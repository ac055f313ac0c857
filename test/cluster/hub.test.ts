// Three real hub processes as one hub: what one node is told, the others do.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSse } from '../e2e/sse.ts';
import { eventually, type Nodes, startNodes } from './nodes.ts';
