// Which HTTP server is chosen, and what is said about it.
import { expect, it } from 'vitest';
import { startNodeServer } from '../../adapters/node-http/server.ts';
import { loadUws } from '../../adapters/uws/load.ts';
import { startServer } from '../../adapters/uws/server.ts';
import { chooseServer } from '../../src/hub/server.ts';

const doesNotLoad = () => loadUws(() => Promise.reject(new Error("version `GLIBC_2.38' not found")));

it('is the native one where it loads', async () => {
  expect(await chooseServer('auto', async () => {})).toEqual({ start: startServer, note: null });
});

it("is Node's own where the native one does not load, and says why and what it costs", async () => {
  const { start, note } = await chooseServer('auto', doesNotLoad);
  expect(start).toBe(startNodeServer);
  expect(note).toMatch(/GLIBC_2\.38.*The hub uses Node's own HTTP server instead: .*1\.4 times/);
  expect(note).not.toContain('\n');
});

it('is the one that was asked for, or none', async () => {
  expect(await chooseServer('node', doesNotLoad)).toEqual({ start: startNodeServer, note: null });
  await expect(chooseServer('native', doesNotLoad)).rejects.toMatchObject({ code: 'unavailable' });
});
