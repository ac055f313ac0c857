// The hosted API against the real process: from a login to a token, from a token to a key, from a key to an answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
let cookie = '';
beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
});
afterAll(() => hub.remove());

const token = async (): Promise<string> =>
  (await hub.call('POST', '/api/v1/auth/operator-token', { cookie })).body.token;
const as = (bearer: string) => ({ headers: { Authorization: `Bearer ${bearer}` } });

describe('the hosted API', () => {
  it('gives a signed-in admin a token, with which a key is made, listed and revoked', async () => {
    const operator = await token();
    const made = await hub.call('POST', '/v1/keys', { ...as(operator), body: { name: 'fleet' } });
    expect(made.status).toBe(201);
    expect(made.headers.get('cache-control')).toBe('no-store');
    const listed = await hub.call('GET', '/v1/keys', as(operator));
    expect(listed.body.keys.map(({ name }: { name: string }) => name)).toContain('fleet');
    // The key is good, and not for people's routes.
    expect((await hub.call('GET', '/v1/keys', as(made.body.key))).body).toMatchObject({
      code: 'operator_required',
    });
    expect((await hub.call('DELETE', `/v1/keys/${made.body.id}`, as(operator))).status).toBe(204);
    expect((await hub.call('DELETE', `/v1/keys/${made.body.id}`, as(operator))).status).toBe(404);
    expect((await hub.call('GET', '/v1/keys', as(made.body.key))).body).toMatchObject({
      code: 'key_revoked',
    });
  });

  it('takes no cookie, and answers unknown paths with problem documents', async () => {
    expect((await hub.call('GET', '/v1/keys', { cookie })).status).toBe(401);
    const unknown = await hub.call('GET', '/v1/unknown', as(await token()));
    expect(unknown.headers.get('content-type')).toBe('application/problem+json');
    expect(unknown.body).toMatchObject({ status: 404, code: 'not_found' });
  });

  it('refuses a token once its login ended', async () => {
    const other = await hub.login();
    const operator = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie: other })).body.token;
    expect((await hub.call('GET', '/v1/keys', as(operator))).status).toBe(200);
    await hub.call('POST', '/api/v1/auth/logout', { cookie: other });
    expect((await hub.call('GET', '/v1/keys', as(operator))).status).toBe(401);
  });

  it('keeps the digits of whole numbers that a double cannot hold', async () => {
    const operator = await token();
    const key = (await hub.call('POST', '/v1/keys', { ...as(operator), body: { name: 'digits' } })).body.key;
    const post = async (path: string, body: string) => {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
      const answer = await fetch(hub.url + path, { method: 'POST', headers, body });
      return { status: answer.status, body: JSON.parse(await answer.text()) };
    };
    const args = '"tool_args":{"account":12345678901234567891,"small":7}';
    const event = (more: string) =>
      `{"agent_id":"digits","tool_name":"pay","action":"call_allowed","session_id":"d",${args}${more}}`;
    const rounded = event('').replace('567891', '567892');
    const { body } = await post('/v1/events', `{"events":[${event(',"run_id":"r"')},${rounded}]}`);
    expect(body).toEqual({ accepted: 2, duplicates: 0, rejected: [] });
    const listed = await hub.call('GET', '/v1/events?agent_id=digits&order=asc', as(operator));
    expect(listed.body.events).toMatchObject([
      { tool_args: { account: '12345678901234567891', small: 7 }, truncated: ['tool_args'] },
      { tool_args: { account: '12345678901234567892', small: 7 }, truncated: ['tool_args'] },
    ]);
    const asked = await post(
      '/v1/approvals',
      `{"agent_id":"digits","tool_name":"pay","message":"?",${args}}`,
    );
    expect(asked).toMatchObject({ status: 201, body: { tool_args: { account: '12345678901234567891' } } });
  });

  it('publishes the keys of its tokens', async () => {
    const { body } = await hub.call('GET', '/.well-known/jwks.json', {});
    expect(body.keys).toMatchObject([{ kty: 'OKP', use: 'sig' }]);
  });
});
