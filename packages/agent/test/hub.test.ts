// The hub client against a loopback hub: headers, retries, errors, approvals, session values.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localApproval } from '../src/approvals.ts';
import { HubConnectionError, HubResponseError } from '../src/failure.ts';
import { HubClient, type HubOptions, readBundle } from '../src/hub.ts';
import { MemorySessionStore, type SessionStore } from '../src/sessions.ts';
import { FakeHub, approvalRequest as request } from './fake-hub.ts';
import { ManualClock, until } from './manual-clock.ts';

let hub: FakeHub;
let clock: ManualClock;
const client = (extra: Partial<HubOptions> = {}): HubClient =>
  new HubClient({ url: hub.url, apiKey: 'svk_production_x', agentId: 'agent-1', clock, ...extra });

beforeEach(async () => {
  clock = new ManualClock();
  hub = await new FakeHub().start();
});
afterEach(() => hub.stop());

describe('requests', () => {
  it('carries the key and the agent id, under a header name that can be chosen', async () => {
    hub.on('GET /sessions/k', { body: { value: '1' } });
    await client().sessions.get('k');
    await client({ agentIdHeader: 'X-Other-Agent-Id' }).sessions.get('k');
    expect(hub.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer svk_production_x',
      'x-service-agent-id': 'agent-1',
      'content-type': 'application/json',
    });
    expect(hub.requests[1]?.headers['x-other-agent-id']).toBe('agent-1');
    expect(hub.requests[1]?.headers['x-service-agent-id']).toBeUndefined();
  });

  it('keeps a path prefix of the address', async () => {
    const paths: string[] = [];
    const fetch: typeof globalThis.fetch = async (input) => {
      paths.push(String(input));
      return new Response('{}');
    };
    await client({ url: 'https://example.com/reeve/', fetch }).sessions.get('k');
    expect(paths).toEqual(['https://example.com/reeve/api/v1/sessions/k']);
  });

  it.each([500, 503])('tries 3 times, with waits of 0.5 and 1 s, on %i', async (status) => {
    hub.on('GET /sessions/k', { status, body: { detail: 'busy' } });
    const answer = client()
      .sessions.get('k')
      .catch((failure: unknown) => failure);
    await clock.asked(500);
    clock.advance(500);
    await clock.asked(1000);
    clock.advance(1000);
    const failure = await answer;
    expect(failure).toBeInstanceOf(HubResponseError);
    expect(failure).toMatchObject({ status, text: '{"detail":"busy"}' });
    expect(hub.requests).toHaveLength(3);
  });

  it('tries again after a cut connection and succeeds', async () => {
    let count = 0;
    hub.on('GET /sessions/k', () => (++count === 1 ? 'cut' : { body: { value: 'x' } }));
    const answer = client().sessions.get('k');
    await clock.asked(500);
    clock.advance(500);
    expect(await answer).toBe('x');
  });

  it('raises a 4xx at once, with status and text', async () => {
    hub.on('GET /sessions/k', { status: 403, body: { detail: 'no' }, headers: { 'Retry-After': '7' } });
    const failure = await client()
      .sessions.get('k')
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'HubResponseError',
      status: 403,
      text: '{"detail":"no"}',
      retryAfter: 7,
    });
    expect(hub.requests).toHaveLength(1);
  });

  it('gives up on an attempt after 30 s', async () => {
    hub.on('GET /sessions/k', () => new Promise(() => {}));
    const answer = client()
      .sessions.get('k')
      .catch((failure: unknown) => failure);
    for (const wait of [500, 1000, null]) {
      await until(() => clock.pending > 0);
      clock.advance(30_000);
      if (wait === null) break;
      await clock.asked(wait);
      clock.advance(wait);
      await clock.asked(30_000);
    }
    expect(await answer).toBeInstanceOf(HubConnectionError);
    expect(String(await answer)).toContain('30000 ms');
  });

  it('follows no redirect, which could carry the key elsewhere', async () => {
    hub.on('GET /sessions/k', { status: 302, headers: { Location: `${hub.url}/api/v1/sessions/other` } });
    const answer = client()
      .sessions.get('k')
      .catch((failure: unknown) => failure);
    for (const wait of [500, 1000]) {
      await clock.asked(wait);
      clock.advance(wait);
    }
    expect(await answer).toBeInstanceOf(HubConnectionError);
    expect(hub.seen('GET /sessions/other')).toEqual([]);
  });

  it.each([
    [{ url: 'http://example.com' }],
    [{ url: 'ftp://localhost' }],
    [{ url: 'nonsense' }],
    [{ url: 'https://u:p@example.com' }],
    [{ apiKey: '' }],
    [{ apiKey: 'a\nb' }],
    [{ agentId: 'no/slash' }],
    [{ env: '' }],
  ])('refuses to start with %j', (extra) => {
    const named = new RegExp(`option ${Object.keys(extra)[0]}\\b`);
    expect(() => client(extra)).toThrow(TypeError);
    expect(() => client(extra)).toThrow(named);
  });

  it('uses plain http to loopback, and elsewhere only when told', () => {
    for (const url of ['http://localhost:1', 'http://127.0.0.1:1', 'http://[::1]:1'])
      expect(client({ url })).toBeTruthy();
    expect(client({ url: 'http://example.com', allowInsecure: true })).toBeTruthy();
  });
});

describe('events, reports and bundles', () => {
  it('names the events that the hub does not store, and reads nothing into an answer of another form', async () => {
    const detail = 'The key is not bound to this agent.';
    const rejected = [
      { index: 0, call_id: 'c', code: 'forbidden', detail },
      { index: 1, call_id: null, code: 'not_an_object', detail: 'An event must be an object.' },
    ];
    hub.on('POST /events', { body: { accepted: 1, duplicates: 0, rejected } });
    expect(await client().postEvents([])).toEqual([
      { callId: 'c', code: 'forbidden', detail },
      { callId: null, code: 'not_an_object', detail: 'An event must be an object.' },
    ]);
    for (const text of ['null', '"ok"', 'not JSON', '{"rejected":7}']) {
      hub.on('POST /events', { text });
      expect(await client().postEvents([])).toEqual([]);
    }
  });

  it('takes any 2xx as success, an empty one too', async () => {
    hub.on('POST /events', { status: 204 });
    await client().postEvents([]);
    await client().postEvents([], { agentId: 'a', policyVersion: 'v', contracts: [] });
    expect(hub.requests.map((request) => request.body)).toEqual([
      { events: [] },
      { events: [], agent_manifest: { agent_id: 'a', policy_version: 'v', contracts: [] } },
    ]);
  });

  it('reports the applied version, and stops at a hub without that route', async () => {
    hub.on('POST /agents/report', { body: {} });
    const reporting = client();
    await reporting.report('guardrails', 'abc');
    expect(hub.requests[0]?.body).toEqual({ bundle_name: 'guardrails', policy_version: 'abc' });
    hub.on('POST /agents/report', { status: 404 });
    await reporting.report('guardrails', 'abc');
    await reporting.report('guardrails', 'abc');
    expect(hub.requests).toHaveLength(2);
  });

  it('fetches the current bundle of its environment', async () => {
    const yaml = 'apiVersion: service/v1\n';
    hub.on('GET /bundles/guardrails/current', {
      body: {
        name: 'guardrails',
        version: 3,
        revision_hash: 'h',
        yaml_bytes: Buffer.from(yaml).toString('base64'),
      },
    });
    const bundle = await client({ env: 'staging' }).currentBundle('guardrails');
    expect(hub.requests[0]?.query.get('env')).toBe('staging');
    expect(bundle).toMatchObject({
      bundleName: 'guardrails',
      version: 3,
      revisionHash: 'h',
      signature: null,
    });
    expect(bundle.bytes.toString()).toBe(yaml);
  });

  it('refuses a bundle without YAML or above a megabyte', () => {
    expect(() => readBundle({}, 'x')).toThrow('no yaml_bytes');
    expect(() => readBundle(null, 'x')).toThrow('no yaml_bytes');
    expect(() => readBundle({ yaml: 'x'.repeat(1_048_577) }, 'x')).toThrow('not usable');
  });
});

describe('approvals of the hub', () => {
  let state: { [name: string]: unknown };
  beforeEach(() => {
    state = { id: 'a1', status: 'pending', decided_by: null, decision_reason: null };
    hub.on('POST /approvals', () => ({ status: 201, body: state }));
    hub.on('GET /approvals/a1', () => ({ body: state }));
  });

  it('sends what deciders need', async () => {
    const pending = await client().approvals.request(request());
    expect(pending.id).toBe('a1');
    expect(hub.requests[0]?.body).toEqual({
      agent_id: 'agent-1',
      tool_name: 'deploy',
      tool_args: { target: 'x' },
      message: 'may I?',
      timeout: 60,
      timeout_effect: 'deny',
      decision_source: 'yaml_precondition',
      contract_name: 'ask-first',
    });
    await client().approvals.request(request());
    const keys = hub.seen('POST /approvals').map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(2);
    expect(keys).not.toContain(undefined);
  });

  it('are asked for with the longest time that a hub waits, when a contract has a longer one', async () => {
    hub.on('POST /approvals', () => ({ status: 201, body: { id: 'a1', status: 'pending' } }));
    for (const timeout of [86_400, 86_401, 10_000_000])
      await client().approvals.request(request({ timeout }));
    expect(hub.seen('POST /approvals').map(({ body }) => body)).toMatchObject(
      [86_400, 86_400, 86_400].map((timeout) => ({ timeout })),
    );
  });

  it('resolves with a pushed decision, heard before or while it waits', async () => {
    const { approvals } = client();
    const pending = await approvals.request(request());
    approvals.decided('a1', true, 'ann');
    expect(await pending.outcome()).toEqual({
      status: 'approved',
      proceed: true,
      decidedBy: 'ann',
      reason: null,
    });
    const again = (await approvals.request(request())).outcome();
    approvals.decided('a1', false, 'bob');
    expect(await again).toMatchObject({ status: 'denied', proceed: false, decidedBy: 'bob' });
    expect(hub.seen('GET /approvals/a1')).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('looks every 2 seconds', async () => {
    const outcome = (await client().approvals.request(request())).outcome();
    await clock.asked(2000);
    clock.advance(2000);
    await until(() => hub.seen('GET /approvals/a1').length === 1);
    Object.assign(state, { status: 'denied', decided_by: 'ann', decision_reason: 'too late in the day' });
    await clock.asked(2000);
    clock.advance(2000);
    expect(await outcome).toEqual({
      status: 'denied',
      proceed: false,
      decidedBy: 'ann',
      reason: 'too late in the day',
    });
    expect(hub.seen('GET /approvals/a1')).toHaveLength(2);
  });

  it.each([
    ['deny', false],
    ['allow', true],
  ] as const)(
    'applies the timeout effect %s by the deadline, though the hub is away',
    async (effect, proceed) => {
      const outcome = (
        await client().approvals.request(request({ timeout: 3, timeoutEffect: effect }))
      ).outcome();
      await hub.stop();
      clock.advance(3000);
      expect(await outcome).toMatchObject({ status: 'timeout', proceed });
      await until(() => clock.pending === 0, 'the end of all timers');
    },
  );

  it('looks once more just before the deadline', async () => {
    const outcome = (await client().approvals.request(request({ timeout: 1 }))).outcome();
    state.status = 'approved';
    await clock.asked(750);
    clock.advance(750);
    expect(await outcome).toMatchObject({ status: 'approved', proceed: true });
  });

  it('looks at once when it is told to, however it is called for, and goes on as before', async () => {
    const { approvals } = client();
    const pending = await approvals.request(request());
    // Before anybody waits, while nobody asks, and while a question is under way that was asked too early.
    approvals.look();
    const outcome = pending.outcome();
    await until(() => hub.seen('GET /approvals/a1').length === 1);
    await clock.asked(2000);
    const early: (() => void)[] = [];
    hub.on('GET /approvals/a1', async () => {
      const asked = { ...state };
      await new Promise<void>((resolve) => early.push(resolve));
      return { body: asked };
    });
    approvals.look();
    await until(() => early.length === 1);
    Object.assign(state, { status: 'approved', decided_by: 'ann' });
    approvals.look();
    early[0]?.();
    await until(() => early.length === 2);
    early[1]?.();
    expect(await outcome).toMatchObject({ status: 'approved', decidedBy: 'ann' });
    expect(clock.pending).toBe(0);
  });

  describe('of an earlier process', () => {
    const silent = (): Promise<never> => new Promise(() => {});
    const resume = (ms: number, timeoutEffect: 'deny' | 'allow' = 'deny') =>
      client()
        .approvals.resume({ id: 'a1', until: clock.now() + ms, timeoutEffect })
        .outcome();

    it('have their decision at once, also past the deadline', async () => {
      Object.assign(state, { status: 'approved', decided_by: 'ann' });
      expect(await resume(60_000)).toMatchObject({ status: 'approved', decidedBy: 'ann' });
      expect(await resume(-60_000)).toMatchObject({ status: 'approved', decidedBy: 'ann' });
    });

    it('end with the timeout effect by the deadline, though the hub is silent', async () => {
      hub.on('GET /approvals/a1', silent);
      const outcome = resume(3000, 'allow');
      await until(() => hub.seen('GET /approvals/a1').length === 1);
      clock.advance(3000);
      expect(await outcome).toMatchObject({ status: 'timeout', proceed: true });
    });

    it('end with the timeout effect soon when the deadline is over and the hub is silent or away', async () => {
      hub.on('GET /approvals/a1', silent);
      const unanswered = resume(-60_000);
      await until(() => hub.seen('GET /approvals/a1').length === 1);
      clock.advance(2000);
      expect(await unanswered).toMatchObject({ status: 'timeout', proceed: false });
      await hub.stop();
      const away = resume(-60_000);
      await clock.asked(500);
      clock.advance(2000);
      expect(await away).toMatchObject({ status: 'timeout', proceed: false });
    });

    it('fail when the hub does not know them', async () => {
      hub.on('GET /approvals/a1', { status: 404, body: {} });
      await expect(resume(60_000)).rejects.toMatchObject({ status: 404 });
      await expect(resume(-60_000)).rejects.toMatchObject({ status: 404 });
    });
  });

  it('raises when the hub refuses the question', async () => {
    const outcome = (await client().approvals.request(request()))
      .outcome()
      .catch((failure: unknown) => failure);
    hub.on('GET /approvals/a1', { status: 404, body: {} });
    await clock.asked(2000);
    clock.advance(2000);
    expect(await outcome).toMatchObject({ status: 404 });
  });

  it('ends when the caller gives up', async () => {
    const abort = new AbortController();
    const outcome = (await client().approvals.request(request())).outcome(abort.signal);
    abort.abort(new Error('enough'));
    await expect(outcome).rejects.toThrow('enough');
    expect(clock.pending).toBe(0);
  });
});

describe('a local approval', () => {
  it('takes the function’s answer', async () => {
    const yes = await localApproval(async () => true, clock).request(request());
    expect(await yes.outcome()).toMatchObject({ status: 'approved', proceed: true });
    const no = localApproval(async () => ({ approved: false, decidedBy: 'me', reason: 'no' }), clock);
    expect(await (await no.request(request())).outcome()).toEqual({
      status: 'denied',
      proceed: false,
      decidedBy: 'me',
      reason: 'no',
    });
    expect(clock.pending).toBe(0);
  });

  it('passes on the error of a function that throws at once, and leaves no timer behind', async () => {
    const rejections: unknown[] = [];
    const note = (failure: unknown): void => void rejections.push(failure);
    process.on('unhandledRejection', note);
    const broken = localApproval(() => {
      throw new Error('no terminal');
    }, clock);
    const abort = new AbortController();
    await expect((await broken.request(request())).outcome(abort.signal)).rejects.toThrow('no terminal');
    expect(clock.pending).toBe(0);
    abort.abort();
    await new Promise((done) => setImmediate(done));
    process.off('unhandledRejection', note);
    expect(rejections).toEqual([]);
  });

  it('times out by the deadline and tells the function', async () => {
    let told: AbortSignal | null = null;
    const backend = localApproval((_request, signal) => {
      told = signal;
      return new Promise(() => {});
    }, clock);
    const outcome = (await backend.request(request({ timeout: 5, timeoutEffect: 'allow' }))).outcome();
    clock.advance(5000);
    expect(await outcome).toMatchObject({ status: 'timeout', proceed: true });
    expect(told).toMatchObject({ aborted: true });
  });
});

/** A hub's session routes over a map, with the keys as they came in the path. */
function serveSessions(values: Map<string, string>): void {
  const keyOf = (path: string): string => decodeURIComponent(path.split('/')[2] ?? '');
  for (const key of ['s:1:attempts', 'a/b', 'missing']) {
    const path = `/sessions/${encodeURIComponent(key)}`;
    hub.on(`GET ${path}`, (r) => {
      const value = values.get(keyOf(r.path));
      return value === undefined ? { status: 404, body: {} } : { body: { value } };
    });
    hub.on(`PUT ${path}`, (r) => {
      values.set(keyOf(r.path), r.body.value);
      return { status: 204 };
    });
    hub.on(`DELETE ${path}`, (r) => ({ status: values.delete(keyOf(r.path)) ? 200 : 404, body: {} }));
    hub.on(`POST ${path}/increment`, (r) => {
      const value = Number(values.get(keyOf(r.path)) ?? 0) + r.body.amount;
      values.set(keyOf(r.path), String(value));
      return { body: { value } };
    });
  }
}

describe.each(['memory', 'hub', 'hub without batch'])('session values in %s', (kind) => {
  const store = (): SessionStore => {
    if (kind === 'memory') return new MemorySessionStore();
    const values = new Map<string, string>();
    serveSessions(values);
    if (kind === 'hub') {
      hub.on('POST /sessions/batch', (r) => ({
        body: {
          values: Object.fromEntries(r.body.keys.map((key: string) => [key, values.get(key) ?? null])),
        },
      }));
    }
    return client().sessions;
  };

  it('gets, sets, deletes, increments and reads several', async () => {
    const values = store();
    expect(await values.get('a/b')).toBeNull();
    await values.set('a/b', 'text');
    expect(await values.increment('s:1:attempts')).toBe(1);
    expect(await values.increment('s:1:attempts', 4)).toBe(5);
    expect(Object.fromEntries(await values.batch(['a/b', 's:1:attempts', 'missing']))).toEqual({
      'a/b': 'text',
      's:1:attempts': '5',
      missing: null,
    });
    await values.delete('a/b');
    await values.delete('a/b');
    expect(await values.get('a/b')).toBeNull();
  });
});

it('session values that do not fit one answer are read in several', async () => {
  const asked: number[] = [];
  hub.on('POST /sessions/batch', ({ body }) => {
    asked.push(body.keys.length);
    if (body.keys.length > 2)
      return { status: 413, body: { detail: 'too much', code: 'response_too_large' } };
    return { body: { values: Object.fromEntries(body.keys.map((key: string) => [key, `value of ${key}`])) } };
  });
  const found = await client().sessions.batch(['a', 'b', 'c', 'd', 'e']);
  expect([...found.keys()].sort()).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(found.get('e')).toBe('value of e');
  expect(asked).toEqual([5, 2, 3, 1, 2]);
  hub.on('POST /sessions/batch', () => ({ status: 413, body: { detail: 'too much' } }));
  await expect(client().sessions.batch(['a'])).rejects.toMatchObject({ status: 413 });
});
