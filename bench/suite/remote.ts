// Load on a hub that the suite has not started: consent, credentials, and the removal of a run's keys.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Admin, adminOf } from '../admin.ts';
import { UsageFault } from './arguments.ts';
import { CannotRun } from './failure.ts';

const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * @param consentedHost from `--yes-load`
 * @throws UsageFault for a URL that is none, or for another machine's hub without consent to load this host
 */
export function checkTarget(url: string, consentedHost: string | null): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' };
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new UsageFault('--url takes the address of a hub: --url http://127.0.0.1:8080.');
  }
  if (loopbackHosts.has(hostname) || consentedHost === hostname) return;
  throw new UsageFault(
    `The suite sends full load to ${hostname}. Repeat the command with --yes-load ${hostname} if you may do that.`,
  );
}

export interface RemoteAccess {
  /** API keys for `production`; empty: the signed-in user makes one. */
  readonly keys: readonly string[];
  readonly email: string | null;
  readonly password: string | null;
}

type Environment = { readonly [name: string]: string | undefined };

function readPassword(env: Environment): string | null {
  const file = env.REEVE_BENCH_PASSWORD_FILE;
  if (file === undefined) return env.REEVE_BENCH_PASSWORD ?? null;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new CannotRun(`The file of REEVE_BENCH_PASSWORD_FILE cannot be read: ${reason}`);
  }
}

/**
 * From REEVE_BENCH_KEYS, REEVE_BENCH_EMAIL, REEVE_BENCH_PASSWORD or REEVE_BENCH_PASSWORD_FILE.
 * @throws CannotRun without keys and without a login
 */
export function readAccess(env: Environment): RemoteAccess {
  const password = readPassword(env);
  const keys = (env.REEVE_BENCH_KEYS ?? '').split(',').filter((key) => key !== '');
  const email = env.REEVE_BENCH_EMAIL ?? null;
  if (keys.length === 0 && (email === null || password === null)) {
    throw new CannotRun(
      'A hub by --url needs credentials. Set REEVE_BENCH_KEYS, or REEVE_BENCH_EMAIL with REEVE_BENCH_PASSWORD or ' +
        'REEVE_BENCH_PASSWORD_FILE.',
    );
  }
  return { keys, email, password };
}

export const newRunName = (): string => `bench-${randomBytes(4).toString('hex')}`;

/** @throws CannotRun without a login, or if the hub refuses the login */
export async function signIn(url: string, { email, password }: RemoteAccess, label: string): Promise<Admin> {
  if (email === null || password === null) {
    throw new CannotRun(
      'This needs a login: set REEVE_BENCH_EMAIL with REEVE_BENCH_PASSWORD or REEVE_BENCH_PASSWORD_FILE.',
    );
  }
  const admin = adminOf(url, { label, password });
  try {
    await admin.login(email);
  } catch (error) {
    throw new CannotRun(`The login at ${url} failed: ${error instanceof Error ? error.message : error}`);
  }
  return admin;
}

/**
 * Removes the API keys of a run. Its events, its decided approvals and its agents, which leave the lists after seven
 * days, stay.
 * @returns how many keys
 * @throws UsageFault for a name that no run has
 */
export async function cleanRun(admin: Admin, runName: string): Promise<number> {
  if (!/^bench-[0-9a-f]{8}$/.test(runName)) {
    throw new UsageFault('--clean takes the name of a run, such as bench-1a2b3c4d.');
  }
  const keys = await admin.call<readonly { readonly id: string; readonly label: string | null }[]>(
    'GET',
    '/api/v1/keys?limit=1000',
  );
  const ownKeys = keys.filter(({ label }) => label === runName);
  for (const { id } of ownKeys) await admin.call('DELETE', `/api/v1/keys/${id}`);
  return ownKeys.length;
}
