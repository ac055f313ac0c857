// The stream of decision events, against the real process: who may follow, what each is sent, byte for byte, and how it
// goes on after a break.
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
let cookie = '';
let key = '';
let keyId = '';
let token = '';

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  ({ key, id: keyId } = await hub.key(cookie));
  token = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie })).body.token;
});
afterAll(() => hub.remove());

const bearer = (value: string) => ({ Authorization: `Bearer ${value}` });

/** A connection whose answer is kept as it came. */
class RawStream {
  text = '';
  over = false;
  readonly #socket;
  readonly #woken = new Set<() => void>();

  constructor(query: string, headers: { readonly [name: string]: string }) {
    this.#socket = connect(hub.port, '127.0.0.1');
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#socket.write(
      `GET /v1/events/stream${query} HTTP/1.1\r\nHost: 127.0.0.1:${hub.port}\r\n${lines.join('')}\r\n`,
    );
    this.#socket.on('data', (chunk) => {
      this.text += chunk.toString('utf8');
      this.#wake();
    });
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.over = true;
      this.#wake();
    });
  }

  #wake(): void {
    for (const wake of [...this.#woken]) wake();
  }

  /** The received text, without the lengths of chunks. */
  get body(): string {
    return this.text.slice(this.text.indexOf('\r\n\r\n') + 4).replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, '');
  }

  get frames(): { readonly id: string; readonly data: { readonly [field: string]: unknown } }[] {
    const found = this.body.matchAll(/(?:^|\n\n|\r\n)id: (\d+)\ndata: (\{[^\n]*\})(?=\n\n)/g);
    return [...found].map(([, id = '', data = '']) => ({ id, data: JSON.parse(data) }));
  }

  get calls(): unknown[] {
    return this.frames.map(({ data }) => data.call_id);
  }

  async until(what: string, holds: () => boolean, ms = 10_000): Promise<void> {
    const end = AbortSignal.timeout(ms);
    while (!holds()) {
      if (end.aborted) throw new Error(`no ${what}; got ${this.text.slice(-2000)}`);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#woken.delete(wake);
          resolve();
        };
        this.#woken.add(wake);
        end.addEventListener('abort', wake, { once: true });
      });
    }
  }

  async opened(): Promise<this> {
    await this.until('start of the stream', () => this.text.includes(': connected'));
    return this;
  }

  close(): void {
    this.#socket.destroy();
  }
}

let opened = 0;
/** Each for an agent of its own: one that opens streams and loses them at once has to wait. */
const open = (query = '', headers: { readonly [name: string]: string } = bearer(key)) =>
  new RawStream(query, { 'X-Service-Agent-Id': `follower-${++opened}`, ...headers }).opened();

async function post(...events: { readonly [field: string]: unknown }[]): Promise<void> {
  const answer = await hub.call('POST', '/v1/events', {
    headers: bearer(key),
    body: { events: events.map((event) => ({ tool_name: 't', action: 'call_allowed', ...event })) },
  });
  expect(answer.body).toMatchObject({ accepted: events.length });
}

it('sends a key, an operator and a signed-in browser the same, which is what the list shows', async () => {
  const streams = [
    await open(),
    await open('', bearer(token)),
    await open('', { Cookie: cookie }),
    await open('', { Cookie: cookie, Origin: `http://127.0.0.1:${hub.port}` }),
  ];
  await post({ call_id: 'one', agent_id: 'a', tool_args: { path: 'line\nbreak\u2028' } });
  const listed = await hub.call('GET', '/v1/events?limit=1', { headers: bearer(token) });
  for (const stream of streams) {
    await stream.until('event', () => stream.frames.length === 1);
    expect(stream.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(stream.text.toLowerCase()).toContain('content-type: text/event-stream\r\n');
    expect(stream.frames).toEqual([{ id: String(listed.body.events[0].seq), data: listed.body.events[0] }]);
    // Nothing but comments, the time to wait, and frames without a name.
    expect(stream.body).not.toContain('event:');
    expect(stream.body).toContain(`\ndata: ${JSON.stringify(listed.body.events[0])}\n\n`);
    stream.close();
  }
});

it('sends what was posted to the console API, in the same words', async () => {
  const stream = await open();
  const answer = await hub.call('POST', '/api/v1/events', {
    headers: bearer(key),
    body: {
      events: [
        {
          call_id: 'console',
          agent_id: 'a',
          tool_name: 't',
          verdict: 'call_denied',
          mode: 'enforce',
          timestamp: '2026-01-01T00:00:00Z',
          payload: { decision_name: 'r' },
        },
      ],
    },
  });
  expect(answer.body).toMatchObject({ accepted: 1 });
  await stream.until('event', () => stream.frames.length === 1);
  expect(stream.frames[0]?.data).toMatchObject({
    action: 'call_blocked',
    decision: 'block',
    decision_name: 'r',
  });
  stream.close();
});

it('sends to each what it asked for', async () => {
  const asked = {
    '?agent_id=f1': ['f-a', 'f-b', 'f-last'],
    '?session_id=s': ['f-b', 'f-last'],
    '?decision=block&decision=call_failed': ['f-b', 'f-c', 'f-last'],
    '?tool_name=other': ['f-c', 'f-last'],
    '?environment=production&agent_id=f2': ['f-c'],
    '?environment=staging': [],
    '?environment=nowhere': [],
  };
  const everything = await open();
  const streams = await Promise.all(Object.keys(asked).map((query) => open(query)));
  await post(
    { call_id: 'f-a', agent_id: 'f1' },
    { call_id: 'f-b', agent_id: 'f1', session_id: 's', action: 'call_blocked' },
    { call_id: 'f-c', agent_id: 'f2', tool_name: 'other', action: 'call_failed' },
    { call_id: 'f-last', agent_id: 'f1', session_id: 's', tool_name: 'other', action: 'call_blocked' },
  );
  await everything.until('events', () => everything.frames.length === 4);
  for (const [i, [query, wanted]] of Object.entries(asked).entries()) {
    const stream = streams[i];
    await stream?.until(query, () => stream.frames.length === wanted.length);
    // The store orders a batch by agent.
    expect({ query, calls: stream?.calls.sort() }).toEqual({ query, calls: wanted });
    stream?.close();
  }
  everything.close();
});

it('goes on after a break without losing or repeating anything, also while events come', async () => {
  const first = await open('?agent_id=gone');
  await post({ call_id: 'r0', agent_id: 'gone' });
  await first.until('event', () => first.frames.length === 1);
  const [seen] = first.frames;
  first.close();
  const names = Array.from({ length: 450 }, (_, i) => `r${i + 1}`);
  await post(...names.slice(0, 400).map((call_id) => ({ call_id, agent_id: 'gone' })));
  const back = [
    await open('?agent_id=gone', { ...bearer(key), 'Last-Event-ID': seen?.id ?? '' }),
    await open(`?agent_id=gone&last_event_id=${seen?.id}`, { Cookie: cookie }),
  ];
  for (const call_id of names.slice(400)) await post({ call_id, agent_id: 'gone' });
  for (const stream of back) {
    await stream.until('all events', () => stream.frames.length >= names.length);
    expect(stream.calls).toEqual(names);
    expect(stream.body).not.toContain(':gap');
    stream.close();
  }
});

it.each(['nonsense', '9007199254740993', '9007199254740000', '1-1', '-1'])(
  'says that it knows no place %s, and goes on',
  async (id) => {
    const stream = await open('', { ...bearer(key), 'Last-Event-ID': id });
    await stream.until('gap', () => stream.body.includes('\n:gap\n\n'));
    const call_id = `after-${id}`;
    await post({ call_id });
    await stream.until('event', () => stream.calls.includes(call_id));
    expect(stream.body.split('\n:gap\n')).toHaveLength(2);
    stream.close();
  },
);

it('is kept by nobody on the way', async () => {
  const { headers } = await hub.call('HEAD', '/v1/events/stream', { headers: bearer(key) });
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-accel-buffering')).toBe('no');
});

it('refuses who may not, and what cannot be asked, as problem documents', async () => {
  const ask = (query: string, headers: { readonly [name: string]: string }) =>
    hub.call('GET', `/v1/events/stream${query}`, { headers });
  const origin = { Cookie: cookie, Origin: 'https://evil.example' };
  const answers = [
    [await ask('', {}), 401, 'unauthenticated'],
    [await ask('', { Cookie: 'service_session=wrong' }), 401, 'unauthenticated'],
    // A bearer decides, whatever cookie comes beside it.
    [await ask('', { Cookie: cookie, ...bearer('svk_wrong') }), 401, 'unauthenticated'],
    [await ask('', origin), 403, 'origin_refused'],
    [await ask('?decision=odd', bearer(key)), 422, 'validation_failed'],
    [await ask('?agent_id=', bearer(key)), 422, 'validation_failed'],
    [await ask(`?tool_name=${'x'.repeat(256)}`, bearer(key)), 422, 'validation_failed'],
    [await ask('?agent_id=%ff', bearer(key)), 400, 'bad_request'],
  ] as const;
  for (const [{ status, body, headers }, expected, code] of answers) {
    expect({ status, code: body.code }).toEqual({ status: expected, code });
    expect(headers.get('content-type')).toBe('application/problem+json');
  }
  // Everywhere else under /v1 the cookie says nothing.
  expect((await hub.call('GET', '/v1/events', { headers: { Cookie: cookie } })).status).toBe(401);
});

it("never sends another workspace's events, nor a key those of agents it is not bound to", async () => {
  const bound = await hub.call('POST', '/v1/keys', {
    headers: bearer(token),
    body: { name: 'bound', agent_pattern: 'mine' },
  });
  expect(bound.status).toBe(201);
  const mine = await open('', { ...bearer(bound.body.key), 'X-Service-Agent-Id': 'mine' });
  const everything = await open('', bearer(token));
  await post({ call_id: 'not-yours', agent_id: 'other' }, { call_id: 'yours', agent_id: 'mine' });
  await everything.until('both', () => everything.frames.length === 2);
  await mine.until('its own', () => mine.frames.length === 1);
  expect(mine.calls).toEqual(['yours']);
  mine.close();
  everything.close();
});

it('ends the streams of a login with it, those of its tokens too, and those of a key with the key', async () => {
  const login = await hub.login();
  const own = (await hub.call('POST', '/api/v1/auth/operator-token', { cookie: login })).body.token;
  const streams = [await open('', { Cookie: login }), await open('', bearer(own))];
  const stays = await open('', bearer(token));
  await hub.call('POST', '/api/v1/auth/logout', { cookie: login });
  for (const stream of streams)
    await stream.until('end', () => stream.over || stream.text.endsWith('0\r\n\r\n'));
  const byKey = await open();
  await hub.call('DELETE', `/api/v1/keys/${keyId}`, { cookie });
  await byKey.until('end', () => byKey.over || byKey.text.endsWith('0\r\n\r\n'));
  expect(stays.over).toBe(false);
  stays.close();
});
