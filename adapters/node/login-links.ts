// Sign-in links as files of the data folder, named after the hash of their token, readable by the hub's user alone.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoginLink, LoginLinks } from '../../src/user/port/login-links.ts';

const hashPattern = /^[0-9a-f]{64}$/;
const folderOf = (dataDir: string): string => join(dataDir, 'login-links');
const fileOf = (dataDir: string, hash: string): string => join(folderOf(dataDir), `${hash}.json`);

function read(file: string): LoginLink | null {
  try {
    const { email, expiresAt } = JSON.parse(readFileSync(file, 'utf8')) as LoginLink;
    return typeof expiresAt === 'number'
      ? { email: typeof email === 'string' ? email : null, expiresAt }
      : null;
  } catch {
    return null;
  }
}

/** Keeps a link until it is taken; those that expired before `now` go. */
export function keepLoginLink(dataDir: string, tokenHash: string, link: LoginLink, now: number): void {
  mkdirSync(folderOf(dataDir), { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folderOf(dataDir))) {
    const file = join(folderOf(dataDir), name);
    if ((read(file)?.expiresAt ?? 0) < now) rmSync(file, { force: true });
  }
  writeFileSync(fileOf(dataDir, tokenHash), JSON.stringify(link), { mode: 0o600, flag: 'wx' });
}

/** @param dataDir null where the data is in no folder: then there are no links */
export function createLoginLinks(dataDir: string | null): LoginLinks {
  return {
    async take(tokenHash) {
      if (dataDir === null || !hashPattern.test(tokenHash)) return null;
      const file = fileOf(dataDir, tokenHash);
      const link = read(file);
      if (link === null) return null;
      try {
        // Of two that read it, one removes it.
        rmSync(file);
      } catch {
        return null;
      }
      return link;
    },
  };
}
