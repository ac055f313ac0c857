// The agent's files as the older engine asks about them: it also asks which names exist, and which are links.
import { lstatSync, readdirSync } from 'node:fs';
import { agentFiles } from '../../../../src/guard/files.ts';
import type { FileName, Files } from './path.ts';

export const oracleFiles = (cwd: string): Files => ({ ...agentFiles(cwd), exists, list });

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (failure) {
    // A name that is too long, or below a file, names nothing; one that may not be looked at may be there.
    const { code } = failure as NodeJS.ErrnoException;
    return code === 'EACCES' || code === 'EPERM';
  }
}

function list(folder: string, max: number): readonly FileName[] | null {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    if (entries.length > max) return null;
    return entries.map((entry) => ({ name: entry.name, isLink: !entry.isFile() && !entry.isDirectory() }));
  } catch {
    return [];
  }
}
