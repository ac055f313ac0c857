// The hub of a test file: started before its first test, removed after its last.
import { afterAll } from 'vitest';
import type { HubProcess } from '../e2e/process.ts';
import { startedHub } from './browser.ts';

interface FileHub {
  readonly hub: HubProcess;
  /** Of its admin. */
  readonly cookie: string;
}

/** A hub that is set up and has nothing in it. */
export async function hubOfFile(settings?: { readonly [name: string]: string }): Promise<FileHub> {
  const made = await startedHub(settings);
  afterAll(() => made.hub.remove());
  return made;
}

/** The same with a key of production, as most tests need one. */
export async function hubWithKey(settings?: {
  readonly [name: string]: string;
}): Promise<FileHub & { readonly key: string }> {
  const made = await hubOfFile(settings);
  const { key } = await made.hub.key(made.cookie);
  return { ...made, key };
}
