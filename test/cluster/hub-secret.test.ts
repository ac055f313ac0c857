// Nodes that do not share their master secret cannot be one hub.
import { afterAll, describe, expect, it } from 'vitest';
import { HubProcess } from '../e2e/process.ts';
import { Nodes } from './nodes.ts';

describe('nodes with different SECRET_KEYs', () => {
  const nodes = new Nodes({ count: 2 });
  const stranger = new HubProcess({ ...nodes.at(0).settings, SECRET_KEY: 'x'.repeat(40) });
  afterAll(async () => {
    await stranger.remove();
    await nodes.remove();
  });

  it('are told apart at the start, in one line, and the others go on', async () => {
    await nodes.start();
    await expect(stranger.start()).rejects.toThrow(
      'The secrets in this store are sealed with another SECRET_KEY.',
    );
    expect((await nodes.at(1).call('GET', '/api/v1/health/ready')).status).toBe(200);
  });
});
