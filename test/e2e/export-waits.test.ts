// Exports that wait for a line, against the real process: their reader may end, or lose rights, during the wait.
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
const password = 'correct horse battery';
let admin: string;

beforeAll(async () => {
  await hub.start();
  admin = await hub.admin();
});
afterAll(() => hub.remove());

type Credentials = { readonly cookie: string } | { readonly key: string };

const asAdmin = (method: string, path: string, body?: object) =>
  hub.call(method, path, { cookie: admin, ...(body === undefined ? {} : { body }) });

/** An export that waits behind the newest line, while its reader changes: the answer, and milliseconds until it. */
async function changedWhileWaiting(kind: string, reader: Credentials, change: () => Promise<unknown>) {
  const path = `/api/v1/exports/${kind}`;
  const queryOf = (cursor: string | null) => (cursor === null ? '' : `&after=${encodeURIComponent(cursor)}`);
  let after: string | null = null;
  // The beginning of an export is a line of the audit itself.
  for (let body = 'unread'; body !== ''; ) {
    const page = await hub.call('GET', `${path}?limit=1000${queryOf(after)}`, reader);
    body = page.body;
    after = page.headers.get('x-next-cursor');
  }
  const waiting = hub.call('GET', `${path}?wait=8${queryOf(after)}`, reader);
  await pause(300);
  await change();
  const begun = performance.now();
  const answer = await waiting;
  return { answer, after, ms: performance.now() - begun };
}

async function token() {
  const roles = [{ role: 'viewer', env: '*' }];
  const account = await asAdmin('POST', '/api/v1/service-accounts', { name: `siem-${Date.now()}`, roles });
  const path = `/api/v1/service-accounts/${account.body.id}`;
  const created = await asAdmin('POST', `${path}/tokens`, { label: 'siem' });
  return { path, tokenPath: `${path}/tokens/${created.body.id}`, key: String(created.body.token) };
}

async function person(name: string, role: string) {
  const email = hub.emailOf(name);
  const roles = [{ role, env: '*' }];
  const { body } = await asAdmin('POST', '/api/v1/users', { email, password, roles });
  const { headers } = await hub.call('POST', '/api/v1/auth/login', { body: { email, password } });
  const cookie = (headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  return { path: `/api/v1/users/${body.user_id}`, cookie };
}

it('a revoked token of a service account is refused within a second', async () => {
  const { tokenPath, key } = await token();
  const { answer, ms } = await changedWhileWaiting('events', { key }, () => asAdmin('DELETE', tokenPath));
  expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  expect(ms).toBeLessThan(2_000);
});

it('a demoted admin gets no line of the audit, and a removed person none of the events', async () => {
  const demoted = await person('dan', 'admin');
  const roles = [{ role: 'viewer', env: '*' }];
  const audit = await changedWhileWaiting('audit', demoted, () => asAdmin('PATCH', demoted.path, { roles }));
  expect(audit.answer).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  expect(audit.ms).toBeLessThan(2_000);
  const removed = await person('eve', 'viewer');
  const events = await changedWhileWaiting('events', removed, () => asAdmin('DELETE', removed.path));
  expect(events.answer.status).toBe(401);
  expect(events.ms).toBeLessThan(2_000);
});

it('a person with other roles gets an answer without lines at the same place, and asks again', async () => {
  const { path, cookie } = await person('flo', 'viewer');
  const roles = [{ role: 'viewer', env: 'staging' }];
  const { answer, after, ms } = await changedWhileWaiting('events', { cookie }, () =>
    asAdmin('PATCH', path, { roles }),
  );
  expect([answer.status, answer.body, answer.headers.get('x-search-complete')]).toEqual([200, '', 'false']);
  expect(answer.headers.get('x-next-cursor')).toBe(after);
  expect(ms).toBeLessThan(2_000);
});
