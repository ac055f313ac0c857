// The hub of a test file: started before its first test, removed after its last. Most files need no process of their
// own: the files of a worker share one, in which each has a tenant.
import { afterAll, expect } from 'vitest';
import { HubProcess } from '../e2e/process.ts';
import { startedHub } from './browser.ts';
import { reusePages } from './idle-pages.ts';
import { listSharedHub } from './shared-hubs.ts';

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
  return withKey(await hubOfFile(settings));
}

async function withKey(fileHub: FileHub): Promise<FileHub & { readonly key: string }> {
  const { key } = await fileHub.hub.key(fileHub.cookie);
  return { ...fileHub, key };
}

const operatorToken = 'the-operator-token-of-the-browser-tests';

let starting: Promise<HubProcess> | null = null;

/** The hub of this worker, which ends with the suite. */
async function startSharedHub(): Promise<HubProcess> {
  // Each file signs in from the one network.
  const hub = new HubProcess({
    LOG_LEVEL: 'error',
    OPERATOR_TOKEN: operatorToken,
    RATE_LIMIT_MAX_ATTEMPTS: '1000',
  });
  await hub.start();
  listSharedHub(hub);
  reusePages(hub.url);
  await hub.admin('first@example.com');
  return hub;
}

let tenantCount = 0;

/**
 * A new tenant of the worker's hub. For tests that neither stop the hub, nor set it up, nor look at the installation.
 * `hub.login()` signs in the tenant's admin. Users of another file exist too, so their e-mails are taken.
 */
export async function tenantOfFile(): Promise<FileHub> {
  starting ??= startSharedHub();
  const sharedHub = await starting;
  tenantCount += 1;
  // Begins as the e-mail of other hubs' admins, which tests look for.
  const email = `admin@example.com.tenant-${tenantCount}.example`;
  const password = 'correct horse battery';
  const { status } = await sharedHub.call('POST', '/api/v1/operator/tenants', {
    headers: { Authorization: `Bearer ${operatorToken}` },
    body: { name: `tenant-${tenantCount}`, email, password },
  });
  expect(status).toBe(201);
  const login: HubProcess['login'] = (user = email, secret = password) =>
    HubProcess.prototype.login.call(sharedHub, user, secret);
  const hub: HubProcess = Object.create(sharedHub, { login: { value: login } });
  return { hub, cookie: await hub.login() };
}

/** The same with a key of production. */
export const tenantWithKey = async (): Promise<FileHub & { readonly key: string }> =>
  withKey(await tenantOfFile());
