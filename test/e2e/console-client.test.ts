// The typed client of the console API against the real hub: people sign in, agents bring a key, streams are iterated,
// refusals are errors.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type ConsoleClient,
  ConsoleError,
  consoleClient,
  consoleRoutes,
  HubConnectionError,
} from 'reeve-agent/console';
import { afterAll, beforeAll, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { api } from '../../src/hub/api/console-routes.ts';
import { yamlFor } from './library/setting.ts';
import { HubProcess } from './process.ts';

const root = join(import.meta.dirname, '../..');
const hub = new HubProcess({ LOG_LEVEL: 'warn' });
const credentials = { email: 'ann@example.com', password: 'correct horse battery' };
let people: ConsoleClient;
let agent: ConsoleClient;

beforeAll(async () => {
  await hub.start();
  people = consoleClient({ url: hub.url });
  await people.setup({ body: credentials });
  await people.login({ body: credentials });
  const { key } = await people.createKey({ body: { env: 'production', label: 'tests' } });
  agent = consoleClient({ url: hub.url, apiKey: key, agentId: 'agent-1' });
});
afterAll(() => hub.remove());

it('has every route, as the hub declares them', () => {
  const declared = Object.entries(api).map(([name, { method, path }]) => [name, method, path]);
  const known = Object.entries(consoleRoutes).map(([name, { method, path }]) => [name, method, path]);
  expect(known.sort()).toEqual(declared.sort());
});

it('keeps the session of who signs in, and types what comes back', async () => {
  const me = await people.me();
  expectTypeOf(me.is_admin).toEqualTypeOf<boolean>();
  expect(me).toMatchObject({ email: credentials.email, is_admin: true });
  const uploaded = await people.uploadBundle({ body: { yaml_content: yamlFor('one') } });
  expectTypeOf(uploaded.version).toEqualTypeOf<number>();
  const { name, version } = uploaded;
  await people.deployBundle({ params: { name, version }, body: { env: 'production' } });
  const yaml = await people.getBundleYaml({ params: { name, version } });
  expectTypeOf(yaml).toEqualTypeOf<string>();
  expect(yaml).toBe(yamlFor('one'));
  const [deployment] = await people.listDeployments({ query: { env: 'production', limit: 5 } });
  expect(deployment).toMatchObject({ bundle_name: name, bundle_version: version });
});

it('speaks as an agent with a key', async () => {
  const current = await agent.currentBundle({ params: { name: 'guardrails' }, query: { env: 'production' } });
  expectTypeOf(current.sequence).toEqualTypeOf<number>();
  expect(Buffer.from(current.yaml_bytes, 'base64').toString()).toBe(yamlFor('one'));
  const key = 'a/b:c d'.replace(' ', '_');
  await agent.setSession({ params: { key }, body: { value: 'x' } });
  expect(await agent.getSession({ params: { key } })).toEqual({ value: 'x' });
});

it('iterates over streams, and goes on where it was', async () => {
  const ended = new AbortController();
  const stream = people.dashboardStream({}, { signal: ended.signal });
  const first = stream.next();
  const { id, key } = await people.createKey({ body: { env: 'staging' } });
  const { value } = await first;
  expect(value?.event).toMatchObject({ type: 'api_key_created', key_id: id });
  if (value?.event.type === 'api_key_created') expectTypeOf(value.event.key_id).toEqualTypeOf<string>();
  ended.abort();
  await expect(stream.next()).rejects.toThrow();
  await people.revokeKey({ params: { key_id: id } });
  const later = people.dashboardStream({}, { lastEventId: value?.id ?? '' });
  expect((await later.next()).value?.event).toMatchObject({ type: 'api_key_revoked', key_id: id });
  await later.return();
  const revoked = consoleClient({ url: hub.url, apiKey: key }).agentStream({ query: { env: 'staging' } });
  await expect(revoked.next()).rejects.toMatchObject({ status: 401, code: 'unauthenticated' });
});

it('throws what the hub refuses, with its code', async () => {
  const refused = await people
    .getBundleVersion({ params: { name: 'none', version: 1 } })
    .catch((error) => error);
  expect(refused).toBeInstanceOf(ConsoleError);
  expect(refused).toMatchObject({ status: 404, code: 'not_found', retryAfter: null });
  const invalid = await people
    .deployBundle({ params: { name: 'guardrails', version: 1 }, body: {} as never })
    .catch((error) => error);
  expect(invalid).toMatchObject({ status: 422, code: 'validation_failed', detail: expect.any(Array) });
  await expect(agent.me()).rejects.toMatchObject({ status: 401 });
  await expect(people.getBundleYaml({ params: { name: 'x' } as never })).rejects.toThrow(
    'params.version is not set',
  );
  const nobody = consoleClient({ url: 'http://127.0.0.1:9' });
  const failure = await nobody.live().catch((error) => error);
  expect(failure).toBeInstanceOf(HubConnectionError);
  expect(() => consoleClient({ url: hub.url, apikey: 'x' } as never)).toThrow('did you mean apiKey?');
});

it('does what docs/console-client.md shows', async () => {
  const page = readFileSync(join(root, 'docs/console-client.md'), 'utf8');
  const [, code = '', output] = /```js\n([\s\S]*?)```\s*```text\n([\s\S]*?)```/.exec(page) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'console-client-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  // The page's hub is new: this one has versions already.
  writeFileSync(join(folder, 'page.mjs'), code.replaceAll('name: guardrails', 'name: shown'));
  const { stdout } = await promisify(execFile)(process.execPath, ['page.mjs'], {
    cwd: folder,
    env: { ...process.env, REEVE_URL: hub.url },
  });
  expect(stdout).toBe(output?.replace('guardrails', 'shown'));
});

// The last one: nobody is signed in afterwards.
it('forgets the session of who signs out', async () => {
  await people.logout();
  await expect(people.me()).rejects.toMatchObject({ status: 401, code: 'unauthenticated' });
});
