// Every frame type, from the call that causes it to the client that gets it: over SSE and over WebSocket in both
// subprotocols, against the real process. The same frames everywhere, with the same ids.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleAgentFrames, consoleDashboardFrames } from '../../src/http/contract/frames.ts';
import { SharedHub } from './shared-hub.ts';
import { SocketClient, type Subprotocol } from './socket.ts';
import { SseClient, type SseFrame } from './sse.ts';

const hub = new SharedHub();
/** Sent after a gap, or to a stream that asks for them. */
const onRequest = [
  'resync',
  'fleet_changed',
  'tool_pins_changed',
  'approval_assigned',
  'stats_changed',
  'isolation_changed',
];
const protocols: readonly Subprotocol[] = ['reeve.v1.json', 'reeve.v1.msgpack'];
const origin = () => ({ Origin: `http://localhost:${hub.port}` });
let cookie = '';
let key = '';
let staging = '';

interface Client {
  readonly frames: readonly SseFrame[];
  next(event: string, from?: number): Promise<SseFrame>;
  close(): void;
}

const contract = (message: string) => ({
  contract_id: 'no-env',
  name: 'No env',
  type: 'pre',
  definition: {
    tools: ['read_file'],
    when: { 'args.path': { contains: '.env' } },
    then: { effect: 'deny', message },
  },
});
const bundleYaml = (name: string, text = 'no') =>
  `apiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: ${name}}\ndefaults: {mode: enforce}\ncontracts:\n  - {id: a, type: pre, tool: x, when: {args.a: {exists: true}}, then: {effect: deny, message: ${text}}}\n`;

const call = async (method: string, path: string, body?: unknown, status = [200, 201, 204]) => {
  const answer = await hub.call(method, `/api/v1${path}`, {
    cookie,
    ...(body === undefined ? {} : { body }),
  });
  expect({ path, status: answer.status, ok: status.includes(answer.status) }).toMatchObject({ ok: true });
  return answer.body;
};
const asAgent = async (method: string, path: string, agent: string, body: unknown) => {
  const answer = await hub.call(method, `/api/v1${path}`, { key, agent, body });
  expect({ path, status: answer.status }).toMatchObject({
    status: expect.toSatisfy((s: number) => s < 300),
  });
  return answer.body;
};
const event = (call_id: string, agent_id: string) => ({
  call_id,
  agent_id,
  tool_name: 't',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: new Date().toISOString(),
});

/** The three transports at once. */
async function everyWay(path: string, headers: (i: number) => { [name: string]: string }): Promise<Client[]> {
  return [
    await SseClient.open(hub.url + path, headers(0)),
    ...(await Promise.all(protocols.map((p, i) => SocketClient.open(hub.port, path, headers(i + 1), p)))),
  ];
}

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
  staging = (await hub.key(cookie, 'staging')).key;
});
afterAll(async () => {
  await hub.remove();
});

describe('dashboards', () => {
  it('get every type, each from the call that causes it, the same frames and ids on every transport', async () => {
    const clients = await everyWay('/api/v1/stream/dashboard', () => ({ Cookie: cookie, ...origin() }));
    const [sse] = clients;
    if (!sse) throw new Error('no client');
    /** Frames of this type at the SSE client after the call. */
    const caused = async (type: string, act: () => Promise<unknown>) => {
      const from = sse.frames.length;
      const result = await act();
      return { result, data: (await sse.next(type, from)).data };
    };

    const apiKey = await caused('api_key_created', () =>
      call('POST', '/keys', { env: 'staging', label: 'one more' }),
    );
    const keyId = (apiKey.result as { id: string }).id;
    expect(apiKey.data).toEqual({
      type: 'api_key_created',
      key_id: keyId,
      env: 'staging',
      label: 'one more',
    });
    const revoked = await caused('api_key_revoked', () => call('DELETE', `/keys/${keyId}`));
    expect(revoked.data).toEqual({ type: 'api_key_revoked', key_id: keyId });

    const created = await caused('contract_created', () => call('POST', '/contracts', contract('no')));
    expect(created.data).toMatchObject({ type: 'contract_created', contract_id: 'no-env' });
    const updated = await caused('contract_updated', () =>
      call('PUT', '/contracts/no-env', { name: 'No env files' }),
    );
    expect(updated.data).toMatchObject({ type: 'contract_updated', contract_id: 'no-env', version: 2 });
    const composition = { name: 'composed', contracts: [{ contract_id: 'no-env', position: 1 }] };
    for (const [method, path, body] of [
      ['POST', '/compositions', composition],
      ['PUT', '/compositions/composed', { description: 'changed' }],
      ['DELETE', '/compositions/composed', undefined],
    ] as const) {
      const { data } = await caused('composition_changed', () => call(method, path, body));
      expect(data).toMatchObject({ type: 'composition_changed', composition_name: 'composed' });
    }

    const uploaded = await caused('bundle_uploaded', () =>
      call('POST', '/bundles', { yaml_content: bundleYaml('guard') }),
    );
    const { revision_hash } = uploaded.result as { revision_hash: string };
    expect(uploaded.data).toEqual({
      type: 'bundle_uploaded',
      bundle_name: 'guard',
      version: 1,
      revision_hash,
      uploaded_by: hub.emailOf('admin'),
    });
    const deployed = await caused('bundle_deployed', () =>
      call('POST', '/bundles/guard/1/deploy', { env: 'production' }),
    );
    expect(deployed.data).toMatchObject({
      type: 'bundle_deployed',
      bundle_name: 'guard',
      version: 1,
      env: 'production',
    });
    expect((await sse.next('contract_update')).data).toMatchObject({
      type: 'contract_update',
      bundle_name: 'guard',
      version: 1,
      revision_hash,
      signature: expect.stringMatching(/^[0-9a-f]{128}$/),
      public_key: expect.stringMatching(/^[0-9a-f]{64}$/),
      yaml_bytes: Buffer.from(bundleYaml('guard')).toString('base64'),
    });
    const rotated = await caused('signing_key_rotated', () => call('POST', '/settings/rotate-signing-key'));
    expect(rotated.data).toEqual({
      type: 'signing_key_rotated',
      public_key: (rotated.result as { public_key: string }).public_key,
    });

    const events = await caused('event_created', () =>
      asAgent('POST', '/events', 'a1', { events: [event('c1', 'a1'), event('c1', 'a1'), event('c2', 'a1')] }),
    );
    expect(events.data).toEqual({ type: 'event_created', accepted: 2 });

    const ask = (timeout: number) => () =>
      asAgent('POST', '/approvals', 'a1', { agent_id: 'a1', tool_name: 't', message: 'may I?', timeout });
    const asked = await caused('approval_created', ask(60));
    const { id } = asked.result as { id: string };
    expect(asked.data).toEqual({
      type: 'approval_created',
      approval_id: id,
      agent_id: 'a1',
      tool_name: 't',
      message: 'may I?',
    });
    const decided = await caused('approval_decided', () =>
      call('PUT', `/approvals/${id}`, { approved: false }),
    );
    expect(decided.data).toEqual({
      type: 'approval_decided',
      approval_id: id,
      status: 'denied',
      decided_by: hub.emailOf('admin'),
    });
    const late = await caused('approval_timeout', ask(1));
    expect(late.data).toEqual({
      type: 'approval_timeout',
      approval_id: (late.result as { id: string }).id,
      agent_id: 'a1',
      tool_name: 't',
    });

    const rule = { priority: 9, pattern: 'zz*', bundle_name: 'guard', env: 'production' };
    const change = await caused('assignment_changed', () => call('POST', '/assignment-rules', rule));
    const ruleId = (change.result as { id: string }).id;
    expect(change.data).toEqual({ type: 'assignment_changed', rule_id: ruleId, action: 'created' });
    const patched = await caused('assignment_changed', () =>
      call('PATCH', `/assignment-rules/${ruleId}`, { priority: 8 }),
    );
    expect(patched.data).toMatchObject({ rule_id: ruleId, action: 'updated' });
    const removed = await caused('assignment_changed', () => call('DELETE', `/assignment-rules/${ruleId}`));
    expect(removed.data).toMatchObject({ rule_id: ruleId, action: 'deleted' });
    const assigned = await caused('assignment_changed', () =>
      call('PATCH', '/agent-registrations/a1', { bundle_name: 'guard' }),
    );
    expect(assigned.data).toEqual({
      type: 'assignment_changed',
      agent_id: 'a1',
      bundle_name: 'guard',
      source: 'explicit',
    });
    const bulk = await caused('assignment_changed', () =>
      call('POST', '/agent-registrations/bulk-assign', { agent_ids: ['a1'], bundle_name: '' }),
    );
    expect(bulk.data).toMatchObject({ agent_id: '__bulk__', bundle_name: null });

    expect(new Set(sse.frames.map((frame) => frame.event))).toEqual(
      new Set(Object.keys(consoleDashboardFrames).filter((type) => !onRequest.includes(type))),
    );
    const last = sse.frames.at(-1);
    for (const client of clients) {
      await client.next('assignment_changed', sse.frames.length - 1);
      expect(client.frames).toEqual(sse.frames);
      expect(client.frames.at(-1)).toEqual(last);
    }
    for (const { id: frameId, event: type, data } of sse.frames) {
      expect(frameId).toMatch(/^\d+-\d+$/);
      expect(data.type).toBe(type);
      expect(consoleDashboardFrames[type as keyof typeof consoleDashboardFrames].data.parse(data)).toEqual(
        data,
      );
    }
    expect(new Set(sse.frames.map((frame) => frame.id)).size).toBe(sse.frames.length);
    for (const client of clients) client.close();
  });

  it('are told how the fleet stands when they ask for it, the same on every transport', async () => {
    const path = '/api/v1/stream/dashboard';
    const headers = () => ({ Cookie: cookie, ...origin() });
    const clients = await everyWay(`${path}?include=fleet`, headers);
    const plain = await SseClient.open(hub.url + path, headers());
    for (const client of clients) {
      await client.next('fleet_changed', 2);
      const first = client.frames.slice(0, 3).map(({ data }) => [data.env, data.connected]);
      expect(first).toEqual([
        ['production', 0],
        ['staging', 0],
        ['development', 0],
      ]);
    }
    const agent = await SseClient.open(`${hub.url}/api/v1/stream`, {
      Authorization: `Bearer ${staging}`,
      'X-Service-Agent-Id': 'fleet-1',
    });
    for (const client of clients) {
      const { data } = await client.next('fleet_changed', 3);
      expect(data).toEqual({
        type: 'fleet_changed',
        env: 'staging',
        connected: 1,
        current: 0,
        drift: 0,
        unknown: 1,
      });
      expect(consoleDashboardFrames.fleet_changed.data.parse(data)).toEqual(data);
    }
    agent.close();
    for (const client of clients) {
      expect((await client.next('fleet_changed', 4)).data).toMatchObject({ env: 'staging', connected: 0 });
    }
    // The frame behind the numbers has arrived: a stream that did not ask for them was sent none.
    const from = plain.frames.length;
    await call('POST', '/keys', { env: 'staging', label: 'the last' });
    await plain.next('api_key_created', from);
    expect(plain.frames.map(({ event: type }) => type)).not.toContain('fleet_changed');
    for (const client of [...clients, plain]) client.close();
  });

  it('of another tenant or without a login get nothing', async () => {
    const refused = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, {});
    expect(refused.status).toBe(401);
    const withKey = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, {
      Authorization: `Bearer ${key}`,
    });
    expect(withKey.status).toBe(401);
    for (const protocol of protocols) {
      const socket = await SocketClient.open(hub.port, '/api/v1/stream/dashboard', {}, protocol);
      expect(socket.status).toBe(401);
      socket.close();
    }
  });

  it('over WebSocket are opened from our own pages alone', async () => {
    const open = async (headers: { [name: string]: string }) => {
      const socket = await SocketClient.open(
        hub.port,
        '/api/v1/stream/dashboard',
        { Cookie: cookie, ...headers },
        'reeve.v1.json',
      );
      socket.close();
      return socket.status;
    };
    expect(await open(origin())).toBe(101);
    expect(await open({ Origin: 'http://evil.example' })).toBe(403);
    expect(await open({ Origin: 'null' })).toBe(403);
  });
});

describe('agents', () => {
  const path = '/api/v1/stream?env=production';
  const names = ['sse-agent', 'json-agent', 'msgpack-agent'];
  const headersOf = (i: number) => ({
    Authorization: `Bearer ${key}`,
    'X-Service-Agent-Id': names[i] ?? '',
  });

  it('get their three types and no other, on every transport; what is for one agent goes to it alone', async () => {
    const clients = await everyWay(path, headersOf);
    // Caught up at once with what is deployed.
    for (const client of clients)
      expect((await client.next('contract_update')).data).toMatchObject({ bundle_name: 'guard', version: 1 });
    const starts = clients.map((client) => client.frames.length);
    await call('POST', '/bundles', { yaml_content: bundleYaml('guard', 'never') });
    await call('POST', '/bundles/guard/2/deploy', { env: 'production' });
    const updates = await Promise.all(clients.map((c, i) => c.next('contract_update', starts[i])));
    expect(updates[0]?.data).toMatchObject({ bundle_name: 'guard', version: 2 });
    expect(updates).toEqual(Array(3).fill(updates[0]));

    const ids: string[] = [];
    for (const agent of names) {
      const { id } = await asAgent('POST', '/approvals', agent, {
        agent_id: 'ignored',
        tool_name: 't',
        message: 'm',
      });
      await call('PUT', `/approvals/${id}`, { approved: true, reason: 'secret reason' });
      ids.push(id);
    }
    await call('POST', '/agent-registrations/bulk-assign', { agent_ids: names, bundle_name: 'guard' });
    for (const [i, client] of clients.entries()) {
      expect((await client.next('assignment_changed')).data).toEqual({
        type: 'assignment_changed',
        agent_id: names[i],
        bundle_name: 'guard',
        source: 'explicit',
      });
      const decisions = client.frames.filter((frame) => frame.event === 'approval_decided');
      expect(decisions.map(({ data }) => data)).toEqual([
        {
          type: 'approval_decided',
          approval_id: ids[i],
          status: 'approved',
          decided_by: hub.emailOf('admin'),
        },
      ]);
      expect([...new Set(client.frames.map((frame) => frame.event))].sort()).toEqual(
        Object.keys(consoleAgentFrames)
          .filter((type) => !onRequest.includes(type))
          .sort(),
      );
      for (const { id, event: type, data } of client.frames) {
        expect(id).toMatch(/^\d+-\d+(\.\d+)?$/);
        expect(consoleAgentFrames[type as keyof typeof consoleAgentFrames].data.parse(data)).toEqual(data);
      }
      client.close();
    }
  });

  it('get the mode of isolation at connect and on each change if they ask for it, the same on every transport', async () => {
    const clients = await everyWay(`${path}&isolation=1`, headersOf);
    const plain = await SseClient.open(hub.url + path, headersOf(0));
    for (const client of clients) {
      const first = await client.next('isolation_changed');
      expect(first.data).toEqual({ type: 'isolation_changed', isolation: 'none' });
      expect(client.frames[0]).toEqual(first);
    }
    await Promise.all([...clients, plain].map((client) => client.next('contract_update')));
    for (const isolation of ['required', null]) {
      const starts = clients.map((client) => client.frames.length);
      await call('PUT', '/settings/tools', { isolation });
      const changes = await Promise.all(
        clients.map((client, i) => client.next('isolation_changed', starts[i])),
      );
      expect(changes[0]?.data).toEqual({ type: 'isolation_changed', isolation: isolation ?? 'none' });
      expect(consoleAgentFrames.isolation_changed.data.parse(changes[0]?.data)).toEqual(changes[0]?.data);
      expect(changes).toEqual(Array(3).fill(changes[0]));
    }
    const from = plain.frames.length;
    await call('POST', '/bundles/guard/1/deploy', { env: 'production' });
    await plain.next('contract_update', from);
    expect(plain.frames.map(({ event: type }) => type)).not.toContain('isolation_changed');
    for (const client of [...clients, plain]) client.close();
  });

  it('of another environment hear nothing of this one', async () => {
    const other = await SseClient.open(`${hub.url}/api/v1/stream?env=staging`, {
      Authorization: `Bearer ${staging}`,
      'X-Service-Agent-Id': 'elsewhere',
    });
    await call('POST', '/bundles/guard/1/deploy', { env: 'production' });
    await call('POST', '/bundles/guard/2/deploy', { env: 'staging' });
    expect((await other.next('contract_update')).data).toMatchObject({ version: 2 });
    expect(other.frames).toHaveLength(1);
    other.close();
  });

  it('that reconnect with Last-Event-ID get what they missed; with one that cannot be placed, a resync and the current state', async () => {
    const headers = headersOf(0);
    const first = await SseClient.open(hub.url + path, headers);
    const { id } = await first.next('contract_update');
    first.close();
    const asked = await asAgent('POST', '/approvals', 'sse-agent', {
      agent_id: 'sse-agent',
      tool_name: 't',
      message: 'm',
    });
    await call('PUT', `/approvals/${asked.id}`, { approved: true });
    const again = await SseClient.open(`${hub.url + path}&policy_version=x`, {
      ...headers,
      'Last-Event-ID': id,
    });
    expect((await again.next('approval_decided')).data.approval_id).toBe(asked.id);
    again.close();
    for (const [seen, reason] of [
      ['nonsense', 'position_unknown'],
      ['1-1', 'position_gone'],
      ['99999999999999-0', 'position_gone'],
    ]) {
      const lost = await SseClient.open(hub.url + path, { ...headers, 'Last-Event-ID': seen ?? '' });
      await lost.next('contract_update');
      expect(lost.frames.map((frame) => frame.event)).toEqual(['resync', 'contract_update']);
      expect(lost.frames[0]?.data).toEqual({ type: 'resync', reason });
      expect(lost.frames[0]?.id).toMatch(/^\d+-\d+\.\d+$/);
      lost.close();
    }
  });

  it.each(protocols)(
    'send events, reports and approvals over %s and get the results with their ref',
    async (protocol) => {
      const agent = `sender-${protocol.slice(9)}`;
      const socket = await SocketClient.open(
        hub.port,
        path,
        { ...headersOf(0), 'X-Service-Agent-Id': agent },
        protocol,
      );
      const update = await socket.next('contract_update');
      const batch = { events: [event(`${agent}-1`, agent), event(`${agent}-1`, agent)] };
      expect(await socket.ask('events', 'r-1', batch)).toEqual({
        type: 'result',
        ref: 'r-1',
        status: 200,
        body: { accepted: 1, duplicates: 1 },
      });
      const stored = await hub.call('GET', `/api/v1/events?agent_id=${agent}`, { cookie });
      expect(stored.body).toMatchObject([{ call_id: `${agent}-1`, env: 'production' }]);

      const statusNow = async () =>
        (await call('GET', '/agents/status')).agents.find((a: { agent_id: string }) => a.agent_id === agent);
      expect((await statusNow()).status).toBe('unknown');
      const report = { bundle_name: 'guard', policy_version: update.data.revision_hash };
      expect(await socket.ask('report', 2, report)).toMatchObject({
        ref: 2,
        status: 200,
        body: { agent_id: agent },
      });
      expect(await statusNow()).toMatchObject({
        status: 'current',
        policy_version: update.data.revision_hash,
      });

      const pending = await socket.ask('approval', 'r-3', {
        tool_name: 't',
        tool_args: { a: [1, null] },
        message: 'm',
      });
      expect(pending).toMatchObject({
        status: 200,
        body: { status: 'pending', agent_id: agent, tool_args: { a: [1, null] } },
      });
      await call('PUT', `/approvals/${pending.body.id}`, { approved: true });
      expect((await socket.next('approval_decided')).data.approval_id).toBe(pending.body.id);

      expect(await socket.ask('events', 'bad', {})).toMatchObject({
        ref: 'bad',
        status: 422,
        code: 'validation_failed',
        detail: expect.arrayContaining([
          { loc: expect.arrayContaining(['events']), msg: expect.any(String) },
        ]),
      });
      expect(await socket.ask('delete_everything', 'unknown', {})).toMatchObject({ status: 422 });
      expect(await socket.ask('report', 'r-4', { policy_version: 'a\nb' })).toMatchObject({ status: 422 });
      const limited = [];
      for (let i = 0; i < 10; i++)
        limited.push((await socket.ask('approval', `l-${i}`, { tool_name: 't', message: `m-${i}` })).status);
      expect(limited).toEqual([...Array(9).fill(200), 429]);
      // An unreadable message has no ref, and ends nothing.
      const from = socket.frames.length;
      socket.raw(protocol === 'reeve.v1.json' ? '{"type":' : new Uint8Array([0xc1]));
      expect((await socket.next('result', from)).data).toMatchObject({
        ref: null,
        status: 400,
        code: 'invalid_json',
      });
      const wrong = socket.frames.length;
      socket.raw(protocol === 'reeve.v1.json' ? new Uint8Array([0x80]) : '{}');
      expect((await socket.next('result', wrong)).data).toMatchObject({ status: 400, code: 'bad_request' });
      expect((await socket.ask('report', 'well', report)).status).toBe(200);
      socket.close();
    },
  );
});
