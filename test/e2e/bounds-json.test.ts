// Bad input as JSON, as MessagePack and in queries, against the real process: a clear 4xx, nothing stored, the process
// stays up. Tables, so that they can be read. Wrong types in every field of every route: matrix.test.ts.
import { encode } from '@msgpack/msgpack';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SharedHub } from './shared-hub.ts';
import { SocketClient } from './socket.ts';

const hub = new SharedHub();
let cookie = '';
let key = '';
beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
  await hub.call('PUT', '/api/v1/sessions/kept', { key, agent: 'a', body: { value: 'as it was' } });
});
afterEach(async () => {
  expect((await hub.call('GET', '/api/v1/health')).body).toMatchObject({ status: 'ok' });
  expect((await hub.call('GET', '/api/v1/sessions/kept', { key, agent: 'a' })).body).toEqual({
    value: 'as it was',
  });
  expect((await hub.call('GET', '/api/v1/events', { key, agent: 'a' })).body).toEqual([]);
  expect((await hub.call('GET', '/api/v1/approvals', { cookie })).body).toEqual([]);
  expect((await hub.call('GET', '/api/v1/bundles', { cookie })).body).toEqual([]);
});
afterAll(() => hub.remove());

const inApproval = (json: string) => `{"agent_id":"a","tool_name":"t","message":"m","tool_args":${json}}`;
const inValue = (json: string) => `{"value":${json}}`;
const nested = (n: number) => `${'{"a":'.repeat(n)}1${'}'.repeat(n)}`;

/** Where free JSON or text may stand. */
const places: { readonly [name: string]: [method: string, path: string, wrap: (json: string) => string] } = {
  'the arguments of an approval': ['POST', '/api/v1/approvals', inApproval],
  'a session value': ['PUT', '/api/v1/sessions/kept', inValue],
};

const values: { readonly [what: string]: string } = {
  'depth 10,000, arrays': `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
  'depth 10,000, objects': nested(10_000),
  'depth 65': nested(65),
  '1e400': '{"a":1e400}',
  '-1e400': '{"a":-1e400}',
  NaN: '{"a":NaN}',
  Infinity: '{"a":Infinity}',
  'a lone high surrogate': '{"a":"\\ud800"}',
  'a lone low surrogate in a key': '{"\\udc00":1}',
  'a surrogate pair the wrong way': '{"a":"\\udc00\\ud800"}',
  __proto__: '{"__proto__":{"polluted":true}}',
  '__proto__, escaped': '{"a":{"__pr\\u006fto__":{"polluted":true}}}',
  constructor: '{"constructor":{"prototype":{"polluted":true}}}',
  prototype: '{"a":[{"prototype":1}]}',
  'a raw NUL in a text': '{"a":"\u0000"}',
  'a raw line end in a text': '{"a":"\n"}',
  'a trailing comma': '{"a":1,}',
  'single quotes': "{'a':1}",
  'a comment': '{"a":1/**/}',
  'a text cut short': '{"a":"',
};

describe.each(Object.keys(places))('as %s', (place) => {
  it.each(Object.keys(values))('%s is refused', async (what) => {
    const [method, path, wrap] = places[place] ?? ['', '', String];
    const answer = await hub.call(method, path, { key, agent: 'a', body: wrap(values[what] ?? '') });
    expect(answer).toMatchObject({
      status: expect.toSatisfy((s: number) => s === 400 || s === 422),
      body: { detail: expect.anything(), code: expect.stringMatching(/^(invalid_json|validation_failed)$/) },
    });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('whole bodies', () => {
  const many = (n: number, item: string) => `[${Array(n).fill(item).join(',')}]`;
  const bodies: { readonly [what: string]: [path: string, body: string | Uint8Array, status: number[]] } = {
    'not JSON at all': ['/api/v1/events', 'hello', [400]],
    nothing: ['/api/v1/events', '', [400, 422]],
    'a bare null': ['/api/v1/events', 'null', [422]],
    'a bare list': ['/api/v1/approvals', '[]', [422]],
    'bytes that are no UTF-8': ['/api/v1/events', Buffer.from([0x7b, 0xff, 0x7d]), [400]],
    'UTF-16': ['/api/v1/approvals', Buffer.from('{"a":1}', 'utf16le'), [400]],
    'a byte order mark twice': ['/api/v1/approvals', '\ufeff\ufeff{}', [400]],
    '65,536 events': ['/api/v1/events', `{"events":${many(65_536, '{}')}}`, [422]],
    '65,536 keys to read': ['/api/v1/sessions/batch', `{"keys":${many(65_536, '"k"')}}`, [422]],
    '1 event too many': [
      '/api/v1/events',
      `{"events":${many(10_001, JSON.stringify({ call_id: 'x' }))}}`,
      [422],
    ],
    '500,000 values': ['/api/v1/approvals', `{"tool_args":{"a":${many(500_000, '0')}}}`, [400]],
    '1 MiB + 1 of an approval': [
      '/api/v1/approvals',
      inApproval(`{"a":"${'x'.repeat(1024 * 1024)}"}`),
      [413],
    ],
    'a list as arguments': ['/api/v1/approvals', inApproval('[1]'), [422]],
    'a timeout of 0': [
      '/api/v1/approvals',
      '{"agent_id":"a","tool_name":"t","message":"m","timeout":0}',
      [422],
    ],
    'a timeout of 86,401': [
      '/api/v1/approvals',
      '{"agent_id":"a","tool_name":"t","message":"m","timeout":86401}',
      [422],
    ],
    'a timeout of 1.5': [
      '/api/v1/approvals',
      '{"agent_id":"a","tool_name":"t","message":"m","timeout":1.5}',
      [422],
    ],
    'a message of 10,001 characters': [
      '/api/v1/approvals',
      `{"agent_id":"a","tool_name":"t","message":"${'x'.repeat(10_001)}"}`,
      [422],
    ],
    '101 keys': ['/api/v1/sessions/batch', `{"keys":${many(101, '"k"')}}`, [422]],
    'a key of 257 characters': ['/api/v1/sessions/batch', `{"keys":["${'k'.repeat(257)}"]}`, [422]],
    'an operator as a key': ['/api/v1/sessions/batch', '{"keys":[{"$gt":""}]}', [422]],
    'an operator as an agent': [
      '/api/v1/approvals',
      '{"agent_id":{"$ne":null},"tool_name":"t","message":"m"}',
      [422],
    ],
    'an increment of 1e400': ['/api/v1/sessions/kept/increment', '{"amount":1e400}', [400]],
    'an increment of a text': ['/api/v1/sessions/kept/increment', '{"amount":1}', [409]],
    'an increment by a text': ['/api/v1/sessions/n/increment', '{"amount":"1"}', [422]],
  };
  it.each(Object.keys(bodies))('%s is refused', async (what) => {
    const [path, body, statuses] = bodies[what] ?? ['', '', []];
    const response = await fetch(hub.url + path, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body,
    });
    expect({ statuses, status: response.status, in: statuses.includes(response.status) }).toMatchObject({
      in: true,
    });
    expect(await response.json()).toMatchObject({ detail: expect.anything(), code: expect.any(String) });
  });

  it('an increment never leaves what JSON cannot hold', async () => {
    const increment = (amount: number) =>
      hub.call('POST', '/api/v1/sessions/huge/increment', { key, body: { amount } });
    expect((await increment(1.7e308)).body).toEqual({ value: 1.7e308 });
    expect((await increment(1.7e308)).status).toBe(409);
    expect((await hub.call('GET', '/api/v1/sessions/huge', { key })).body).toEqual({ value: '1.7e+308' });
  });
});

describe('queries', () => {
  const operator = '%7B%22%24gt%22%3A%22%22%7D';
  const bad: { readonly [query: string]: number } = {
    'events?limit=0': 422,
    'events?limit=1001': 422,
    'events?limit=-1': 422,
    'events?limit=1.5': 422,
    'events?limit=NaN': 422,
    [`events?limit=${operator}`]: 422,
    'events?mode=both': 422,
    'events?env=moon': 422,
    'events?since=yesterday': 422,
    'events?until=2026-13-01': 422,
    [`events?since=${operator}`]: 422,
    [`events?agent_id=${'a'.repeat(256)}`]: 422,
    'events?agent_id=': 422,
    'events?agent_id=%00': 422,
    'events?search=%ED%A0%80': 400,
    'events?search=%': 400,
    'events?search=%ff': 400,
    'events?cursor=': 422,
    'events?cursor=x': 400,
    'events?cursor=AAAAAAAAAAAAAAAAAAAAAA%3D%3D': 400,
    'events?cursor=f_gAAAAAAAAAAAAAAAAAAA': 400,
    [`events?cursor=${operator}`]: 400,
    [`events?cursor=${'A'.repeat(1025)}`]: 422,
    'events/histogram': 422,
    'events/histogram?since=2026-01-01T00:00:00Z': 422,
    'events/histogram?since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z&bucket_seconds=59': 422,
    'events/histogram?since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z&bucket_seconds=86401': 422,
    'events/histogram?since=0001-01-01T00:00:00Z&until=9999-01-01T00:00:00Z&bucket_seconds=60': 422,
    'approvals?status=open': 422,
    [`approvals?status=${operator}`]: 422,
    'approvals?limit=1001': 422,
    'approvals?offset=-1': 422,
    'approvals?offset=1e300': 422,
    'approvals/not-a-uuid': 422,
    [`approvals/${operator}`]: 422,
    'approvals/00000000-0000-4000-8000-000000000000': 404,
    'deployments?limit=201': 422,
    [`assignment-rules/resolve/a?env=${'e'.repeat(65)}`]: 422,
    [`events?${'a=1&'.repeat(65)}`]: 400,
    'stats/overview?%': 400,
  };
  it.each(Object.entries(bad))('%s → %i', async (path, status) => {
    const answer = await hub.call('GET', `/api/v1/${path}`, { cookie });
    expect({ path, status: answer.status }).toEqual({ path, status });
  });

  it('operators in strings are texts like any other, and find nothing', async () => {
    for (const field of ['agent_id', 'tool_name', 'verdict', 'search'])
      expect((await hub.call('GET', `/api/v1/events?${field}=${operator}`, { cookie })).body).toEqual([]);
    for (const text of ['%25', '_', '*', "'%20OR%201=1--", '.*', '%5C', '%22'])
      expect((await hub.call('GET', `/api/v1/events?search=${text}`, { cookie })).body).toEqual([]);
    const login = (body: unknown) => hub.call('POST', '/api/v1/auth/login', { body });
    expect((await login({ email: '{"$gt":""}', password: '{"$gt":""}' })).status).toBe(401);
    expect((await login({ email: { $gt: '' }, password: { $gt: '' } })).status).toBe(422);
  });
});

describe('WebSocket messages', () => {
  const messages: { readonly [what: string]: [text: string, packed: Uint8Array] } = {
    'of no known form': ['hello', Uint8Array.of(0xc1)],
    'nested 10,000 deep': [`{"body":${nested(10_000)}}`, new Uint8Array(10_000).fill(0x91)],
    'that claim 4 GiB': [
      '{"type":"events","body":{"events":4294967295}}',
      Uint8Array.of(0xdd, 255, 255, 255, 255),
    ],
    'with __proto__': [
      '{"type":"report","body":{"__proto__":{"policy_version":"x"}}}',
      encode({ type: 'report', body: { constructor: { a: 1 } } }),
    ],
    'with numbers out of range': [
      '{"type":"report","body":{"policy_version":1e400}}',
      encode({ type: 'report', body: { a: Number.NaN } }),
    ],
    'with half a surrogate pair': [
      '{"type":"report","body":{"policy_version":"\\ud800"}}',
      encode({ type: 'report', body: { policy_version: '\ud800' } }),
    ],
    'without a type': ['{}', encode({})],
    'of an inherited type': ['{"type":"constructor","body":{}}', encode({ type: 'toString', body: {} })],
    'that are no object': ['[1]', encode([1])],
    'that are null': ['null', encode(null)],
    'that hold bytes': [
      '{"type":"report","body":"x"}',
      encode({ type: 'report', body: { policy_version: new Uint8Array(3) } }),
    ],
  };
  it.each(Object.keys(messages))('%s get an error, and the socket goes on', async (what) => {
    const [text, packed] = messages[what] ?? ['', new Uint8Array()];
    for (const [protocol, message] of [
      ['reeve.v1.json', text],
      ['reeve.v1.msgpack', packed],
    ] as const) {
      // An agent of its own: streams of one that loop are refused.
      const agent = what.replaceAll(/[^a-z]/g, '-').slice(0, 40);
      const headers = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': agent };
      const socket = await SocketClient.open(hub.port, '/api/v1/stream?env=production', headers, protocol);
      socket.raw(message);
      expect((await socket.next('result')).data).toMatchObject({
        ref: null,
        status: expect.toSatisfy((s: number) => s >= 400 && s < 500),
        code: expect.any(String),
      });
      const well = await socket.ask('report', 'after', { policy_version: 'v' });
      expect(well.status).toBe(200);
      socket.close();
    }
  });
});
