// The page on security: each bound names a file that exists.
import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);

it('names files that exist beside its bounds', () => {
  const page = readFileSync(new URL('docs/security.md', root), 'utf8');
  const files = [...page.matchAll(/`((?:src|adapters|actors|packages)\/[\w./-]+\.ts)`/g)].map(([, file]) =>
    String(file),
  );
  expect(files.length).toBeGreaterThan(40);
  expect(files.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
});
