// Go, for tests each night that build a program from Go modules.
import { onPath } from './command.ts';
import { exists } from './debian.ts';

/** A first build takes minutes, and more on a busy machine. */
export const buildMs = 30 * 60_000;

/** The path of Go. @throws Error what to install */
export async function goProgram(): Promise<string> {
  const path = (await onPath('go')) ?? '/usr/local/go/bin/go';
  if (!(await exists(path))) throw new Error('Some tests of the night need Go 1.26 or later: install Go.');
  return path;
}
