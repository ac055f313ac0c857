// The hosted API's stream for agents, against the real process: what an agent of that vocabulary hears, beside one of
// the console's.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SharedHub } from './shared-hub.ts';
import { SocketClient } from './socket.ts';
import { SseClient } from './sse.ts';

const hub = new SharedHub();
let cookie = '';
let key = '';
let token = '';

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  ({ key } = await hub.key(cookie));
  const given = await hub.call('POST', '/api/v1/auth/operator-token', { cookie });
  token = given.body.token;
});
afterAll(() => hub.remove());

const ruleset = (name: string, message = 'no') => `apiVersion: service/v1
kind: Ruleset
metadata: {name: ${name}}
rules:
  - {id: a, type: pre, tool: send_mail, when: {args.to: {contains: "@evil.com"}}, then: {action: block, message: "${message}"}}
`;

async function put(name: string, yaml: string): Promise<{ version: number; revision_hash: string }> {
  const response = await fetch(`${hub.url}/v1/rulesets/${name}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-yaml' },
    body: yaml,
  });
  const body = await response.json();
  expect({ status: response.status, body }).toMatchObject({ status: 201 });
  return body as { version: number; revision_hash: string };
}

const open = (query: string, agent: string) =>
  SseClient.open(`${hub.url}/v1/stream?${query}`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': agent,
  });

it('opens over WebSocket as the first handshake of a process', async () => {
  const headers = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'first' };
  const socket = await SocketClient.open(hub.port, '/v1/stream', headers, 'reeve.v1.json');
  expect(socket.status).toBe(101);
  socket.close();
});

it('tells of a deployed ruleset without its text, and sends the document to a stream that names it', async () => {
  const named = await open('env=production&bundle_name=mail', 'named');
  const bare = await open('', 'bare');
  const console_ = await SseClient.open(`${hub.url}/api/v1/stream?env=production&bundle_name=mail`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': 'console',
  });
  expect([named.status, bare.status, console_.status]).toEqual([200, 200, 200]);
  const newVersion = await put('mail', ruleset('mail'));
  const told = (await named.next('ruleset_updated')).data;
  expect(told).toMatchObject({
    type: 'ruleset_updated',
    name: 'mail',
    version: newVersion.version,
    revision_hash: newVersion.revision_hash,
    env: 'production',
  });
  expect(JSON.stringify(told)).not.toContain('yaml');
  expect(told.signature).toMatch(/^[A-Za-z0-9+/]{86}==$/);
  expect(told.key_id).toMatch(/^[0-9a-f]{16}$/);
  const update = (await named.next('contract_update')).data;
  expect(Buffer.from(update.yaml_bytes, 'base64').toString()).toBe(ruleset('mail'));
  expect(update.signature).toBe(told.signature);
  await bare.next('ruleset_updated');
  // The console's stream has its own words and its own signature.
  expect((await console_.next('contract_update')).data.signature).toMatch(/^[0-9a-f]{128}$/);
  expect(console_.frames.map(({ event }) => event)).not.toContain('ruleset_updated');
  // A document that nobody named never reaches a stream that follows none.
  expect(bare.frames.map(({ event }) => event)).not.toContain('contract_update');
  for (const client of [named, bare, console_]) client.close();
});

it('says at once what an agent missed, and nothing to one that runs it', async () => {
  const newVersion = await put('late', ruleset('late'));
  const behind = await open(`env=production&bundle_name=late&policy_version=${'0'.repeat(64)}`, 'behind');
  expect((await behind.next('ruleset_updated')).data.revision_hash).toBe(newVersion.revision_hash);
  const current = await open(
    `env=production&bundle_name=late&policy_version=${newVersion.revision_hash}`,
    'current',
  );
  const next = await put('late', ruleset('late', 'still no'));
  expect((await current.next('ruleset_updated')).data.version).toBe(next.version);
  expect(current.frames.filter(({ event }) => event === 'ruleset_updated')).toHaveLength(1);
  behind.close();
  current.close();
});

it('follows what the agent is assigned', async () => {
  const client = await open('env=production', 'moved');
  await put('own', ruleset('own'));
  const assigned = await hub.call('PATCH', '/api/v1/agent-registrations/moved', {
    cookie,
    body: { bundle_name: 'own' },
  });
  expect(assigned.status).toBe(200);
  expect((await client.next('assignment_changed')).data).toMatchObject({ bundle_name: 'own' });
  expect((await client.next('contract_update')).data.bundle_name).toBe('own');
  client.close();
});

it('reports every ruleset to a stream that names none, whatever its agent is assigned', async () => {
  await put('given', ruleset('given'));
  const client = await open('env=production', 'assigned');
  const body = { bundle_name: 'given' };
  const assigned = await hub.call('PATCH', '/api/v1/agent-registrations/assigned', { cookie, body });
  expect(assigned.status).toBe(200);
  const byName = await open('env=production&bundle_name=given', 'assigned');
  expect((await client.next('contract_update')).data.bundle_name).toBe('given');
  const { id } = client.frames.at(-1) ?? {};
  await put('run', ruleset('run'));
  await put('given', ruleset('given', 'changed'));
  const frames = async (stream: SseClient) => {
    const of = () =>
      stream.frames.map(({ event, data }) => [event, data.name ?? data.bundle_name, data.version]);
    while (!of().some(([event, , version]) => event === 'contract_update' && version === 2))
      await stream.more();
    return of();
  };
  const later = [
    ['ruleset_updated', 'run', 1],
    ['ruleset_updated', 'given', 2],
    ['contract_update', 'given', 2],
  ];
  expect((await frames(client)).slice(-3)).toEqual(later);
  expect((await frames(byName)).filter(([, name]) => name !== 'given')).toEqual([]);
  client.close();
  byName.close();
  // A client that comes back is sent the same.
  const back = await SseClient.open(`${hub.url}/v1/stream?env=production`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': 'assigned',
    'Last-Event-ID': id ?? '',
  });
  expect(await frames(back)).toEqual(expect.arrayContaining(later));
  back.close();
});

it('says plainly that a position is unknown, and refuses another environment as a problem document', async () => {
  const client = await SseClient.open(`${hub.url}/v1/stream?bundle_name=mail`, {
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': 'back',
    'Last-Event-ID': 'nonsense',
  });
  await client.next('ruleset_updated');
  expect(client.comments.some((comment) => comment.startsWith(':gap'))).toBe(true);
  client.close();
  const wrong = await fetch(`${hub.url}/v1/stream?env=staging`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(wrong.status).toBe(403);
  expect(wrong.headers.get('content-type')).toContain('application/problem+json');
  expect(await wrong.json()).toMatchObject({ code: 'env_mismatch' });
  const none = await fetch(`${hub.url}/v1/stream`);
  expect(none.status).toBe(401);
});

it('says which version ran before', async () => {
  const client = await open('env=production&bundle_name=again', 'before');
  await put('again', ruleset('again'));
  await put('again', ruleset('again', 'changed'));
  await client.next('ruleset_updated', 2);
  const told = client.frames.filter(({ event }) => event === 'ruleset_updated');
  expect(told.map(({ data }) => [data.version, data.previous_version])).toEqual([
    [1, null],
    [2, 1],
  ]);
  client.close();
});

it('sends the document to a stream that names none once its agent fetched that one, and no other', async () => {
  const agent = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'fetches' };
  await put('one', ruleset('one'));
  await put('two', ruleset('two'));
  const client = await SseClient.open(`${hub.url}/v1/stream`, agent);
  expect((await hub.call('GET', '/v1/rulesets/one/current', { headers: agent })).status).toBe(200);
  await put('two', ruleset('two', 'changed'));
  await put('one', ruleset('one', 'changed'));
  expect((await client.next('contract_update')).data.bundle_name).toBe('one');
  // An agent that fetches several may run either.
  await hub.call('GET', '/v1/rulesets/two/current', { headers: agent });
  const from = client.frames.length;
  await put('one', ruleset('one', 'again'));
  await put('two', ruleset('two', 'again'));
  await client.next('ruleset_updated', from + 1);
  expect(client.frames.slice(from).map(({ event }) => event)).toEqual(['ruleset_updated', 'ruleset_updated']);
  client.close();
});

const report = (environment: string, ...events: { readonly [field: string]: unknown }[]) =>
  hub.call('POST', '/v1/events', {
    headers: { Authorization: `Bearer ${wide}` },
    body: { events: events.map((one) => ({ tool_name: 't', action: 'call_allowed', environment, ...one })) },
  });
let wide = '';

it('tells an agent of its own decisions, and an operator of those of an environment', async () => {
  const newKey = await hub.call('POST', '/v1/keys', {
    headers: { Authorization: `Bearer ${token}` },
    body: { name: 'wide' },
  });
  wide = newKey.body.key;
  const operator = { Authorization: `Bearer ${token}` };
  const mine = await open('env=production', 'mine');
  const session = await open('env=production&session_id=s1', 'mine');
  const all = await SseClient.open(`${hub.url}/v1/stream?env=production`, operator);
  const ofSession = await SseClient.open(`${hub.url}/v1/stream?env=production&session_id=s1`, operator);
  await report('staging', { call_id: 'elsewhere', agent_id: 'mine', session_id: 's1' });
  const sent = await report(
    'production',
    { call_id: 'd1', agent_id: 'mine' },
    { call_id: 'd2', agent_id: 'other', session_id: 's1' },
    { call_id: 'd3', agent_id: 'mine', session_id: 's1', action: 'call_blocked' },
  );
  expect(sent.body.accepted).toBe(3);
  const wanted: [SseClient, string[]][] = [
    [mine, ['d1', 'd3']],
    [session, ['d3']],
    [all, ['d1', 'd2', 'd3']],
    [ofSession, ['d2', 'd3']],
  ];
  const listed = await hub.call('GET', '/v1/events?agent_id=mine&session_id=s1&environment=production', {
    headers: operator,
  });
  for (const [client, calls] of wanted) {
    const heard = () => client.frames.filter(({ event }) => event === 'decision');
    while (heard().length < calls.length) await client.more();
    const told = heard();
    expect(told.map(({ data }) => data.call_id).sort()).toEqual(calls);
    expect(told.find(({ data }) => data.call_id === 'd3')?.data ?? null).toEqual(
      calls.includes('d3') ? listed.body.events[0] : null,
    );
    for (const { id } of told) expect(id).toMatch(/^\d+-\d+~\d+$/);
    client.close();
  }
});

it('tells an operator of deployments, who must name the environment', async () => {
  const operator = { Authorization: `Bearer ${token}` };
  const client = await SseClient.open(`${hub.url}/v1/stream?env=production&bundle_name=seen`, operator);
  await put('unseen', ruleset('unseen'));
  await put('seen', ruleset('seen'));
  expect((await client.next('ruleset_updated')).data.name).toBe('seen');
  expect(client.frames.map(({ event }) => event)).toEqual(['ruleset_updated']);
  client.close();
  for (const query of ['', '?env=nowhere']) {
    const { status, body } = await hub.call('GET', `/v1/stream${query}`, { headers: operator });
    expect({ query, status, code: body.code }).toEqual({ query, status: 422, code: 'env_required' });
  }
});

it('goes on with decisions and rulesets after the last id that a client has', async () => {
  const agent = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'resumes' };
  const url = `${hub.url}/v1/stream?bundle_name=resumed`;
  const back = (id: string) => SseClient.open(url, { ...agent, 'Last-Event-ID': id });
  const calls = (client: SseClient) =>
    client.frames.filter(({ event }) => event === 'decision').map(({ data }) => data.call_id);
  const decided = async (call: string, agent_id = 'resumes') =>
    expect((await report('production', { call_id: call, agent_id })).body.accepted).toBe(1);

  const first = await SseClient.open(url, agent);
  await put('resumed', ruleset('resumed'));
  await decided('before');
  await first.next('ruleset_updated');
  const { id } = await first.next('decision');
  first.close();
  await decided('missed 1');
  await decided('not its own', 'somebody');
  await put('resumed', ruleset('resumed', 'changed'));
  await decided('missed 2');

  // After a reconnection come the missed frames, and those of the time since: each once.
  const second = await back(id);
  await decided('live');
  while (calls(second).length < 3) await second.more();
  expect(calls(second)).toEqual(['missed 1', 'missed 2', 'live']);
  expect((await second.next('ruleset_updated')).data.version).toBe(2);
  expect(second.comments.filter((comment) => comment.startsWith(':gap'))).toEqual([]);
  second.close();

  // Every frame says how far both have come: an id of a ruleset leads on after the decisions before it, too.
  const update = second.frames.find(({ event }) => event === 'ruleset_updated');
  const third = await back(update?.id ?? '');
  while (calls(third).length < 3) await third.more();
  expect(calls(third)).toEqual(['missed 1', 'missed 2', 'live']);
  third.close();
  const last = second.frames.at(-1)?.id ?? '';
  const fourth = await back(last);
  await decided('after');
  expect((await fourth.next('decision')).data.call_id).toBe('after');
  expect(calls(fourth)).toEqual(['after']);
  fourth.close();
});

it('says that decisions cannot be told from a place that it does not know', async () => {
  const agent = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'unknown-place' };
  const first = await SseClient.open(`${hub.url}/v1/stream`, agent);
  await report('production', { call_id: 'p', agent_id: 'unknown-place' });
  const { id } = await first.next('decision');
  first.close();
  for (const place of [`${id.split('~')[0]}`, `${id.split('~')[0]}~9007199254740991`]) {
    const client = await SseClient.open(`${hub.url}/v1/stream?last_event_id=${place}`, agent);
    const call = `after ${place}`;
    await report('production', { call_id: call, agent_id: 'unknown-place' });
    expect((await client.next('decision')).data.call_id).toBe(call);
    expect(client.comments.filter((comment) => comment.startsWith(':gap'))).toEqual([':gap']);
    client.close();
  }
});

it('takes the one document that an agent fetched for what it is to run, as its status shows', async () => {
  const headers = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'shown' };
  await put('wanted', ruleset('wanted'));
  const { revision_hash } = await put('another', ruleset('another'));
  const drift = async () => {
    const { body } = await hub.call('GET', '/v1/agents/shown', {
      headers: { Authorization: `Bearer ${token}` },
    });
    return body.agent.drift;
  };
  const open = () => SseClient.open(`${hub.url}/v1/stream?policy_version=${revision_hash}`, headers);
  const client = await open();
  // It follows none by name: whatever is deployed is as good.
  expect(await drift()).toBe('current');
  const fetched = (name: string) => hub.call('GET', `/v1/rulesets/${name}/current`, { headers });
  expect((await fetched('wanted')).status).toBe(200);
  await expect.poll(drift).toBe('drift');
  client.close();
  const again = await open();
  expect(await drift()).toBe('drift');
  // An agent that fetches several may run either.
  await fetched('another');
  await expect.poll(drift).toBe('current');
  again.close();
});

it('names an agent of the console API that a ruleset is given to, and says so in its status', async () => {
  const headers = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'other-words' };
  const stream = await SseClient.open(`${hub.url}/api/v1/stream?env=production&bundle_name=words`, headers);
  expect(stream.status).toBe(200);
  const library = await SseClient.open(`${hub.url}/api/v1/stream?bundle_name=words&documents=any`, {
    ...headers,
    'X-Service-Agent-Id': 'either-words',
  });
  expect(library.status).toBe(200);
  const response = await fetch(`${hub.url}/v1/rulesets/words`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-yaml' },
    body: ruleset('words'),
  });
  const { warnings } = (await response.json()) as { warnings: { code: string; message: string }[] };
  const [warning] = warnings.filter(({ code }) => code === 'other-vocabulary');
  expect(warning?.message).toMatch(/last seen on \/api\/v1 .*: [^:]*other-words/);
  expect(warning?.message).not.toContain('either-words');
  // It is told of the document all the same, as it is: nothing is translated.
  expect((await stream.next('contract_update')).data.bundle_name).toBe('words');
  const listed = await hub.call('GET', '/api/v1/agents?search=-words', { cookie });
  expect(listed.body).toMatchObject([
    { agent_id: 'either-words', last_api: 'console', cannot_load: false },
    { agent_id: 'other-words', last_api: 'console', cannot_load: true },
  ]);
  const as = { headers: { Authorization: `Bearer ${token}` } };
  const shown = await hub.call('GET', '/v1/agents/other-words', as);
  expect(shown.body.agent).toMatchObject({ last_api: 'console', cannot_load: true });
  stream.close();
  library.close();
});
