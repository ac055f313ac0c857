// Events with hostile content, against the real process: each is stored, beside good ones of the same batch, over HTTP
// and over WebSocket.
import { encode } from '@msgpack/msgpack';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SharedHub } from './shared-hub.ts';
import { SocketClient } from './socket.ts';

const hub = new SharedHub();
let cookie = '';
let key = '';
beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
});
afterAll(() => hub.remove());

const event = (callId: string, more: string) =>
  `{"call_id":${JSON.stringify(callId)},"agent_id":"a","tool_name":"t","verdict":"v","mode":"enforce","timestamp":"2026-01-01T00:00:00Z",${more}}`;
const good = (callId: string) => event(callId, '"payload":{"good":true}');

const contents: { readonly [what: string]: string } = {
  'half of a surrogate pair': '"payload":{"a":"\\ud800","\\udc00":1}',
  __proto__: '"payload":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  'numbers that JSON has not': '"payload":{"a":NaN,"b":-Infinity,"c":1e400}',
  'a text of 1 MB': `"payload":{"a":"${'x'.repeat(1_000_000)}"}`,
  'a list as a payload': '"payload":[1]',
  'an odd tool name': '"tool_name":"../../etc\\u0000\\n\\u202e"',
  'a long tool name': `"tool_name":"${'x'.repeat(100_000)}"`,
  'an agent id that would forge a frame': '"agent_id":"a\\nevent: forged"',
  'wrong types': '"tool_name":{"$gt":""},"verdict":7,"mode":[],"timestamp":false',
  'a day that is none': '"timestamp":"2026-02-30T00:00:00Z"',
  'an unknown mode': '"mode":"shadow"',
};

const read = async (callIds: readonly string[]): Promise<string[]> => {
  const answer = await hub.call('GET', '/api/v1/events?limit=1000', { key, agent: 'a' });
  const found = (answer.body as { call_id: string | null }[]).map(({ call_id: id }) => id ?? '');
  return callIds.filter((id) => found.includes(id));
};

describe('a batch over HTTP', () => {
  it.each(Object.keys(contents))('keeps an event with %s', async (what) => {
    const ids = [`${what} before`, what, `${what} after`];
    const [before = '', odd = '', after = ''] = ids;
    const body = `{"events":[${good(before)},${event(odd, contents[what] ?? '')},${good(after)}]}`;
    expect(await hub.call('POST', '/api/v1/events', { key, agent: 'a', body })).toMatchObject({
      status: 200,
      body: { accepted: 3, duplicates: 0 },
    });
    expect(await read(ids)).toEqual(ids);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('names what it cannot keep, and keeps the rest', async () => {
    const deep = `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`;
    const body = `{"events":[${good('kept 1')},7,${event('deep', `"payload":${deep}`)},${good('kept 2')}]}`;
    const answer = await hub.call('POST', '/api/v1/events', { key, agent: 'a', body });
    expect(answer.body).toMatchObject({
      accepted: 2,
      rejected: [
        { index: 1, code: 'not_an_object' },
        { index: 2, code: 'too_deep' },
      ],
    });
    expect(await read(['kept 1', 'kept 2'])).toHaveLength(2);
  });

  it.each([
    ['/api/v1/events', 'long', 'x'.repeat(256)],
    ['/api/v1/events', 'broken', 'x\ty'],
    ['/v1/events', 'long', 'y'.repeat(256)],
    ['/v1/events', 'broken', 'y\tx'],
  ])('to %s is stored and registers nobody under a %s agent-id header', async (path, _, agent) => {
    const body = `{"events":[${good(`${path} ${agent}`)},{"tool_name":"t"}]}`;
    const answer = await hub.call('POST', path, { key, agent, body });
    expect(answer).toMatchObject({ status: 200, body: { accepted: 2 } });
    const agentId = agent.length > 255 ? agent.slice(0, 200) : agent;
    const isOdd = ({ agent_id: id }: { agent_id: string }) => id.startsWith(agentId);
    const events = await hub.call('GET', '/api/v1/events?limit=1000', { key, agent: 'a' });
    const agentIds = events.body.filter(isOdd).map(({ agent_id: id }: { agent_id: string }) => id);
    expect(agentIds).toEqual([
      expect.stringMatching(agent.length > 255 ? /^.{200}~[0-9a-f]{16}$/ : /^.\t.$/),
    ]);
    const agents = await hub.call('GET', '/api/v1/agents', { cookie });
    expect(agents.body.map(({ agent_id: id }: { agent_id: string }) => id)).toEqual(['a']);
    expect((await hub.call('GET', '/api/v1/stream?env=production', { key, agent })).status).toBe(400);
  });

  it('may hold 10,000 events in 16 MiB, and others are served meanwhile', async () => {
    const payload = `"payload":{"text":"${'y'.repeat(1_300)}"}`;
    const events = Array.from({ length: 10_000 }, (_, i) => event(`large ${i}`, payload));
    const posted = hub.call('POST', '/api/v1/events', {
      key,
      agent: 'a',
      body: `{"events":[${events.join(',')}]}`,
    });
    let served = 0;
    let done = false;
    void posted.then(() => {
      done = true;
    });
    while (!done) {
      expect((await hub.call('GET', '/api/v1/health/live')).status).toBe(200);
      served++;
    }
    expect((await posted).body).toMatchObject({ accepted: 10_000, duplicates: 0 });
    expect(served).toBeGreaterThan(3);
  });
});

describe('a batch over WebSocket', () => {
  it.each(['reeve.v1.json', 'reeve.v1.msgpack'] as const)(
    'keeps good events beside bad ones (%s)',
    async (protocol) => {
      const headers = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'a' };
      const socket = await SocketClient.open(hub.port, '/api/v1/stream?env=production', headers, protocol);
      const id = `over ${protocol}`;
      const message = {
        type: 'events',
        ref: 1,
        body: { events: [JSON.parse(good(id)), 7, { tool_name: `odd \u0000 ${id}` }] },
      };
      socket.raw(protocol === 'reeve.v1.json' ? JSON.stringify(message) : encode(message));
      expect((await socket.next('result')).data).toMatchObject({
        status: 200,
        body: { accepted: 2, rejected: [{ index: 1, code: 'not_an_object' }] },
      });
      expect(await read([id])).toEqual([id]);
      socket.close();
    },
  );

  it.each(['reeve.v1.json', 'reeve.v1.msgpack'] as const)(
    'keeps the digits of large whole numbers, and marks them, as over HTTP (%s)',
    async (protocol) => {
      const digits =
        '"payload":{"tool_args":{"big":12345678901234567891,"low":-9223372036854775807,"even":9007199254740994}}';
      const sent = (callId: string) => `{"events":[${event(callId, digits)},${good(`${callId} plain`)}]}`;
      await hub.call('POST', '/api/v1/events', { key, agent: 'a', body: sent(`http ${protocol}`) });
      const headers = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'a' };
      const socket = await SocketClient.open(hub.port, '/api/v1/stream?env=production', headers, protocol);
      const text = `{"type":"events","ref":1,"body":${sent(protocol)}}`;
      const large = { big: 12345678901234567891n, low: -9223372036854775807n, even: 9007199254740994n };
      const packed = JSON.parse(text);
      packed.body.events[0].payload.tool_args = large;
      socket.raw(protocol === 'reeve.v1.json' ? text : encode(packed, { useBigInt64: true }));
      expect((await socket.next('result')).data).toMatchObject({ status: 200, body: { accepted: 2 } });
      const { body } = await hub.call('GET', '/api/v1/events?limit=1000', { key, agent: 'a' });
      const found = (callId: string) => body.find((one: { call_id: string }) => one.call_id === callId);
      const [over, http] = [found(protocol), found(`http ${protocol}`)];
      expect(over).toMatchObject({
        payload: {
          tool_args: { big: '12345678901234567891', low: '-9223372036854775807', even: 9007199254740994 },
        },
        truncated: ['payload.tool_args'],
      });
      expect([over.payload, over.truncated]).toEqual([http.payload, http.truncated]);
      expect(found(`${protocol} plain`).truncated).toBeUndefined();
      socket.close();
    },
  );
});
