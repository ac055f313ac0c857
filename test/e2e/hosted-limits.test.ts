// The hosted API's answers about its limits, and Idempotency-Key, against the real process.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HubProcess } from './process.ts';

const hub = new HubProcess({ LOG_LEVEL: 'warn', ALLOW_PRIVATE_OUTBOUND: 'true', APPROVALS_PER_MINUTE: '3' });
let key = '';
let cookie = '';
let admin = '';
let operator = '';

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  ({ key } = await hub.key(cookie));
  admin = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie })).body.token;
  const body = { role: 'operator', ttl_seconds: 600 };
  operator = (await hub.call('POST', '/api/v1/operator-tokens', { cookie, body })).body.token;
});
afterAll(() => hub.remove());

const bearer = (token: string, more: { readonly [name: string]: string } = {}) => ({
  Authorization: `Bearer ${token}`,
  ...more,
});
const limitOf = ({ headers }: { readonly headers: Headers }) =>
  ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`));

it('says with each answer how much is left, and leaves the console API as it was', async () => {
  const [limit, remaining, reset] = limitOf(await hub.call('GET', '/v1/agents', { headers: bearer(key) }));
  expect({ limit, reset }).toEqual({ limit: '6000', reset: '60' });
  const after = await hub.call('GET', '/v1/agents', { headers: bearer(key) });
  expect(Number(limitOf(after)[1])).toBeLessThan(Number(remaining));
  // An error counts as well.
  const absent = await hub.call('GET', '/v1/agents/none', { headers: bearer(key) });
  expect([absent.status, Number(limitOf(absent)[1])]).toEqual([404, Number(limitOf(after)[1]) - 1]);
  expect(limitOf(await hub.call('GET', '/api/v1/health'))).toEqual([null, null, null]);
});

it('takes 60 decisions a minute of an operator, and says when the next is taken', async () => {
  const decide = (token: string) =>
    hub.call('POST', '/v1/approvals/00000000-0000-4000-8000-000000000000/decide', {
      headers: bearer(token),
      body: { decision: 'approved' },
    });
  for (let i = 0; i < 60; i++) {
    const answer = await decide(operator);
    expect([answer.status, limitOf(answer)]).toEqual([404, ['60', String(59 - i), '60']]);
  }
  const refused = await decide(operator);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
  expect(refused.body.code).toBe('rate_limited');
  const wait = refused.headers.get('retry-after');
  expect(Number(wait)).toBeGreaterThan(0);
  expect(limitOf(refused)).toEqual(['60', '0', wait]);
  expect((await decide(admin)).status).toBe(404);
});

it('counts approvals of an agent, and says so with every answer, also one that makes none', async () => {
  const ask = (message: string) =>
    hub.call('POST', '/v1/approvals', {
      headers: bearer(key, { 'X-Service-Agent-Id': 'sender' }),
      body: { agent_id: 'asker', tool_name: 't', message },
    });
  const seen = async (message: string) => {
    const answer = await ask(message);
    return [answer.status, ...limitOf(answer).slice(0, 2)];
  };
  expect(await seen('a')).toEqual([201, '3', '2']);
  // Whose it would have been is not known: the header's agent has asked for nothing.
  expect(await seen('')).toEqual([422, '3', '3']);
  expect(await seen('b')).toEqual([201, '3', '1']);
  expect(await seen('c')).toEqual([201, '3', '0']);
  const refused = await ask('d');
  expect([refused.status, ...limitOf(refused).slice(0, 2)]).toEqual([429, '3', '0']);
  expect(refused.headers.get('retry-after')).toBe(limitOf(refused)[2]);
});

it('counts posts of few events, events, sample runs and replays', async () => {
  const event = { call_id: 'c', agent_id: 'few', tool_name: 't', action: 'call_allowed' };
  const post = async (body: unknown) => {
    const answer = await hub.call('POST', '/v1/events', {
      headers: bearer(key, { 'X-Service-Agent-Id': 'few' }),
      body,
    });
    return [answer.status, ...limitOf(answer).slice(0, 2)];
  };
  expect(await post({ events: [event] })).toEqual([200, '600', '599']);
  expect(await post({ events: 1 })).toEqual([422, '600', '599']);
  expect(await post({ events: Array(10).fill(event) })).toEqual([200, '600', '599']);
  const call = async (method: string, path: string) => {
    const answer = await hub.call(method, path, { headers: bearer(admin) });
    return [answer.status, ...limitOf(answer).slice(0, 2)];
  };
  expect(await call('DELETE', '/v1/sample-run')).toEqual([200, '10', '9']);
  expect(await call('GET', '/v1/rulesets/none/replay')).toEqual([404, '10', '9']);
  expect(await call('GET', '/v1/rulesets/none/replay?sessions=0')).toEqual([422, '10', '9']);
});

it('takes 5 tests a minute of a channel, of each workspace by itself', async () => {
  const test = async (id: string) => {
    const answer = await hub.call('POST', `/v1/notifications/channels/${id}/test`, {
      headers: bearer(admin),
    });
    return [answer.status, ...limitOf(answer).slice(0, 2)];
  };
  const id = '00000000-0000-4000-8000-000000000000';
  for (let i = 0; i < 5; i++) expect(await test(id)).toEqual([404, '5', String(4 - i)]);
  expect(await test(id)).toEqual([429, '5', '0']);
  expect(await test('00000000-0000-4000-8000-000000000001')).toEqual([404, '5', '4']);
});

it('takes 60 callbacks a minute of a chat bot, which others do not use up', async () => {
  const made = await hub.call('POST', '/api/v1/notifications/channels', {
    cookie,
    body: {
      name: 'bot',
      channel_type: 'chat_bot',
      config: { bot_token: '1:x', chat_id: 1, webhook_secret: 'the-secret-of-the-callbacks' },
    },
  });
  const press = async (secret: string) => {
    const answer = await hub.call('POST', `/v1/chat_bot/webhook/${made.body.id}`, {
      headers: { 'X-Chat-Bot-Secret-Token': secret },
      body: {},
    });
    return [answer.status, limitOf(answer)[0]];
  };
  expect(await press('wrong')).toEqual([403, '6000']);
  for (let i = 0; i < 60; i++) expect(await press('the-secret-of-the-callbacks')).toEqual([200, '60']);
  expect(await press('the-secret-of-the-callbacks')).toEqual([429, '60']);
  expect(await press('wrong')).toEqual([403, '6000']);
});

it('makes one key for an Idempotency-Key, which is shown once', async () => {
  const create = (name: string, idempotency = 'key 1') =>
    hub.call('POST', '/v1/keys', {
      headers: bearer(admin, { 'Idempotency-Key': idempotency }),
      body: { name },
    });
  const [first, ...others] = (await Promise.all(Array.from({ length: 8 }, () => create('one')))).sort(
    (a, b) => a.status - b.status,
  );
  expect(first?.status).toBe(201);
  // While the first still runs, or after it.
  for (const { status, body } of others)
    expect({ status, code: body.code }).toEqual({
      status: 409,
      code: expect.stringMatching(/^idempotency_(in_progress|replay_refused)$/),
    });
  expect((await create('one')).body.code).toBe('idempotency_replay_refused');
  const other = await create('another');
  expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused']);
  expect((await create('one', 'key 2')).status).toBe(201);
  const { keys } = (await hub.call('GET', '/v1/keys', { headers: bearer(admin) })).body;
  expect(keys.filter(({ name }: { name: string }) => name === 'one')).toHaveLength(2);
  // It stays made when it is gone.
  await hub.call('DELETE', `/v1/keys/${first?.body.id}`, { headers: bearer(admin) });
  expect((await create('one')).status).toBe(409);
});

it('answers a repeated channel with the first', async () => {
  const create = (name: string) =>
    hub.call('POST', '/v1/notifications/channels', {
      headers: bearer(admin, { 'Idempotency-Key': 'channel' }),
      body: { name, channel_type: 'webhook', config: { url: 'https://127.0.0.1/hook' } },
    });
  const first = await create('ops');
  expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
  const again = await create('ops');
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
  expect(again.body).toEqual(first.body);
  expect((await create('dev')).body.code).toBe('idempotency_key_reused');
  const { channels } = (await hub.call('GET', '/v1/notifications/channels', { headers: bearer(admin) })).body;
  const { warnings, ...shown } = first.body;
  expect(warnings).toEqual([]);
  expect(channels.filter(({ name }: { name: string }) => name === 'ops')).toEqual([shown]);
});

it('answers a repeated approval as the first, also after a restart', async () => {
  const ask = (message: string) =>
    hub.call('POST', '/v1/approvals', {
      headers: bearer(key, { 'Idempotency-Key': 'approval' }),
      body: { agent_id: 'repeats', tool_name: 't', message },
    });
  const first = await ask('May I?');
  expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
  const decided = await hub.call('POST', `/v1/approvals/${first.body.id}/decide`, {
    headers: bearer(admin),
    body: { decision: 'approved' },
  });
  expect(decided.status).toBe(200);
  await hub.kill();
  await hub.start();
  const again = await ask('May I?');
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
  expect(again.body).toEqual(first.body);
  const other = await ask('Really?');
  expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused']);
});

it('counts a repeated approval once, and answers it also when no further one is taken', async () => {
  const ask = (message: string, idempotencyKey: string) =>
    hub.call('POST', '/v1/approvals', {
      headers: bearer(key, { 'Idempotency-Key': idempotencyKey }),
      body: { agent_id: 'counted', tool_name: 't', message },
    });
  const seen = async (message: string, idempotencyKey = message) => {
    const { status, headers, body } = await ask(message, idempotencyKey);
    return [status, headers.get('ratelimit-remaining'), headers.get('idempotency-replayed') ?? body.code];
  };
  expect(await seen('a')).toEqual([201, '2', undefined]);
  for (let i = 0; i < 5; i++) expect(await seen('a')).toEqual([201, '2', 'true']);
  expect(await seen('other', 'a')).toEqual([422, '2', 'idempotency_key_reused']);
  expect(await seen('b')).toEqual([201, '1', undefined]);
  expect(await seen('c')).toEqual([201, '0', undefined]);
  expect(await seen('d')).toEqual([429, '0', 'rate_limited']);
  expect(await seen('a')).toEqual([201, '0', 'true']);
  expect(await seen('other', 'a')).toEqual([429, '0', 'rate_limited']);
});

it.each([
  ['/api/v1/approvals', 'console', {}, null],
  ['/api/v1/approvals', 'console-keyed', { 'Idempotency-Key': 'last console' }, null],
  ['/v1/approvals', 'hosted', {}, null],
  ['/v1/approvals', 'hosted-keyed', { 'Idempotency-Key': 'last hosted' }, 'true'],
])(
  'answers a repeat to %s of the last approval within the limit (%s)',
  async (path, agent, headers, replayed) => {
    const ask = (message: string, more: { [name: string]: string } = {}) =>
      hub.call('POST', path, {
        headers: bearer(key, more),
        body: { agent_id: agent, tool_name: 't', message },
      });
    for (const message of ['a', 'b']) expect((await ask(message)).status).toBe(201);
    const last = await ask('c', headers);
    const repeated = await ask('c', headers);
    expect([last.status, repeated.status, repeated.body.id]).toEqual([201, 201, last.body.id]);
    expect(repeated.headers.get('idempotency-replayed')).toBe(replayed);
    expect((await ask('d', headers)).status).toBe(429);
  },
);

it('knows no key and no channel of an id that it never gave', async () => {
  const path = '/v1/notifications/channels/nope';
  const body = { name: 'n', channel_type: 'webhook', config: { url: 'https://example.com/x' } };
  for (const answer of [
    await hub.call('DELETE', '/v1/keys/nope', { headers: bearer(admin) }),
    await hub.call('PUT', path, { headers: bearer(admin), body }),
    await hub.call('DELETE', path, { headers: bearer(admin) }),
    await hub.call('POST', `${path}/test`, { headers: bearer(admin) }),
  ]) {
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  }
});

it('says that the sample run is the one that was made', async () => {
  const make = () =>
    hub.call('POST', '/v1/sample-run', { headers: bearer(admin, { 'Idempotency-Key': 'sample' }) });
  const first = await make();
  const again = await make();
  expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
  expect(again.body).toEqual(first.body);
});

it.each(['x'.repeat(129), 'ä'])('refuses an Idempotency-Key that is none: %s', async (bad) => {
  for (const [path, token, body] of [
    ['/v1/keys', admin, { name: 'n' }],
    ['/v1/approvals', key, { agent_id: 'b', tool_name: 't', message: 'm' }],
    ['/v1/sample-run', admin, undefined],
  ] as const) {
    const answer = await hub.call('POST', path, {
      headers: bearer(token, { 'Idempotency-Key': bad }),
      ...(body ? { body } : {}),
    });
    expect({ path, status: answer.status, code: answer.body.code }).toEqual({
      path,
      status: 422,
      code: 'validation_failed',
    });
  }
});
