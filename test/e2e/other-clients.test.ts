// A client that is not ours, played byte by byte against the real process: what released clients of this protocol leave
// out, repeat and assume, and what they are answered. Raw sockets, so that nothing adds a header or reads an answer
// kindly.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleYaml } from '../contract/library.ts';
import { HubProcess } from './process.ts';
import { type Answer, RawStream, sendRaw } from './raw-client.ts';

const hub = new HubProcess({ LOG_LEVEL: 'warn', APPROVALS_PER_MINUTE: '1000' });
let cookie = '';
let key = '';

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  ({ key } = await hub.key(cookie));
});
afterAll(() => hub.remove());

const send = (lines: readonly string[], body?: string) => sendRaw(hub.port, lines, body);
const bearer = (agent: string): string[] => [`Authorization: Bearer ${key}`, `X-Service-Agent-Id: ${agent}`];
const get = (path: string, agent = 'raw') => send([`GET ${path} HTTP/1.1`, ...bearer(agent)]);
const post = (path: string, body: unknown, agent = 'raw', more: readonly string[] = []) =>
  send(
    [`POST ${path} HTTP/1.1`, ...bearer(agent), 'Content-Type: application/json', ...more],
    JSON.stringify(body),
  );

const open = (query: string, agent: string, more: readonly string[] = []) =>
  RawStream.open(hub.port, [`GET /api/v1/stream${query} HTTP/1.1`, ...bearer(agent), ...more]);

const people = async (method: string, path: string, body?: unknown) => {
  const answer = await hub.call(method, `/api/v1${path}`, {
    cookie,
    ...(body === undefined ? {} : { body }),
  });
  expect({ path, status: answer.status }).toMatchObject({
    status: expect.toSatisfy((status: number) => status < 300),
  });
  return answer.body;
};
const upload = async (yaml_content: string): Promise<number> =>
  (await people('POST', '/bundles', { yaml_content })).version;
const deploy = async (name: string, version: number, env = 'production') =>
  people('POST', `/bundles/${name}/${version}/deploy`, { env });
async function deployed(name: string, contracts: readonly string[] = ['a']): Promise<number> {
  const version = await upload(bundleYaml(name, contracts));
  await deploy(name, version);
  return version;
}

describe.concurrent('a client without env', () => {
  it('gets what its key is for, on /current and on streams; another environment is refused as before', async () => {
    await deployed('no-env');
    const current = await get('/api/v1/bundles/no-env/current');
    expect(current).toMatchObject({ status: 200, body: { name: 'no-env', env: 'production' } });
    expect(await get('/api/v1/bundles/no-env/current?env=')).toMatchObject({
      status: 200,
      body: { env: 'production' },
    });
    const stream = await open('?bundle_name=no-env', 'no-env');
    expect(await stream.next('contract_update')).toMatchObject({ bundle_name: 'no-env', env: 'production' });
    stream.close();
    expect(await get('/api/v1/bundles/no-env/current?env=staging')).toMatchObject({ status: 403 });
    const refused = await open('?env=staging', 'no-env');
    expect(refused.head.status).toBe(403);
    refused.close();
  });

  it('is refused where it is a person', async () => {
    const answer = await send([
      'GET /api/v1/bundles/no-env/current HTTP/1.1',
      `Cookie: ${cookie}`,
      'X-Requested-With: x',
    ]);
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ['query', 'env'] }] } });
  });
});

describe.concurrent('what a stream follows', () => {
  it('is its own bundle alone when it named one, and its environment when it named none', async () => {
    await deployed('follow-a');
    await deployed('follow-b');
    const named = await open('?env=production&bundle_name=follow-a', 'follows-a');
    const all = await open('?env=production', 'follows-all');
    await named.next('contract_update');
    await deployed('follow-b', ['a', 'b']);
    const last = await deployed('follow-a', ['a', 'b']);
    await named.next('contract_update', 1);
    expect(named.events('contract_update').map((data) => data.bundle_name)).toEqual(['follow-a', 'follow-a']);
    await all.socket.until(() =>
      all.events('contract_update').some((data) => data.bundle_name === 'follow-a' && data.version === last),
    );
    expect(new Set(all.events('contract_update').map((data) => data.bundle_name))).toEqual(
      expect.toSatisfy((names: Set<string>) => names.has('follow-b')),
    );
    named.close();
    all.close();
  });
});

describe.concurrent('a client that never says what it has', () => {
  it('gets its document at each connect that comes at once, and keepalives every 15 s; then no second copy', async () => {
    const first = await deployed('catch-up');
    const copy = () => open('?bundle_name=catch-up', 'catches-up');
    const short = await copy();
    const { version, revision_hash } = await short.next('contract_update');
    expect(version).toBe(first);
    short.close();
    // The stream ended before it can be known that the copy was read.
    const long = await copy();
    await long.next('contract_update');
    await long.socket.until(() => long.comments('keepalive') > 0);
    const heard = performance.now();
    await long.socket.until(() => long.comments('keepalive') > 1);
    const between = performance.now() - heard;
    // Not more often than needed: clients give a stream up after 30 s without a byte.
    expect(between).toBeGreaterThan(10_000);
    long.close();
    await ended('catches-up');
    const again = await copy();
    const without = await open('', 'catches-up');
    await without.socket.until(() =>
      without.events('contract_update').some((data) => data.bundle_name === 'catch-up'),
    );
    const second = await deployed('catch-up', ['a', 'b']);
    expect(await again.next('contract_update')).toMatchObject({ version: second });
    const tells = await open(`?bundle_name=catch-up&policy_version=${revision_hash}`, 'catches-up');
    expect(await tells.next('contract_update')).toMatchObject({ version: second });
    for (const stream of [again, without, tells]) stream.close();
  }, 60_000);
});

/** Resolves when the hub knows that no stream of the agent is open. */
async function ended(agent: string): Promise<void> {
  for (;;) {
    const { body } = await hub.call('GET', '/api/v1/agents/status', { cookie });
    if (!body.agents.some((row: { agent_id: string }) => row.agent_id === agent)) return;
  }
}

describe.concurrent('ends and errors of streams', () => {
  it('are never a stream of another status, nor an error in the form of one', async () => {
    const wrong = await open('?env=staging', 'errors');
    const nobody = await send(['GET /api/v1/stream?env=production HTTP/1.1', 'Accept: text/event-stream']);
    for (const answer of [wrong.head, nobody]) {
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.headers['content-type']).toBe('application/json');
    }
    const stream = await open('', 'errors', ['Accept: application/json']);
    expect(stream.head).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream' } });
    wrong.close();
    stream.close();
  });

  it('a client that reconnects at once, again and again, is told to wait; replicas that stay are not', async () => {
    const staying = await Promise.all(Array.from({ length: 30 }, () => open('', 'replicas')));
    expect(staying.map(({ head }) => head.status)).toEqual(staying.map(() => 200));
    const statuses: number[] = [];
    let refused: Answer | null = null;
    for (let i = 0; i < 40 && !refused; i++) {
      const stream = await open('', 'loops');
      statuses.push(stream.head.status);
      if (stream.head.status === 429) refused = stream.head;
      stream.close();
      await stream.socket.untilClosed();
    }
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(10);
    expect(refused?.headers).toMatchObject({
      'content-type': 'application/json',
      'retry-after': expect.toSatisfy((text: string) => Number(text) >= 1 && Number(text) <= 10),
    });
    const another = await open('', 'another-agent');
    expect(another.head.status).toBe(200);
    for (const stream of [...staying, another]) stream.close();
  });
});

describe.concurrent('answers', () => {
  it('to POST, PUT and DELETE by a key are JSON objects; counters are whole numbers without a fraction', async () => {
    const json = ['Content-Type: application/json'];
    const put = (path: string, body: string) =>
      send([`PUT ${path} HTTP/1.1`, ...bearer('raw'), ...json], body);
    const answers = [
      await put('/api/v1/sessions/raw/counter', '{"value":"2"}'),
      await post('/api/v1/sessions/raw/counter/increment', {}),
      await post('/api/v1/sessions/raw/fresh/increment', { amount: 1.0 }),
      await post('/api/v1/events', { events: [] }),
      await post('/api/v1/agents/report', { policy_version: 'x', bundle_name: null }),
      // A Content-Type without a body.
      await send(['DELETE /api/v1/sessions/raw/fresh HTTP/1.1', ...bearer('raw'), ...json]),
    ];
    for (const { status, text } of answers) {
      expect({ status, object: text.startsWith('{') && text.endsWith('}') }).toEqual({
        status: expect.toSatisfy((code: number) => code >= 200 && code < 300),
        object: true,
      });
    }
    expect(answers[1]?.text).toBe('{"value":3}');
    expect(answers[2]?.text).toBe('{"value":1}');
    expect((await get('/api/v1/sessions/raw/counter')).text).toBe('{"value":"3"}');
  });

  it('do not depend on Accept, and never redirect', async () => {
    for (const accept of ['text/html', 'application/xml', '*/*']) {
      const answer = await send([
        'GET /api/v1/sessions/raw/absent HTTP/1.1',
        ...bearer('raw'),
        `Accept: ${accept}`,
        'Content-Type: application/json',
      ]);
      expect(answer).toMatchObject({ status: 404, headers: { 'content-type': 'application/json' } });
    }
    for (const path of ['/api/v1/events/', '/api//v1/events', '/api/v1', '/api/v1/stream/', '/v1', '/v1/']) {
      const { status, headers } = await get(path);
      expect({ path, redirect: status >= 300 && status < 400, location: headers.location }).toEqual({
        path,
        redirect: false,
        location: undefined,
      });
    }
  });
});

describe('a composition', () => {
  /** The keys of `pre` and `post` contracts that released clients know. */
  const known = new Set(['id', 'type', 'enabled', 'mode', 'tool', 'when', 'then']);

  it('reaches clients with a type and one tool in each contract; its record says what counts as what', async () => {
    const when = { 'args.path': { contains: 'x' } };
    const then = { effect: 'deny', message: 'no' };
    const add = (contract_id: string, type: string, definition: object) =>
      people('POST', '/contracts', { contract_id, name: contract_id, type, definition });
    await add('many', 'pre', { tools: ['read_file', 'write_file', 'rm'], when, then });
    await add('many-2', 'pre', { tool: 'cat', when, then });
    await add('single', 'post', {
      tools: ['search'],
      when: { 'output.text': { contains: 'x' } },
      then: { effect: 'warn', message: 'w' },
    });
    await add('box', 'sandbox', { tools: ['read_file', 'write_file'], within: ['/srv'], message: 'outside' });
    const contracts = ['many', 'many-2', 'single', 'box'].map((contract_id, i) => ({
      contract_id,
      position: i,
    }));
    await people('POST', '/compositions', { name: 'assembled', contracts });
    const made = await people('POST', '/compositions/assembled/deploy', { env: 'production' });
    expect(made.contracts_assembled.map((one: { contract_id: string }) => one.contract_id)).toEqual([
      'many',
      'many-2',
      'single',
      'box',
    ]);
    const { body } = await get('/api/v1/bundles/assembled/current');
    const yaml = Buffer.from(body.yaml_bytes, 'base64').toString();
    const { parse } = await import('yaml');
    const document = parse(yaml);
    expect(document.contracts.map((one: { id: string; tool?: string }) => [one.id, one.tool])).toEqual([
      ['many', 'read_file'],
      ['many-3', 'write_file'],
      ['many-4', 'rm'],
      ['many-2', 'cat'],
      ['single', 'search'],
      ['box', undefined],
    ]);
    for (const contract of document.contracts.slice(0, 5)) {
      expect(contract.type).toMatch(/^(?:pre|post)$/);
      expect(Object.keys(contract).filter((name) => !known.has(name))).toEqual([]);
    }
    expect(document.contracts[5].tools).toEqual(['read_file', 'write_file']);
  });
});

describe.concurrent('large documents', () => {
  it('are taken, with a warning that some clients cannot take them by stream', async () => {
    const yaml = bundleYaml('large');
    const uploaded = await people('POST', '/bundles', { yaml_content: `${yaml}# ${'x'.repeat(524_288)}\n` });
    expect(uploaded.warnings).toMatchObject([{ code: 'large-document', severity: 'warning' }]);
    expect((await deploy('large', uploaded.version)).warnings).toEqual(uploaded.warnings);
  });
});

describe.concurrent('an approval asked for twice', () => {
  const request = (call_id: string, agent_id: string) => ({
    agent_id,
    tool_name: 'pay',
    tool_args: { amount: 5 },
    message: 'pay?',
    timeout: 300,
    call_id,
  });
  const ask = (call_id: string, more: readonly string[] = []) =>
    post('/api/v1/approvals', request(call_id, 'asks'), 'asks', more);

  it('because the first answer was lost is answered with the first, once', async () => {
    const [first, again, third] = [await ask('lost'), await ask('lost'), await ask('lost')];
    expect([first.status, again.status, third.status]).toEqual([201, 201, 201]);
    expect(again.body.id).toBe(first.body.id);
    expect(third.body.id).not.toBe(first.body.id);
    expect((await ask('other')).body.id).not.toBe(third.body.id);
    const elsewhere = await post('/api/v1/approvals', request('lost', 'another'), 'another');
    expect([first.body.id, third.body.id]).not.toContain(elsewhere.body.id);
  });

  it('is another one when the first was read by its id, or decided', async () => {
    const read = await ask('read');
    await get(`/api/v1/approvals/${read.body.id}`, 'asks');
    expect((await ask('read')).body.id).not.toBe(read.body.id);
    const decided = await ask('decided');
    await people('PUT', `/approvals/${decided.body.id}`, { approved: true });
    const next = await ask('decided');
    expect(next.body.id).not.toBe(decided.body.id);
    expect(next.body.status).toBe('pending');
  });

  it('with an Idempotency-Key is the same under the same key alone, however often', async () => {
    const withKey = (name: string) => ask('keyed', [`Idempotency-Key: ${name}`]);
    const [one, two, three] = [await withKey('k1'), await withKey('k1'), await withKey('k1')];
    expect(new Set([one.body.id, two.body.id, three.body.id]).size).toBe(1);
    expect((await withKey('k2')).body.id).not.toBe(one.body.id);
    expect((await ask('keyed')).body.id).not.toBe(one.body.id);
    const otherBody = await post('/api/v1/approvals', request('different', 'asks'), 'asks', [
      'Idempotency-Key: k1',
    ]);
    expect(otherBody.body.id).not.toBe(one.body.id);
  });

  it('with an empty Idempotency-Key counts as one without a key', async () => {
    const empty = ['Idempotency-Key:'];
    const first = await ask('empty-key', empty);
    expect((await ask('empty-key', empty)).body.id).toBe(first.body.id);
    await people('PUT', `/approvals/${first.body.id}`, { approved: true });
    const next = await ask('empty-key', empty);
    expect([next.status, next.body.status]).toEqual([201, 'pending']);
  });

  it.each(['k'.repeat(129), 'k\xe91', 'k\t1'])('is refused with the Idempotency-Key %j', async (value) => {
    const problem = {
      loc: ['header', 'idempotency-key'],
      msg: 'must be 1 to 128 printable ASCII characters',
    };
    const refused = await ask('bad-key', [`Idempotency-Key: ${value}`]);
    expect(refused).toMatchObject({ status: 422, body: { detail: [problem] } });
    expect((await ask('bad-key', [`Idempotency-Key: ${'k'.repeat(128)}`])).status).toBe(201);
  });
});

describe.concurrent('a manifest', () => {
  const event = (call_id: string, agent_id: string) => ({
    call_id,
    agent_id,
    tool_name: 't',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: '2026-01-01T00:00:00Z',
  });
  const manifest = (agent_id: string) => ({
    agent_id,
    policy_version: 'v1',
    contracts: [{ id: 'own', type: 'pre', tool: 't', mode: 'enforce' }],
  });

  it('without an agent is of the agent of the events; of another agent it is refused, and the events are kept', async () => {
    const own = await post('/api/v1/events', {
      events: [event('m1', 'manifests')],
      agent_manifest: manifest(''),
    });
    expect(own.body).toMatchObject({ accepted: 1 });
    expect(own.body).not.toHaveProperty('manifest');
    const other = await post('/api/v1/events', {
      events: [event('m2', 'manifests')],
      agent_manifest: manifest('somebody-else'),
    });
    expect(other.body).toMatchObject({ accepted: 1, manifest: 'refused' });
    const { body } = await hub.call('GET', '/api/v1/agents', { cookie });
    expect(body.map((row: { agent_id: string }) => row.agent_id)).not.toContain('somebody-else');
  });
});
