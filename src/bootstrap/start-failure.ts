// What the system refused when the hub started, as one line that says what to do.
import { HubError } from '../domain/error.ts';

type Words = (message: string, dataDir: string) => string;

const full: Words = (message, dataDir) =>
  `The disk of the data folder ${dataDir} is full (${message}). Free some space there, then start again.`;
const forbidden: Words = (message, dataDir) =>
  `The data folder ${dataDir} cannot be used (${message}). The user that runs the hub must own it and be able to write there.`;
const noFolder: Words = (message, dataDir) =>
  `The data folder ${dataDir} cannot be used (${message}). Set DATA_DIR to a folder.`;

const words: { readonly [code: string]: Words } = {
  ENOSPC: full,
  EDQUOT: full,
  EACCES: forbidden,
  EPERM: forbidden,
  EROFS: forbidden,
  EEXIST: noFolder,
  ENOTDIR: noFolder,
  EISDIR: noFolder,
};

/** The error in words for what the system refuses about files; any other error as it is. */
export function startFailure(error: unknown, dataDir: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || error instanceof HubError) return error;
  const said = words[String(error.code)];
  return said ? new HubError('unavailable', said(error.message, dataDir)) : error;
}
