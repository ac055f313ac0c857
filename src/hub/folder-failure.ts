// Refusals of the system about a folder and its files, as one line with the action to take. Keeps promise P25.
import { HubError } from '../shared/error.ts';

type Words = (folder: string, message: string) => string;

const full: Words = (folder, message) =>
  `${folder} is on a full disk (${message}). Free space there, then try again.`;
const forbidden: Words = (folder, message) =>
  `${folder} cannot be used (${message}). Make the user that runs this command its owner, with write access.`;
const noFolder: Words = (folder, message) => `${folder} cannot be used (${message}): it must be a folder.`;

const words: { readonly [code: string]: Words } = {
  ENOSPC: full,
  EDQUOT: full,
  EACCES: forbidden,
  EPERM: forbidden,
  EROFS: forbidden,
  EEXIST: noFolder,
  ENOTDIR: noFolder,
};

/**
 * @param folder its path, with what it is for in front where that helps. Errors of other kinds are returned as they
 *   are.
 */
export function folderFailure(error: unknown, folder: string): unknown {
  if (!(error instanceof Error) || !('code' in error) || error instanceof HubError) return error;
  const sentence = words[String(error.code)];
  return sentence ? new HubError('unavailable', sentence(folder, error.message)) : error;
}
