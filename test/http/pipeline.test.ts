import { describe, expect, it } from 'vitest';
import { createLocalLimits } from '../../adapters/local/limits.ts';
import type { Limit } from '../../src/admission/limit.ts';
import { tooLarge } from '../../src/http/body.ts';
import { Reply, WrittenJson } from '../../src/http/contract/call.ts';
import { defaultBody, documentBody } from '../../src/http/contract/route.ts';
import { createCors } from '../../src/http/headers.ts';
import { TransportGone } from '../../src/http/raw.ts';
import { HubError } from '../../src/shared/error.ts';
import { ManualClock } from '../clock.ts';
import { asKey, asUser, edge, hashOf, headerOf, hostedTestLimits, jsonOf, keyText, raw } from './fixtures.ts';

const json = { 'content-type': 'application/json' };

describe('a request', () => {
  it('reaches its handler with validated parts, and is answered with the declared status', async () => {
    const { pipeline } = edge();
    const body = '{"text":"hi","unknown":1}';
    const response = await pipeline.handle(
      raw('POST', '/api/v1/echo/ann?n=1&n=2', { ...asKey, ...json }, body),
    );
    expect(response.status).toBe(201);
    expect(jsonOf(response)).toEqual({
      params: { name: 'ann' },
      query: { n: 2 },
      body: { text: 'hi' },
      caller: 'key',
      network: '127.0.0.1',
    });
    expect(headerOf(response, 'Cache-Control')).toBe('no-store');
    expect(headerOf(response, 'Content-Type')).toBe('application/json');
  });

  it('that does not fit is told every problem, with where it is', async () => {
    const { pipeline } = edge();
    const response = await pipeline.handle(
      raw('POST', '/api/v1/echo/much-too-long-a-name?n=99', asKey, '{"text":"123456"}'),
    );
    expect(response.status).toBe(422);
    const { detail, code } = jsonOf(response);
    expect(code).toBe('validation_failed');
    const list = detail as { loc: unknown; msg: string }[];
    expect(list.map(({ loc }) => loc)).toEqual([
      ['path', 'name'],
      ['query', 'n'],
      ['body', 'text'],
    ]);
    expect(Object.keys(list[0] ?? {})).toEqual(['loc', 'msg']);
  });

  it.each(['staging', 'qa', 'PRODUCTION', 'qa&n=x'])(
    'of a key for another environment, here %j, gets 403 before its other problems',
    async (env) => {
      const { pipeline } = edge();
      const response = await pipeline.handle(raw('GET', `/api/v1/environment?env=${env}`, asKey));
      expect([response.status, jsonOf(response)]).toMatchObject([
        403,
        {
          code: 'env_mismatch',
          detail: `API key is scoped to 'production', cannot access env '${env.replace('&n=x', '')}'.`,
        },
      ]);
    },
  );

  it("for the key's own environment, or from a person, keeps its validation", async () => {
    const { pipeline } = edge();
    const statusOf = async (query: string, headers: { [name: string]: string }) =>
      (await pipeline.handle(raw('GET', `/api/v1/environment?${query}`, headers))).status;
    expect(await statusOf('env=production', asKey)).toBe(200);
    expect(await statusOf('', asKey)).toBe(200);
    // An empty environment is an absent one in a key's query; people name one.
    expect(await statusOf('env=', asKey)).toBe(200);
    expect(await statusOf('env=', asUser)).toBe(422);
    expect(await statusOf('env=&n=x', asKey)).toBe(422);
    expect(await statusOf('env=production&n=x', asKey)).toBe(422);
    expect(await statusOf('env=staging', asUser)).toBe(200);
    expect(await statusOf('env=qa', asUser)).toBe(422);
  });

  it('lists at most 50 problems', async () => {
    const { pipeline } = edge();
    const keys = JSON.stringify({ keys: new Array(200).fill(1) });
    const { detail } = jsonOf(await pipeline.handle(raw('POST', '/api/v1/sessions/batch', asKey, keys)));
    expect(detail).toHaveLength(50);
  });

  it('without a body is refused, unless the body is optional', async () => {
    const { pipeline } = edge();
    const missing = await pipeline.handle(raw('POST', '/api/v1/echo/a', asKey));
    expect([missing.status, jsonOf(missing).detail]).toEqual([
      422,
      [{ loc: ['body'], msg: 'A JSON body is required' }],
    ]);
    const optional = await pipeline.handle(raw('POST', '/api/v1/sessions/batch', asKey));
    expect(jsonOf(optional).detail).toEqual([{ loc: ['body', 'keys'], msg: expect.any(String) }]);
  });

  it('with a body that is not JSON is refused: 400 by content, 415 by its type', async () => {
    const { pipeline } = edge();
    const bad = await pipeline.handle(raw('POST', '/api/v1/echo/a', asKey, '{"text":"\\ud800"}'));
    expect([bad.status, jsonOf(bad).code]).toEqual([400, 'invalid_json']);
    const form = await pipeline.handle(
      raw('POST', '/api/v1/echo/a', { ...asKey, 'content-type': 'application/x-www-form-urlencoded' }, 'a=b'),
    );
    expect(form.status).toBe(415);
    const utf8 = { ...asKey, 'content-type': 'application/json; charset=utf-8' };
    expect((await pipeline.handle(raw('POST', '/api/v1/echo/a', utf8, '{"text":""}'))).status).toBe(201);
  });

  it('over the body limit gets 413 in the words of the specification', async () => {
    const { pipeline } = edge();
    const limit = documentBody;
    expect(pipeline.bodyLimit('POST', '/api/v1/absent')).toBe(defaultBody);
    const response = await pipeline.handle(
      raw('POST', '/api/v1/echo/a', asKey, '', { body: () => Promise.reject(tooLarge(limit)) }),
    );
    expect(response.status).toBe(413);
    expect(jsonOf(response).detail).toBe('Request body too large. Maximum allowed: 5MB.');
  });

  it('of raw bytes is handed on unread', async () => {
    const { pipeline } = edge();
    const response = await pipeline.handle(raw('POST', '/api/v1/events', asKey, new Uint8Array([255, 0, 1])));
    expect(jsonOf(response)).toEqual({ bytes: 3 });
  });

  it('whose client left is answered by nobody', async () => {
    const { pipeline } = edge();
    const gone = raw('POST', '/api/v1/echo/a', asKey, '', {
      body: () => Promise.reject(new TransportGone()),
    });
    await expect(pipeline.handle(gone)).rejects.toBeInstanceOf(TransportGone);
  });
});

describe('a reply', () => {
  it('carries security headers and a request id of 12 hex characters', async () => {
    const { pipeline } = edge();
    const response = await pipeline.handle(raw('GET', '/api/v1/nothing'));
    expect(headerOf(response, 'X-Request-Id')).toMatch(/^[0-9a-f]{12}$/);
    expect(headerOf(response, 'Content-Security-Policy')).not.toContain('unsafe');
    for (const name of [
      'Strict-Transport-Security',
      'X-Frame-Options',
      'Referrer-Policy',
      'Permissions-Policy',
    ])
      expect(headerOf(response, name)).toBeDefined();
  });

  it("to a login says what the hub's clock says", async () => {
    const clock = new ManualClock();
    const { pipeline } = edge({ clock });
    const timeOf = async (headers: object) =>
      headerOf(await pipeline.handle(raw('GET', '/api/v1/keys', { ...headers })), 'X-Server-Time');
    expect(await timeOf(asUser)).toBe(new Date(clock.now()).toISOString());
    expect(await timeOf(asKey)).toBeUndefined();
    expect(await timeOf({})).toBeUndefined();
  });

  it('of an unknown failure says nothing of it, and logs it with the request id', async () => {
    const { pipeline, log } = edge();
    const response = await pipeline.handle(raw('GET', '/api/v1/broken'));
    expect([response.status, jsonOf(response)]).toEqual([
      500,
      { detail: 'Internal server error.', code: 'internal' },
    ]);
    expect(log.lines).toMatchObject([
      { level: 'error', fields: { request_id: headerOf(response, 'X-Request-Id') } },
    ]);
  });

  it('of an error has its status, Retry-After and Allow', async () => {
    const { pipeline } = edge({
      serve: {
        broken: async () => {
          throw new HubError('overloaded', 'Full.', { retryAfter: 2.2 });
        },
        setup: async () => {
          throw new HubError('too_busy', 'Busy.');
        },
      },
    });
    const full = await pipeline.handle(raw('GET', '/api/v1/broken'));
    expect([full.status, headerOf(full, 'Retry-After')]).toEqual([503, '3']);
    const busy = await pipeline.handle(raw('POST', '/api/v1/setup', asUser, '{"email":""}'));
    expect([busy.status, headerOf(busy, 'Retry-After')]).toEqual([429, undefined]);
    const method = await pipeline.handle(raw('PATCH', '/api/v1/setup', asUser));
    expect([method.status, headerOf(method, 'Allow')]).toEqual([405, 'POST, OPTIONS']);
  });

  it('may add headers, cookies and another status; a line end in one is an error, not a header', async () => {
    const replies = [
      new Reply(null, { status: 202, headers: { 'X-A': '1' }, cookies: ['a=1', 'b=2'] }),
      new Reply(null, { headers: { 'X-A': '1\r\nSet-Cookie: evil=1' } }),
    ];
    const { pipeline } = edge({ serve: { broken: async () => replies.shift() } });
    const first = await pipeline.handle(raw('GET', '/api/v1/broken'));
    expect([first.status, headerOf(first, 'X-A')]).toEqual([202, '1']);
    expect(first.headers.filter(([name]) => name === 'Set-Cookie')).toHaveLength(2);
    expect((await pipeline.handle(raw('GET', '/api/v1/broken'))).status).toBe(500);
  });

  it('that was written as JSON elsewhere is sent byte for byte, within the bound of all answers', async () => {
    const written = new TextEncoder().encode('{"b": 1,  "a":"é"}');
    const replies = [
      new WrittenJson(written),
      new WrittenJson(new TextEncoder().encode(`"${'x'.repeat(4 * 1024 * 1024)}"`)),
    ];
    const { pipeline } = edge({ serve: { broken: async () => replies.shift() } });
    const response = await pipeline.handle(raw('GET', '/api/v1/broken'));
    expect([response.status, response.body]).toEqual([200, written]);
    expect(headerOf(response, 'Content-Type')).toBe('application/json');
    expect(headerOf(response, 'Cache-Control')).toBe('no-store');
    const large = await pipeline.handle(raw('GET', '/api/v1/broken'));
    expect(jsonOf(large).code).toBe('response_too_large');
  });

  it('to HEAD is that of GET, and opens no stream', async () => {
    const { pipeline, live } = edge();
    const list = await pipeline.handle(raw('HEAD', '/api/v1/keys', asUser));
    expect([list.status, list.body]).toEqual([200, '[]']);
    const stream = await pipeline.handle(raw('HEAD', '/api/v1/stream/dashboard', asUser));
    expect([stream.status, stream.live, live.counts().audiences]).toEqual([200, null, 0]);
    expect((await pipeline.handle(raw('HEAD', '/api/v1/stream/dashboard'))).status).toBe(401);
  });

  it('to an unknown path is 404 in JSON', async () => {
    const { pipeline } = edge();
    const response = await pipeline.handle(raw('GET', '/api/nothing'));
    expect([response.status, jsonOf(response)]).toEqual([404, { detail: 'Not Found', code: 'not_found' }]);
  });

  it('counts in the metrics of its route, and is logged without its credentials', async () => {
    const lines: object[] = [];
    const { pipeline, metrics, log } = edge();
    log.info = (fields) => void lines.push(fields);
    await pipeline.handle(raw('GET', '/api/v1/sessions/secret-name', asKey));
    expect(metrics.snapshot()).toMatchObject([
      { route: 'GET /api/v1/sessions/{key+}', requests: 1, statuses: { 200: 1 } },
    ]);
    expect(lines).toMatchObject([{ status: 200, route: 'GET /api/v1/sessions/{key+}', client: 'key:key-1' }]);
    expect(JSON.stringify(lines)).not.toMatch(/secret-name|svk_/);
    expect(JSON.stringify(lines)).not.toContain(keyText);
  });
});

describe('cross-origin requests', () => {
  const preflight = (origin: string) =>
    raw('OPTIONS', '/api/v1/keys', { origin, 'access-control-request-method': 'POST' });

  it('are allowed for the named origins, with credentials', async () => {
    const { pipeline } = edge();
    const response = await pipeline.handle(preflight('http://localhost:3000'));
    expect([response.status, headerOf(response, 'Access-Control-Allow-Origin')]).toEqual([
      204,
      'http://localhost:3000',
    ]);
    expect(headerOf(response, 'Access-Control-Allow-Headers')).toContain('x-service-agent-id');
    const reply = await pipeline.handle(
      raw('GET', '/api/v1/keys', { ...asUser, origin: 'http://localhost:3000' }),
    );
    expect(headerOf(reply, 'Access-Control-Allow-Credentials')).toBe('true');
  });

  it('are refused for others', async () => {
    const { pipeline } = edge();
    const response = await pipeline.handle(preflight('http://evil.example'));
    expect([response.status, jsonOf(response).code]).toEqual([403, 'origin_refused']);
    const reply = await pipeline.handle(
      raw('GET', '/api/v1/keys', { ...asUser, origin: 'http://evil.example' }),
    );
    expect(headerOf(reply, 'Access-Control-Allow-Origin')).toBeUndefined();
  });

  it('by WebSocket with a cookie are refused for others, and allowed for our own page', async () => {
    const { pipeline } = edge();
    const from = (origin: string) =>
      raw('GET', '/api/v1/stream/dashboard', { ...asUser, origin }, '', { upgrade: true });
    expect(jsonOf(await pipeline.handle(from('http://evil.example'))).code).toBe('origin_refused');
    const ours = await pipeline.handle(from('http://localhost:8000'));
    expect(ours.live).not.toBeNull();
    ours.live?.gone();
  });

  it.each([
    ['http://127.0.0.1:8000', '127.0.0.1:8000', true],
    ['http://hub.lan', 'HUB.lan', true],
    ['https://hub.lan', 'hub.lan', true],
    ['http://127.0.0.1:9000', '127.0.0.1:8000', false],
    ['http://127.0.0.1:8000.evil.example', '127.0.0.1:8000', false],
    ['http://evil.example', 'hub.lan', false],
    ['ftp://hub.lan', 'hub.lan', false],
    ['null', 'null', false],
    ['', '', false],
  ])('by WebSocket with a cookie from a page of %s on the host %s: %s', async (origin, host, allowed) => {
    const { pipeline } = edge();
    const response = await pipeline.handle(
      raw('GET', '/api/v1/stream/dashboard', { ...asUser, origin, host }, '', { upgrade: true }),
    );
    expect(response.live !== null).toBe(allowed);
    if (!allowed) expect([response.status, jsonOf(response).code]).toEqual([403, 'origin_refused']);
    response.live?.gone();
  });

  it.each([
    [{}, false],
    [{ origin: 'http://evil.example' }, false],
    [{ 'sec-fetch-site': 'none' }, false],
    [{ 'sec-fetch-site': 'same-origin', origin: 'http://hub.lan' }, false],
    [{ 'sec-fetch-site': 'same-site', origin: 'http://localhost:3000' }, false],
    [{ 'sec-fetch-site': 'same-site', origin: 'http://localhost:4000' }, true],
    [{ 'sec-fetch-site': 'cross-site', origin: 'http://evil.example' }, true],
    [{ 'sec-fetch-site': 'cross-site', origin: 'null' }, true],
    [{ 'sec-fetch-site': 'cross-site' }, true],
  ])('with %o come from a foreign page: %s', async (headers: { [name: string]: string }, isForeign) => {
    const { pipeline } = edge({
      serve: { getValue: async (_input, _caller, { isFromForeignPage }) => ({ isFromForeignPage }) },
    });
    const response = await pipeline.handle(raw('GET', '/api/v1/sessions/a', { ...asKey, ...headers }));
    expect(jsonOf(response)).toEqual({ isFromForeignPage: isForeign });
  });

  it('from a plain page of the same host are not its own where the hub is on https', () => {
    const cors = createCors('https://hub.example', [], []);
    expect(cors.isOwn('http://hub.example', 'hub.example')).toBe(false);
    expect(cors.isOwn('https://other.example', 'other.example')).toBe(true);
  });
});

describe('limits', () => {
  it('hold per key, and say when to try again', async () => {
    const { pipeline, clock } = edge({ requestsPerMinute: 2 });
    const get = () => pipeline.handle(raw('GET', '/api/v1/sessions/a', asKey));
    expect([(await get()).status, (await get()).status]).toEqual([200, 200]);
    const third = await get();
    expect([third.status, headerOf(third, 'Retry-After')]).toEqual([429, '60']);
    expect((await pipeline.handle(raw('GET', '/api/v1/keys', asUser))).status).toBe(200);
    (clock as unknown as { advance(ms: number): void }).advance(60_001);
    expect((await get()).status).toBe(200);
  });
});

describe('limits that a route declares', () => {
  const echo = (text: string, agent_id?: string) =>
    raw(
      'POST',
      '/v1/limited',
      { authorization: `Bearer ${keyText}`, 'x-service-agent-id': 'header' },
      JSON.stringify({ text, agent_id }),
    );
  const leftOf = async (pipeline: ReturnType<typeof edge>['pipeline'], request: ReturnType<typeof raw>) => {
    const response = await pipeline.handle(request);
    return [
      response.status,
      headerOf(response, 'RateLimit-Limit'),
      headerOf(response, 'RateLimit-Remaining'),
    ];
  };

  it('are counted for the agent that the body names, once a request is valid', async () => {
    const { pipeline } = edge();
    expect(await leftOf(pipeline, echo('a'))).toEqual([200, '2', '1']);
    expect(await leftOf(pipeline, echo('too long'))).toEqual([422, '2', '1']);
    expect(await leftOf(pipeline, echo('b', 'other'))).toEqual([200, '2', '1']);
    expect(await leftOf(pipeline, echo('c'))).toEqual([200, '2', '0']);
    expect(await leftOf(pipeline, echo('d'))).toEqual([429, '2', '0']);
    expect(await leftOf(pipeline, echo('e', 'other'))).toEqual([200, '2', '0']);
  });

  it('of other agents than its own are not used up by a key', async () => {
    const { pipeline, keys } = edge();
    const stored = keys.get(hashOf(keyText));
    if (!stored) throw new Error('no key');
    keys.set(stored.hash, { ...stored, agentPattern: 'header' });
    for (let i = 0; i < 3; i++) {
      expect(await leftOf(pipeline, echo('a', 'other'))).toEqual([403, '2', '2']);
    }
    expect(await leftOf(pipeline, echo('a', 'header'))).toEqual([200, '2', '1']);
  });

  it('that nobody can count now refuse the request in words, and leave its answer whole', async () => {
    const away = async (): Promise<never> => {
      throw new HubError('unavailable', 'The limits do not answer.', { retryAfter: 1 });
    };
    let isAway = true;
    const local = createLocalLimits({ clock: new ManualClock() });
    const limits: typeof local = {
      ...local,
      // Requests themselves are counted in this process.
      hit: (name, ...hit) => (isAway && name.startsWith('test-') ? away() : local.hit(name, ...hit)),
    };
    const { pipeline } = edge({ limits });
    const refused = await pipeline.handle(echo('a'));
    expect([refused.status, headerOf(refused, 'Retry-After')]).toEqual([503, '1']);
    expect(jsonOf(refused)).toMatchObject({ status: 503, code: 'unavailable' });
    // Its body is not valid, so nothing was counted before.
    const wrong = await pipeline.handle(echo('too long'));
    expect([wrong.status, headerOf(wrong, 'RateLimit-Limit')]).toEqual([422, '6000']);
    isAway = false;
    expect(await leftOf(pipeline, echo('a'))).toEqual([200, '2', '1']);
  });

  it('are told by the handler where only it knows the cost, and only those that are declared', async () => {
    let told: Limit = hostedTestLimits.told;
    const { pipeline } = edge({
      serve: {
        hostedLimited: async (_input, _caller, { limits }) => {
          await limits.count(told, { cost: 5 });
          return {};
        },
      },
    });
    expect(await leftOf(pipeline, echo('a'))).toEqual([200, '2', '1']);
    expect(await leftOf(pipeline, echo('b', 'other'))).toEqual([200, '7', '0']);
    expect(await leftOf(pipeline, echo('b', 'next'))).toEqual([429, '7', '0']);
    told = { name: 'else', per: 'tenant', max: 1 };
    expect((await pipeline.handle(echo('c', 'third'))).status).toBe(500);
  });
});

describe('operator routes', () => {
  const act = (token: string, remote = '192.0.2.1') =>
    raw('POST', '/api/v1/operator/act', { authorization: `Bearer ${token}` }, '', { remote });

  it('are not there when no operator token is configured', async () => {
    const { pipeline } = edge({ operatorToken: null });
    for (const token of ['operate-me', 'null']) {
      const response = await pipeline.handle(act(token));
      expect([response.status, jsonOf(response)]).toEqual([404, { detail: 'Not Found', code: 'not_found' }]);
    }
  });

  it('are limited like logins: by address, right tokens too, before a token is compared', async () => {
    const { pipeline, clock } = edge();
    const statuses = [];
    for (const token of ['guess', 'operate-me', 'guess']) {
      statuses.push((await pipeline.handle(act(token))).status);
    }
    expect(statuses).toEqual([401, 204, 401]);
    const fourth = await pipeline.handle(act('operate-me'));
    expect([fourth.status, headerOf(fourth, 'Retry-After')]).toEqual([429, '300']);
    expect((await pipeline.handle(act('operate-me', '192.0.2.2'))).status).toBe(204);
    (clock as unknown as { advance(ms: number): void }).advance(301_000);
    expect((await pipeline.handle(act('operate-me'))).status).toBe(204);
  });
});

describe('operator routes without a token', () => {
  it('use up no tries of the network, because any page can make a browser call them', async () => {
    const { pipeline } = edge();
    const bare = raw('POST', '/api/v1/operator/act', { 'x-requested-with': 'x' }, '', {
      remote: '192.0.2.1',
    });
    for (let n = 0; n < 5; n++) expect((await pipeline.handle(bare)).status).toBe(401);
    const right = { authorization: 'Bearer operate-me' };
    const act = raw('POST', '/api/v1/operator/act', right, '', { remote: '192.0.2.1' });
    expect((await pipeline.handle(act)).status).toBe(204);
  });
});

describe('the OpenAPI document', () => {
  it('is served', async () => {
    const { pipeline } = edge();
    const response = await pipeline.handle(raw('GET', '/api/openapi.json'));
    expect(jsonOf(response)).toEqual({ openapi: '3.1.0' });
  });

  it('is served to people and keys alone when it is not public', async () => {
    const { pipeline } = edge({ openApiPublic: false });
    const ask = async (headers: { [name: string]: string }) =>
      (await pipeline.handle(raw('GET', '/api/openapi.json', headers))).status;
    expect([await ask({}), await ask(asKey), await ask(asUser)]).toEqual([401, 200, 200]);
  });
});
