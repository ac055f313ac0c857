// The start says when the Node it runs on is out of support.
import { expect, it } from 'vitest';
import { nodeNotice } from '../../../src/hub/commands/node-support.ts';

it('names a Node that is out of support, and what to install', () => {
  expect(nodeNotice('20.20.2')).toBe(
    'Node 20 is out of support. Reeve still runs on it; install Node 24 or 22.',
  );
  expect(nodeNotice('22.23.3')).toBeNull();
  expect(nodeNotice('24.21.0')).toBeNull();
});
