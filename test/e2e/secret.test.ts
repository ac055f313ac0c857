// A store that is opened with another master secret than the one it was made with.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { HubProcess } from './process.ts';

describe('a DATA_DIR with another SECRET_KEY', () => {
  const made: HubProcess[] = [];
  const aHub = (settings: { readonly [name: string]: string }) => {
    const hub = new HubProcess(settings);
    made.push(hub);
    return hub;
  };
  afterAll(async () => {
    for (const hub of made) await hub.remove();
  });

  it('is refused at the start in one line, and starts with the right one', async () => {
    const first = aHub({ SECRET_KEY: 'a'.repeat(40) });
    await first.start();
    await first.stop();
    const other = aHub({ SECRET_KEY: 'b'.repeat(40), DATA_DIR: first.dataDir });
    await expect(other.start()).rejects.toThrow('ended with 1');
    expect(other.output.trim().split('\n').at(-1)).toBe(
      'The secrets in this store are sealed with another SECRET_KEY. Start every node with the SECRET_KEY from the first start.',
    );
    await first.start();
    expect((await first.call('GET', '/api/v1/health/ready')).status).toBe(200);
    await first.stop();
  });

  itAtNight('whose secret.key was lost says where it belongs', async () => {
    const hub = aHub({});
    await hub.start();
    await hub.stop();
    const path = join(hub.dataDir, 'secret.key');
    renameSync(path, `${path}.kept`);
    await expect(hub.start()).rejects.toThrow(
      `Restore the file secret.key from the first start of ${hub.dataDir}`,
    );
    writeFileSync(path, '');
    renameSync(`${path}.kept`, path);
    await hub.start();
    expect((await hub.call('GET', '/api/v1/health/ready')).status).toBe(200);
  });
});
