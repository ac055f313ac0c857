// `reeve tenant export` and `reeve tenant import` between two running hubs: people, keys and signatures work there, a
// hub that is killed while a file comes in takes the file again, and refusals are one line.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { memberHeadBytes, memberLength } from '../../adapters/node/tenant-file.ts';
import { bundleYaml } from '../contract/library.ts';
import { itAtNight } from '../runs.ts';
import { HubProcess, lines, run } from './process.ts';

const operatorToken = 'an-operator-token-of-the-installation';
const settings = { RATE_LIMIT_MAX_ATTEMPTS: '1000', LOG_LEVEL: 'warn', OPERATOR_TOKEN: operatorToken };
const from = new HubProcess(settings);
// As many requests as parts, under the usual limit of guesses.
const to = new HubProcess({ ...settings, RATE_LIMIT_MAX_ATTEMPTS: '6' });
const folder = mkdtempSync(join(tmpdir(), 'reeve-tenant-'));
const file = join(folder, 'acme.ndjson.gz');
const passphraseFile = join(folder, 'passphrase');
const [email, password] = ['admin@acme.example', 'correct horse battery'];
let tenantId = '';
let key = '';

const reeve = (hub: HubProcess, ...args: string[]) =>
  run({ REEVE_URL: hub.url, REEVE_TOKEN: operatorToken }, [
    'tenant',
    ...args,
    ...(args.includes('--passphrase-file') ? [] : ['--passphrase-file', passphraseFile]),
  ]);
/** The last line: a slow machine prints the progress before it. */
const answerOf = ({ text }: { readonly text: string }) => JSON.parse(lines(text).at(-1) ?? '');
const operate = (hub: HubProcess, method: string, path: string, body?: unknown) =>
  hub.call(method, `/api/v1/operator/tenants${path}`, {
    headers: { Authorization: `Bearer ${operatorToken}` },
    ...(body === undefined ? {} : { body }),
  });
const signIn = async (hub: HubProcess): Promise<string> => {
  const { headers } = await hub.call('POST', '/api/v1/auth/login', { body: { email, password } });
  return headers.get('set-cookie')?.split(';')[0] ?? '';
};
const eventNamed = (callId: string) => ({
  call_id: callId,
  agent_id: 'mail-1',
  tool_name: 'read_mail',
  verdict: 'allowed',
  mode: 'enforce',
  timestamp: new Date().toISOString(),
  payload: { session_id: 'conversation' },
});

beforeAll(async () => {
  writeFileSync(passphraseFile, 'a passphrase of the tests\n');
  await Promise.all([from.start(), to.start()]);
  await from.admin();
  await to.admin();
  tenantId = (await operate(from, 'POST', '', { name: 'acme', email, password })).body.tenant_id;
  const cookie = await signIn(from);
  const act = (path: string, body: unknown) => from.call('POST', path, { cookie, body });
  key = (await act('/api/v1/keys', { env: 'production', label: 'mail' })).body.key;
  await act('/api/v1/bundles', { yaml_content: bundleYaml('base') });
  await act('/api/v1/bundles/base/1/deploy', { env: 'production' });
  const events = Array.from({ length: 2_000 }, (_, i) => eventNamed(`call-${i}`));
  expect((await from.call('POST', '/api/v1/events', { key, body: { events } })).body.accepted).toBe(2_000);
});
afterAll(async () => {
  await Promise.all([from.remove(), to.remove()]);
  rmSync(folder, { recursive: true, force: true });
});

it('writes a file that another hub takes though it is killed before the end', async () => {
  const exported = await reeve(from, 'export', tenantId, file, '--json');
  expect(exported.code, exported.text).toBe(0);
  expect(answerOf(exported)).toMatchObject({ tenant_id: tenantId, file });
  const bytes = readFileSync(file);
  expect(bytes.includes(password)).toBe(false);

  const length = memberLength(bytes.subarray(0, memberHeadBytes)) ?? 0;
  const head = bytes.subarray(0, length).toString('base64');
  const begun = await operate(to, 'POST', '/import', { passphrase: 'a passphrase of the tests', head });
  expect(begun).toMatchObject({ status: 202, body: { tenant_id: tenantId, name: 'acme' } });
  const second = memberLength(bytes.subarray(length, length + memberHeadBytes)) ?? 0;
  const put = await fetch(`${to.url}/api/v1/operator/tenants/import/${begun.body.id}/1`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${operatorToken}`, 'Content-Type': 'application/gzip' },
    body: new Uint8Array(bytes.subarray(length, length + second)),
  });
  expect(put.status).toBe(204);
  expect((await to.call('GET', '/api/v1/bundles', { key })).status).toBe(403);
  expect((await operate(to, 'GET', `/${tenantId}`)).status).toBe(404);
  expect((await operate(to, 'POST', `/import/${begun.body.id}/commit`)).status).toBe(409);
  await to.kill();
  await to.start();

  const imported = await reeve(to, 'import', file, '--json');
  expect(imported.code, imported.text).toBe(0);
  expect(answerOf(imported)).toMatchObject({ tenant_id: tenantId, name: 'acme', imported: true });
  expect(answerOf(await reeve(to, 'import', file, '--json'))).toMatchObject({ imported: false });
});

it('lets people and agents in with what they had, under the same signing key', async () => {
  const cookie = await signIn(to);
  const stored = await to.call('POST', '/api/v1/events', { key, body: { events: [eventNamed('call-1')] } });
  expect(stored.body).toMatchObject({ accepted: 0, duplicates: 1 });
  const bundle = '/api/v1/bundles/base/current?env=production';
  expect((await to.call('GET', bundle, { key })).body).toEqual(
    (await from.call('GET', bundle, { key })).body,
  );
  const deploy = await to.call('POST', '/api/v1/bundles/base/1/deploy', { cookie, body: { env: 'staging' } });
  expect(deploy.status).toBe(201);
  const figures = async (hub: HubProcess) => {
    const { agents, events, state } = (await operate(hub, 'GET', `/${tenantId}`)).body;
    return { agents, events, state };
  };
  expect(await figures(to)).toEqual(await figures(from));
});

itAtNight(
  'refuses a changed file, another passphrase and a file that is there, in one line each',
  async () => {
    const refusals = async (...args: string[]) => {
      const { code, text } = await reeve(to, ...args);
      return [code, lines(text).filter((line) => !/^(Im|Ex)porting:/.test(line)).length];
    };
    const bytes = readFileSync(file);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 30) ^ 1, bytes.length - 30);
    const changed = join(folder, 'changed.gz');
    writeFileSync(changed, bytes);
    await from.call('DELETE', `/api/v1/operator/tenants/${tenantId}?name=acme`, {
      headers: { Authorization: `Bearer ${operatorToken}` },
    });
    expect(await refusals('export', tenantId, file)).toEqual([1, 1]);
    writeFileSync(join(folder, 'other'), 'another passphrase\n');
    expect(await refusals('import', file, '--passphrase-file', join(folder, 'other'))).toEqual([1, 1]);
    writeFileSync(join(folder, 'cut.gz'), bytes.subarray(0, bytes.length - 9));
    expect(await refusals('import', join(folder, 'cut.gz'))).toEqual([1, 1]);
    expect(await refusals('export', tenantId)).toEqual([2, 1]);
    expect((await reeve(from, '--help')).text).toContain('reeve tenant import FILE');
  },
);
