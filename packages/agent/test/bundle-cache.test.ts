// The cache file of a bundle: temporary files of writes that were cut off do not stay.
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BundleCache } from '../src/bundle/cache.ts';
import { noProvenance } from '../src/hub.ts';

const day = 24 * 60 * 60 * 1000;
const bundle = {
  ...{ bundleName: 'guardrails', version: 1, bytes: Buffer.from('one') },
  ...{ revisionHash: null, signature: null, publicKey: null, provenance: noProvenance },
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-cache-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const cache = (): BundleCache =>
  new BundleCache(join(folder, 'cache.json'), { url: 'http://hub', env: 'production', configured: null });

async function put(name: string, age: number): Promise<string> {
  await writeFile(join(folder, name), 'half');
  const at = new Date(Date.now() - age);
  await utimes(join(folder, name), at, at);
  return name;
}

it('removes its own temporary files older than a day, and nothing else', async () => {
  await put(`cache.json.${randomUUID()}`, 2 * day);
  await put(`cache.json.${randomUUID()}`, 30 * day);
  const kept = await Promise.all([
    put(`cache.json.${randomUUID()}`, day / 2),
    put(`other.json.${randomUUID()}`, 2 * day),
    put('cache.json.backup', 2 * day),
    put(`cache.json.${randomUUID()}.old`, 2 * day),
  ]);
  await cache().save(bundle);
  expect((await readdir(folder)).sort()).toEqual(['cache.json', ...kept].sort());
});

it('is written although a leftover cannot be removed, and removes the others', async () => {
  const stuck = `cache.json.${randomUUID()}`;
  await mkdir(join(folder, stuck));
  const at = new Date(Date.now() - 2 * day);
  await utimes(join(folder, stuck), at, at);
  await put(`cache.json.${randomUUID()}`, 2 * day);
  const one = cache();
  await one.save(bundle);
  expect((await readdir(folder)).sort()).toEqual(['cache.json', stuck].sort());
  expect(await one.load()).toMatchObject({ bundleName: 'guardrails' });
});
