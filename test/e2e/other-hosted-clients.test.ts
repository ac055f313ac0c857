// A client of the hosted API that is not ours, played byte by byte against the real process: what released clients
// leave out, repeat and assume under /v1, as other-clients.test.ts does under /api/v1.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HubProcess } from './process.ts';
import { type Answer, RawClient, type RawStream, sendRaw } from './raw-client.ts';

const hub = new HubProcess({ LOG_LEVEL: 'warn', APPROVALS_PER_MINUTE: '1000' });
let cookie = '';
let token = '';
/** Of production, of staging, and of the whole workspace. */
let production: RawClient;
let staging: RawClient;
let workspace: RawClient;

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  token = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie })).body.token;
  production = new RawClient(hub, (await hub.key(cookie)).key);
  staging = new RawClient(hub, (await hub.key(cookie, 'staging')).key);
  const made = await fetch(`${hub.url}/v1/keys`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'all' }),
  });
  expect(made.status).toBe(201);
  workspace = new RawClient(hub, ((await made.json()) as { readonly key: string }).key);
});
afterAll(() => hub.remove());

const yamlOf = (name: string, message: string): string => `apiVersion: service/v1
kind: Ruleset
metadata: {name: ${name}}
defaults: {mode: enforce}
rules:
  - {id: a, type: pre, tool: t, when: {args.x: {exists: true}}, then: {action: block, message: "${message}"}}
`;

/** Saves and deploys; answers the revision. */
async function put(name: string, env = 'production', message = 'no'): Promise<{ readonly version: number }> {
  const response = await fetch(`${hub.url}/v1/rulesets/${name}?env=${env}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-yaml' },
    body: yamlOf(name, message),
  });
  const body = await response.json();
  expect({ status: response.status, body }).toMatchObject({ status: 201 });
  return body as { readonly version: number };
}

const open = (client: RawClient, query: string, agent: string): Promise<RawStream> =>
  client.stream(`/v1/stream${query}`, agent);

describe.concurrent('a client without env', () => {
  it('gets what its key is for, on /current and on streams; another environment is refused', async () => {
    await put('no-env');
    await put('no-env', 'staging', 'staged');
    const current = (client: RawClient, query = '') => client.get(`/v1/rulesets/no-env/current${query}`);
    expect(await current(production)).toMatchObject({ status: 200, body: { env: 'production' } });
    expect(await current(staging)).toMatchObject({
      status: 200,
      body: { env: 'staging', yaml: yamlOf('no-env', 'staged') },
    });
    expect(await current(staging, '?env=')).toMatchObject({ status: 200, body: { env: 'staging' } });
    expect(await current(production, '?env=staging')).toMatchObject({
      status: 403,
      body: { code: 'env_mismatch' },
    });
    const stream = await open(staging, '?bundle_name=no-env', 'no-env');
    expect(await stream.next('ruleset_updated')).toMatchObject({ name: 'no-env', env: 'staging' });
    stream.close();
    const refused = await open(staging, '?env=production', 'no-env');
    expect(refused.head.status).toBe(403);
    refused.close();
  });

  it('and with a key of no environment: production, unless it names another', async () => {
    await put('any-env');
    await put('any-env', 'staging', 'staged');
    const current = (query: string) => workspace.get(`/v1/rulesets/any-env/current${query}`);
    expect((await current('')).body.env).toBe('production');
    expect((await current('?env=')).body.env).toBe('production');
    expect((await current('?env=staging')).body.env).toBe('staging');
    expect((await current('?env=elsewhere')).status).toBe(404);
    for (const [query, env] of [
      ['?bundle_name=any-env', 'production'],
      ['?bundle_name=any-env&env=', 'production'],
      ['?bundle_name=any-env&env=staging', 'staging'],
    ] as const) {
      const stream = await open(workspace, query, `any-${query.length}`);
      expect(await stream.next('ruleset_updated')).toMatchObject({ env });
      stream.close();
    }
  });

  it('is an operator: production', async () => {
    await put('for-people');
    const answer = await new RawClient(hub, token).get('/v1/rulesets/for-people/current', null);
    expect(answer).toMatchObject({ status: 200, body: { env: 'production' } });
  });
});

describe.concurrent('a client that never says what it has', () => {
  it('gets its document at each connect, but no second copy when it had time to read the first', async () => {
    const first = await put('catch-up');
    const query = '?bundle_name=catch-up';
    const short = await open(production, query, 'catches-up');
    expect(await short.next('contract_update')).toMatchObject({ version: first.version });
    short.close();
    // The stream ended before it can be known that the copy was read.
    const long = await open(production, query, 'catches-up');
    await long.next('ruleset_updated');
    await long.next('contract_update');
    // Two are 15 s apart: it stayed open for more than 5 s.
    await long.socket.until(() => long.comments('keepalive') > 1);
    long.close();
    await gone('catches-up');
    const again = await open(production, query, 'catches-up');
    const second = await put('catch-up', 'production', 'still no');
    expect(await again.next('contract_update')).toMatchObject({ version: second.version });
    expect(again.events('ruleset_updated').map(({ version }) => version)).toEqual([second.version]);
    // One that says what it has is sent what is new at once.
    const tells = await open(production, `${query}&policy_version=${'0'.repeat(64)}`, 'catches-up');
    expect(await tells.next('contract_update')).toMatchObject({ version: second.version });
    for (const stream of [again, tells]) stream.close();
  }, 60_000);

  it('and names no document: what it is assigned, at each connect', async () => {
    await put('assigned');
    await open(production, '', 'is-assigned').then((stream) => stream.close());
    const assigned = await hub.call('PATCH', '/api/v1/agent-registrations/is-assigned', {
      cookie,
      body: { bundle_name: 'assigned' },
    });
    expect(assigned.status).toBe(200);
    for (let i = 0; i < 2; i++) {
      const stream = await open(production, '', 'is-assigned');
      expect(await stream.next('contract_update')).toMatchObject({ bundle_name: 'assigned' });
      stream.close();
    }
  });
});

/** Resolves when the hub knows that no stream of the agent is open. */
async function gone(agent: string): Promise<void> {
  for (;;) {
    const { body } = await hub.call('GET', '/api/v1/agents/status', { cookie });
    if (!body.agents.some((row: { agent_id: string }) => row.agent_id === agent)) return;
  }
}

describe.concurrent('ends and errors of streams', () => {
  it('are never a stream of another status, nor an error in the form of one', async () => {
    const wrong = await open(production, '?env=staging', 'errors');
    const nobody = await new RawClient(hub, 'svk_production_none').stream('/v1/stream', 'errors');
    for (const { head } of [wrong, nobody]) {
      expect(head.status).toBeGreaterThanOrEqual(400);
      expect(head.headers['content-type']).toBe('application/problem+json');
    }
    for (const stream of [wrong, nobody]) stream.close();
  });

  it('a client that reconnects at once, again and again, is told to wait; replicas that stay are not', async () => {
    const staying = await Promise.all(
      Array.from({ length: 30 }, () => open(production, '', 'hosted-replicas')),
    );
    expect(staying.map(({ head }) => head.status)).toEqual(staying.map(() => 200));
    let opened = 0;
    let refused: Answer | null = null;
    while (opened < 40 && !refused) {
      const stream = await open(production, '', 'hosted-loops');
      if (stream.head.status === 200) opened++;
      else refused = stream.head;
      stream.close();
      await stream.socket.untilClosed();
    }
    expect(opened).toBeGreaterThan(10);
    expect(refused).toMatchObject({
      status: 429,
      headers: {
        'content-type': 'application/problem+json',
        'retry-after': expect.stringMatching(/^(?:[1-9]|10)$/),
      },
    });
    for (const stream of staying) stream.close();
  });
});

describe.concurrent('answers', () => {
  it('to POST, PUT and DELETE by a key are JSON objects; counters are whole numbers without a fraction', async () => {
    const raw = (method: string, path: string, body?: string) =>
      sendRaw(
        hub.port,
        [`${method} ${path} HTTP/1.1`, ...production.headers('raw'), 'Content-Type: application/json'],
        body,
      );
    const answers = [
      await raw('PUT', '/v1/sessions/hosted%3Acounter', '{"value":"2"}'),
      await raw('POST', '/v1/sessions/hosted:counter/increment', '{}'),
      await raw('POST', '/v1/sessions/hosted/fresh/increment', '{"amount":1.0}'),
      await raw('POST', '/v1/sessions/batch', '{"keys":["hosted:counter"]}'),
      await raw('POST', '/v1/events', '{"events":[]}'),
      // A Content-Type without a body.
      await raw('DELETE', '/v1/sessions/hosted%2Ffresh'),
    ];
    for (const { status, text } of answers) {
      expect({ status, object: text.startsWith('{') && text.endsWith('}') }).toEqual({
        status: expect.toSatisfy((code: number) => code >= 200 && code < 300),
        object: true,
      });
    }
    expect(answers[1]?.text).toBe('{"value":3}');
    expect(answers[2]?.text).toBe('{"value":1}');
    expect(answers[3]?.text).toBe('{"values":{"hosted:counter":"3"}}');
    expect((await production.get('/v1/sessions/hosted:counter')).text).toBe('{"value":"3"}');
    expect((await production.get('/v1/sessions/hosted/fresh')).status).toBe(404);
  });

  it('do not depend on Accept, and never redirect', async () => {
    for (const path of ['/v1/events/', '/v1//events', '/v1/stream/', '/v1/sessions/absent', '/v1/']) {
      const { status, headers } = await sendRaw(hub.port, [
        `GET ${path} HTTP/1.1`,
        ...production.headers('raw'),
        'Accept: text/html',
      ]);
      expect({ path, status, type: headers['content-type'], location: headers.location }).toEqual({
        path,
        status: 404,
        type: 'application/problem+json',
        location: undefined,
      });
    }
  });
});

describe.concurrent('an approval asked for twice', () => {
  const request = (session_id: string, more: object = {}) => ({
    agent_id: 'asks',
    session_id,
    tool_name: 'pay',
    tool_args: { amount: 5 },
    message: 'pay?',
    timeout: 300,
    timeout_action: 'block',
    ...more,
  });
  const ask = async (body: object, more: readonly string[] = [], client = production) => {
    const answer = await client.post('/v1/approvals', body, 'asks', more);
    expect(answer.status).toBe(201);
    return answer.body.id as string;
  };

  it('because the first answer was lost is answered with the first, once', async () => {
    const ids = [await ask(request('lost')), await ask(request('lost')), await ask(request('lost'))];
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(await ask(request('other'))).not.toBe(ids[2]);
  });

  it('for another call, argument, time-out or effect is another one', async () => {
    const first = await ask(request('alike', { call_id: 'one' }));
    const others = [
      { call_id: 'two' },
      { call_id: 'one', tool_args: { amount: 6 } },
      { call_id: 'one', timeout: 301 },
      { call_id: 'one', timeout_action: 'allow' },
    ];
    for (const other of others) expect(await ask(request('alike', other))).not.toBe(first);
    expect(await ask(request('alike', { call_id: 'one' }))).toBe(first);
  });

  it('is another one when the first was read by its id, or decided', async () => {
    const read = await ask(request('read'));
    expect((await production.get(`/v1/approvals/${read}`, 'asks')).status).toBe(200);
    expect(await ask(request('read'))).not.toBe(read);
    const decided = await ask(request('decided'));
    const answer = await fetch(`${hub.url}/v1/approvals/${decided}/decide`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ decision: 'approved' }),
    });
    expect(answer.status).toBe(200);
    expect(await ask(request('decided'))).not.toBe(decided);
  });

  it('with an Idempotency-Key is the same under the same key alone, in each environment by itself', async () => {
    const keyed = (name: string, body: object = {}, client = production) =>
      ask(request('keyed', body), [`Idempotency-Key: ${name}`], client);
    const ids = [await keyed('k1'), await keyed('k1'), await keyed('k1')];
    expect(new Set(ids).size).toBe(1);
    expect(await keyed('k2')).not.toBe(ids[0]);
    expect(await ask(request('keyed'))).not.toBe(ids[0]);
    const everywhere = (name: string, environment: string) => keyed(name, { environment }, workspace);
    expect(await everywhere('k3', 'production')).not.toBe(await everywhere('k4', 'staging'));
    expect(await everywhere('k4', 'staging')).toBe(await everywhere('k4', 'staging'));
  });

  it.each(['', 'k'.repeat(129), 'k\xe91'])('is refused with the Idempotency-Key %j', async (value) => {
    const header = `Idempotency-Key: ${value}`;
    const refused = await production.post('/v1/approvals', request('bad-key'), 'asks', [header]);
    expect(refused).toMatchObject({ status: 422, body: { code: 'validation_failed' } });
  });
});
