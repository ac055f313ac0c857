// The three released clients of the hosted API, in Python, TypeScript and Go, played byte by byte through what each
// does from its start to its end: the document, its stream, a governed call with its counters, an approval and the
// events. Their common habits and further assumptions are in other-hosted-clients.test.ts.
import { createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HubProcess } from './process.ts';
import { type Answer, RawStream, sendRaw } from './raw-client.ts';

const hub = new HubProcess({ LOG_LEVEL: 'warn', APPROVALS_PER_MINUTE: '1000' });
let token = '';
/** Of the whole workspace, as keys of the hosted API are. */
let key = '';

const asPerson = async (method: string, path: string, body?: string, type = 'application/json') => {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };
  const response = await fetch(hub.url + path, { method, headers, ...(body === undefined ? {} : { body }) });
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  return { status: response.status, body: (await response.json()) as any };
};

beforeAll(async () => {
  await hub.start();
  const cookie = await hub.admin();
  token = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie })).body.token;
  key = (await asPerson('POST', '/v1/keys', '{"name":"fleet"}')).body.key;
});
afterAll(() => hub.remove());

const yamlOf = (name: string, message: string): string => `apiVersion: service/v1
kind: Ruleset
metadata: {name: ${name}}
rules:
  - {id: a, type: pre, tool: t, when: {args.x: {exists: true}}, then: {action: block, message: "${message} – é"}}
`;
const put = async (name: string, message: string): Promise<number> => {
  const yaml = yamlOf(name, message);
  const { status, body } = await asPerson('PUT', `/v1/rulesets/${name}`, yaml, 'application/x-yaml');
  expect(status).toBe(201);
  return body.version as number;
};

interface Client {
  readonly language: string;
  /** The query of its request for the document, and of its stream. */
  readonly current: string;
  stream(name: string): string;
  /** Its reading of the document's answer, and of an update. */
  documentIn(body: { readonly yaml: string; readonly yaml_bytes: string }): string;
  /** The frame that it acts on: one that brings the document, or one that tells it to fetch it again. */
  readonly acts: 'contract_update' | 'ruleset_updated';
  /** The path of a session value. */
  pathOf(name: string): string;
  readonly time: string;
  /** Fields of an event that it does not know a value for. */
  readonly unknown: object;
  /** Its word for a call that a person is asked about. */
  readonly asked: string;
}

const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString();
const nulls = { parent_session_id: null, workflow: null, principal: null, error: null };

const clients: readonly Client[] = [
  {
    language: 'python',
    current: '?env=production',
    stream: (name) => `?env=production&bundle_name=${name}&tags=%7B%22team%22%3A+%22a%22%7D`,
    documentIn: ({ yaml_bytes }) => fromBase64(yaml_bytes),
    acts: 'contract_update',
    pathOf: (name) => name,
    time: '2026-01-01T00:00:00.123456+00:00',
    unknown: {},
    asked: 'call_asked',
  },
  {
    language: 'typescript',
    current: '',
    stream: () => '',
    documentIn: ({ yaml }) => yaml,
    acts: 'ruleset_updated',
    pathOf: encodeURIComponent,
    time: '2026-01-01T00:00:00.123Z',
    unknown: { ...nulls, session_attempt_count: 1 },
    asked: 'call_approval_requested',
  },
  {
    language: 'go',
    current: '',
    stream: (name) => `?env=production&bundle_name=${name}`,
    documentIn: ({ yaml }) => yaml,
    acts: 'contract_update',
    pathOf: (name) => name.replaceAll('/', '%2F'),
    time: '2026-01-01T00:00:00.123456789Z',
    unknown: { ...nulls, session_attempt_count: null, session_execution_count: null },
    asked: 'call_asked',
  },
];

describe.each(clients)('the client in $language', (client) => {
  const { language } = client;
  const agent = `agent-${language}`;
  const session = `session-${language}`;
  const ruleset = `rules-${language}`;
  // All three send a content type with every request, those without a body too.
  const lines = () => [
    `Authorization: Bearer ${key}`,
    `X-Service-Agent-Id: ${agent}`,
    'Content-Type: application/json',
  ];
  const send = (method: string, path: string, body?: object): Promise<Answer> =>
    sendRaw(hub.port, [`${method} ${path} HTTP/1.1`, ...lines()], body && JSON.stringify(body));
  const current = () => send('GET', `/v1/rulesets/${ruleset}/current${client.current}`);

  it('starts with its document, whose signature is over the bytes that it reads', async () => {
    expect((await current()).status).toBe(404);
    await put(ruleset, 'first');
    const { status, body } = await current();
    expect(status).toBe(200);
    const document = client.documentIn(body);
    expect(document).toBe(yamlOf(ruleset, 'first'));
    const signature = Buffer.from(body.signature, 'base64');
    expect({ bytes: signature.length, text: signature.toString('base64') }).toEqual({
      bytes: 64,
      text: body.signature,
    });
    expect(body.public_key).toMatch(/^[0-9a-f]{64}$/);
    const spki = Buffer.concat([
      Buffer.from('302a300506032b6570032100', 'hex'),
      Buffer.from(body.public_key, 'hex'),
    ]);
    const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    expect(verify(null, Buffer.from(document), publicKey, signature)).toBe(true);
  });

  it('follows what is deployed, by the frame that it acts on', async () => {
    const stream = await RawStream.open(hub.port, [
      `GET /v1/stream${client.stream(ruleset)} HTTP/1.1`,
      ...lines(),
      'Accept: text/event-stream',
    ]);
    expect(stream.head).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream' } });
    const version = await put(ruleset, 'second');
    let frame: {
      readonly version: number;
      readonly name?: string;
      readonly yaml: string;
      readonly yaml_bytes: string;
    };
    for (let i = 0; ; i++) {
      frame = await stream.next(client.acts, i);
      // A stream that names no bundle is told of every one: its client looks for its own.
      if (frame.version === version && (frame.name ?? ruleset) === ruleset) break;
    }
    // The lines as its parser wants them: `event: ` and `data: ` with the blank, each ended by a line feed.
    expect(stream.socket.text).toMatch(new RegExp(`\\nevent: ${client.acts}\\ndata: \\{[^\\n\\r]*\\}\\n\\n`));
    if (client.acts === 'ruleset_updated') {
      expect(frame).toMatchObject({ name: ruleset });
      expect(JSON.stringify(frame)).not.toContain('apiVersion');
      expect(client.documentIn((await current()).body)).toBe(yamlOf(ruleset, 'second'));
    } else expect(fromBase64(frame.yaml_bytes)).toBe(yamlOf(ruleset, 'second'));
    stream.close();
  });

  it('counts a call in its session', async () => {
    const path = (name: string) => `/v1/sessions/${client.pathOf(name)}`;
    const keys = ['attempts', 'execs', 'tool:t/x', 'consec_fail'].map((name) => `s:${session}:${name}`);
    const [attempts = '', execs = '', tool = '', failures = ''] = keys;
    const increment = async (name: string) =>
      (await send('POST', `${path(name)}/increment`, { amount: 1 })).text;
    expect((await send('GET', path(attempts))).status).toBe(404);
    expect(await increment(attempts)).toBe('{"value":1}');
    expect((await send('POST', '/v1/sessions/batch', { keys })).body.values).toMatchObject({
      [attempts]: '1',
    });
    expect(await increment(execs)).toBe('{"value":1}');
    expect(await increment(tool)).toBe('{"value":1}');
    expect(await increment(failures)).toBe('{"value":1}');
    expect((await send('DELETE', path(failures))).text).toBe('{"value":null}');
    expect((await send('DELETE', path(failures))).status).toBeOneOf([200, 404]);
    expect((await send('GET', path(tool))).text).toBe('{"value":"1"}');
  });

  it('asks, and polls until a person has decided', async () => {
    const asked = await send('POST', '/v1/approvals', {
      agent_id: agent,
      tool_name: 't',
      tool_args: { x: 1 },
      message: 'May I?',
      timeout: 300,
      timeout_action: 'block',
      session_id: session,
    });
    expect(asked).toMatchObject({
      status: 201,
      body: { id: expect.stringMatching(/^[a-zA-Z0-9][\w.-]{0,127}$/) },
    });
    const path = `/v1/approvals/${asked.body.id}`;
    expect((await send('GET', path)).body.status).toBe('pending');
    const decided = await asPerson('POST', `${path}/decide`, '{"decision":"approved","reason":"fine"}');
    expect(decided.status).toBe(200);
    expect((await send('GET', path)).body).toMatchObject({
      status: 'approved',
      decided_by: 'admin@example.com',
      decision_reason: 'fine',
    });
  });

  it('reports every event of a call under one id, and sends what it could not know to be stored again', async () => {
    const events = [client.asked, 'call_approval_granted', 'call_allowed', 'call_executed'].map(
      (action, i) => ({
        schema_version: '0.3.0',
        call_id: `call-${language}`,
        agent_id: agent,
        tool_name: 't',
        tool_args: { x: 'é\u2028', deep: [{ y: null }] },
        side_effect: 'irreversible',
        environment: 'production',
        action,
        decision_source: 'yaml_precondition',
        decision_name: 'a',
        reason: null,
        hooks_evaluated: [],
        rules_evaluated: [{ name: 'a', type: 'pre', passed: true, message: null }],
        mode: 'enforce',
        policy_version: 'f'.repeat(64),
        timestamp: client.time,
        run_id: `run-${language}`,
        call_index: i,
        parent_call_id: null,
        tool_success: null,
        postconditions_passed: null,
        duration_ms: 0,
        result_summary: null,
        policy_error: false,
        session_id: session,
        ...client.unknown,
      }),
    );
    const first = await send('POST', '/v1/events', { events });
    expect(first).toMatchObject({ status: 200, text: '{"accepted":4,"duplicates":0,"rejected":[]}' });
    expect((await send('POST', '/v1/events', { events })).text).toBe(
      '{"accepted":0,"duplicates":4,"rejected":[]}',
    );
    const { body } = await asPerson('GET', `/v1/events?agent_id=${agent}&order=asc`);
    const shown = body.events as readonly { readonly action: string; readonly call_index: number }[];
    expect([...shown].sort((a, b) => a.call_index - b.call_index)).toMatchObject(
      ['call_asked', 'call_approval_granted', 'call_allowed', 'call_executed'].map((action) => ({
        action,
        call_id: `call-${language}`,
        tool_args: { x: 'é\u2028', deep: [{ y: null }] },
        timestamp: expect.stringMatching(/^2026-01-01T00:00:00\.123(456|000)Z$/),
        run_key: { agent_id: agent, session_id: session },
        sent_by: null,
      })),
    );
    const run = (await asPerson('GET', `/v1/runs?agent_id=${agent}`)).body.runs[0];
    expect(run).toMatchObject({
      session_id: session,
      run_id: `run-${language}`,
      counts: { events: 4, calls: 2 },
    });
  });
});
