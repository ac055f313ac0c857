// The file of a back-up: what is put in comes out, and nothing that was changed or cut off does.
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openArchive, readArchive, sealArchive } from '../../../adapters/node/archive.ts';
import { isNightly } from '../../runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'reeve-archive-'));
afterAll(() => rmSync(folder, { recursive: true }));

let made = 0;
const name = () => join(folder, `file-${++made}`);
const silent = () => {};
const manifest = {
  version: '1.2.3',
  createdAt: '2026-01-01T00:00:00.000Z',
  hubId: '0123456789abcdef',
  schema: 7,
  masterSecret: 'a master secret with ü',
};

async function sealed(bytes: number) {
  const path = name();
  const database = Buffer.alloc(bytes, 'database');
  writeFileSync(path, database);
  const archive = await sealArchive(path, manifest, silent);
  return { path, database, archive };
}

async function opened(path: string): Promise<Buffer> {
  const to = name();
  await openArchive(path, await readArchive(path), to, silent);
  expect(statSync(to).mode & 0o777).toBe(0o600);
  return readFileSync(to);
}

describe('a back-up', () => {
  it.each([1, 4096, 1 << 20, (1 << 20) + 1, 3_500_000])(
    'of %d bytes says what it is and gives them back',
    async (bytes) => {
      const { path, database, archive } = await sealed(bytes);
      expect(archive).toMatchObject({
        manifest: { ...manifest, databaseBytes: bytes },
        bytes: statSync(path).size,
      });
      expect(await readArchive(path)).toEqual(archive);
      expect((await opened(path)).equals(database)).toBe(true);
      const seen: [number, number][] = [];
      await openArchive(path, archive, null, (done, total) => seen.push([done, total]));
      const [done, total] = seen.at(-1) ?? [];
      expect(done).toBe(total);
    },
  );

  it('is refused when any byte was changed', async () => {
    const { path } = await sealed(5000);
    const whole = readFileSync(path);
    for (let at = 0; at < whole.length; at += isNightly ? 7 : 67) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 0x04;
      const bad = name();
      writeFileSync(bad, changed);
      await expect(opened(bad), `byte ${at}`).rejects.toMatchObject({ code: 'conflict' });
    }
  });

  it.each([1, 50, 92, 300, 4999])('is refused when %d bytes are missing at its end', async (missing) => {
    const { path } = await sealed(5000);
    truncateSync(path, statSync(path).size - missing);
    await expect(readArchive(path)).rejects.toMatchObject({
      message: expect.stringContaining('is not a complete Reeve back-up'),
    });
  });

  it('is refused when something is missing or added in its middle', async () => {
    const { path } = await sealed(5000);
    const whole = readFileSync(path);
    for (const changed of [
      Buffer.concat([whole.subarray(0, 100), whole.subarray(200)]),
      Buffer.concat([whole, whole]),
      Buffer.concat([Buffer.from('x'), whole]),
    ]) {
      const bad = name();
      writeFileSync(bad, changed);
      await expect(opened(bad)).rejects.toMatchObject({ code: 'conflict' });
    }
  });

  it.each([
    ['', 'nothing'],
    ['x'.repeat(10_000), 'anything'],
    ['reeve-backup 1 9999999999 ', 'part of its last line'],
  ])('is not what holds %s', async (text) => {
    const path = name();
    writeFileSync(path, text);
    await expect(readArchive(path)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('of a later format is told so', async () => {
    const { path } = await sealed(100);
    writeFileSync(path, readFileSync(path, 'latin1').replace('reeve-backup 1 ', 'reeve-backup 2 '), 'latin1');
    await expect(readArchive(path)).rejects.toThrow('this version does not support its format 2');
  });
});
