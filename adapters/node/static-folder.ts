// Reads the built web console into memory, with what the build compressed beside each file (`x.js.br`, `x.js.gz`).
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { StaticFile, StaticFolder } from '../../src/shared/ports/static-folder.ts';

const types: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
};

/** @param folder an absolute path; null when it holds no index.html, because nothing was built */
export function readStaticFolder(folder: string): StaticFolder | null {
  if (!existsSync(join(folder, 'index.html'))) return null;
  const files = new Map<string, StaticFile>();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const path = join(folder, name);
    const identity = readFileSync(path);
    const shorter = (extension: string): Uint8Array | null => {
      const other = existsSync(path + extension) ? readFileSync(path + extension) : null;
      return other && other.length < identity.length ? other : null;
    };
    const etag = `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`;
    files.set(name.replaceAll('\\', '/'), {
      type,
      etag,
      identity,
      br: shorter('.br'),
      gzip: shorter('.gz'),
    });
  }
  return files;
}
