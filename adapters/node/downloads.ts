// Reads what the build packed for /downloads/ into memory.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StaticFile, StaticFolder } from '../../src/shared/ports/static-folder.ts';

const pageName = 'index.html';

const typeOf = (name: string): string => {
  if (name === pageName) return 'text/html; charset=utf-8';
  return name.endsWith('.tgz') ? 'application/gzip' : 'text/plain; charset=utf-8';
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/**
 * @param folder an absolute path
 * @param baseUrl the hub's address in the page's commands
 * @returns null when the folder holds nothing, because nothing was packed
 */
export function readDownloads(folder: string, baseUrl: string): StaticFolder | null {
  if (!existsSync(join(folder, pageName))) return null;
  const files = readdirSync(folder).map((name): [string, StaticFile] => {
    const stored = readFileSync(join(folder, name));
    const identity =
      name === pageName
        ? Buffer.from(stored.toString('utf8').replaceAll('{BASE_URL}', escaped(baseUrl)))
        : stored;
    const etag = `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`;
    return [name, { type: typeOf(name), etag, identity, br: null, gzip: null }];
  });
  return new Map(files);
}
