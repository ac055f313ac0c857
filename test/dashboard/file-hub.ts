// The hub of a test file: started before its first test, removed after its last. Most files need no process of their
// own: the files of a worker share one, in which each has a tenant.
import { afterAll } from 'vitest';
import { freePort } from '../../bench/suite/free-port.ts';
import type { HubProcess } from '../e2e/process.ts';
import { SharedHub } from '../e2e/shared-hub.ts';
import { startedHub } from './browser.ts';
import { reusePages } from './idle-pages.ts';

interface FileHub {
  readonly hub: HubProcess;
  /** Of its admin. */
  readonly cookie: string;
}

/** The next file's hub has the same origin, whose scripts the browser has compiled. */
let lastPort: number | undefined;

/** A hub that is set up and has nothing in it. */
export async function hubOfFile(settings?: { readonly [name: string]: string }): Promise<FileHub> {
  const fileHub = await startedHub(settings, await freePort(lastPort));
  lastPort = fileHub.hub.port;
  reusePages(fileHub.hub.url);
  afterAll(() => fileHub.hub.remove());
  return fileHub;
}

/** The same with a key of production, as most tests need one. */
export async function hubWithKey(settings?: {
  readonly [name: string]: string;
}): Promise<FileHub & { readonly key: string }> {
  return withKey(await hubOfFile(settings));
}

async function withKey(fileHub: FileHub): Promise<FileHub & { readonly key: string }> {
  const { key } = await fileHub.hub.key(fileHub.cookie);
  return { ...fileHub, key };
}

/** A new tenant of the worker's hub. For tests that neither end the hub nor look at the installation. */
export async function tenantOfFile(): Promise<FileHub> {
  const hub = new SharedHub();
  await hub.start();
  reusePages(hub.url);
  afterAll(() => hub.remove());
  return { hub, cookie: await hub.login() };
}

/** The same with a key of production. */
export const tenantWithKey = async (): Promise<FileHub & { readonly key: string }> =>
  withKey(await tenantOfFile());
