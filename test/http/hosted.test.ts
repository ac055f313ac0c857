// The edge of the hosted API: problem documents on every path below /v1, keys and operator tokens, no cookies, no CSRF,
// counted guesses.
import { describe, expect, it } from 'vitest';
import { asKey, asUser, edge, raw } from './fixtures.ts';

const problem = async (response: {
  status: number;
  headers: readonly (readonly [string, string])[];
  body: unknown;
}) => ({
  status: response.status,
  type: response.headers.find(([name]) => name === 'Content-Type')?.[1],
  body: JSON.parse(String(response.body)),
  id: response.headers.find(([name]) => name === 'X-Request-Id')?.[1],
});
const asOperator = (role: string) => ({ authorization: `Bearer token-${role}` });
const body = '{"text":"hi"}';

describe('errors below /v1', () => {
  it('are problem documents, also where no route is', async () => {
    const { pipeline } = edge();
    for (const [method, path, status] of [
      ['GET', '/v1', 404],
      ['GET', '/v1/nothing/here', 404],
      ['GET', '/v1/echo', 405],
      ['POST', '/v1/echo', 401],
    ] as const) {
      const answer = await problem(await pipeline.handle(raw(method, path)));
      expect(answer).toMatchObject({ status, type: 'application/problem+json' });
      expect(answer.body).toMatchObject({ type: 'about:blank', status, request_id: answer.id });
      expect(typeof answer.body.detail).toBe('string');
    }
  });

  it('are not what other paths answer, also those that only begin alike', async () => {
    const { pipeline } = edge();
    for (const path of ['/v10', '/api/v1/nothing', '/nothing']) {
      const answer = await problem(await pipeline.handle(raw('GET', path)));
      expect(answer).toMatchObject({ status: 404, type: 'application/json' });
      expect(answer.body).toEqual({ detail: 'Not Found', code: 'not_found' });
    }
  });

  it('list what does not fit, beside a sentence', async () => {
    const { pipeline } = edge();
    const request = raw('POST', '/v1/echo', asKey, '{"text":"far too long"}');
    const answer = await problem(await pipeline.handle(request));
    expect(answer.body).toMatchObject({ code: 'validation_failed', title: 'Unprocessable Content' });
    expect(answer.body.errors).toEqual([{ loc: ['body', 'text'], msg: expect.any(String) }]);
    const broken = await problem(await pipeline.handle(raw('POST', '/v1/echo', asKey, '{')));
    expect(broken).toMatchObject({ status: 400, body: { code: 'invalid_json' } });
  });
});

describe('callers of the hosted API', () => {
  it('are keys and operators; no header proves that a page may call', async () => {
    const { pipeline } = edge();
    const call = async (headers: { [name: string]: string }) =>
      JSON.parse(String((await pipeline.handle(raw('POST', '/v1/echo', headers, body))).body));
    expect(await call(asKey)).toEqual({ kind: 'hostedKey' });
    expect(await call(asOperator('operator'))).toEqual({ kind: 'hostedOperator' });
    expect(await call(asOperator('admin'))).toEqual({ kind: 'hostedOperator' });
    // A bearer token decides, whatever cookie comes with it.
    expect(await call({ ...asKey, cookie: asUser.cookie })).toEqual({ kind: 'hostedKey' });
  });

  it.each([
    ['a role that is too weak', 'POST', asOperator('viewer'), 403, 'role_required'],
    ['a key where a person is needed', 'DELETE', asKey, 403, 'operator_required'],
    ['a person where an agent is needed', 'PUT', asOperator('admin'), 403, 'role_required'],
    ['a cookie alone', 'POST', asUser, 401, 'unauthenticated'],
    ['an unknown key', 'POST', { authorization: 'Bearer svk_nobody' }, 401, 'unauthenticated'],
    [
      'an unknown key where a person is needed',
      'DELETE',
      { authorization: 'Bearer svk_x' },
      401,
      'unauthenticated',
    ],
    ['a token that is none', 'DELETE', { authorization: 'Bearer nonsense' }, 401, 'unauthenticated'],
    ['another scheme', 'POST', { authorization: 'Basic YTpi' }, 401, 'unauthenticated'],
  ])('are refused with %s', async (_what, method, headers, status, code) => {
    const { pipeline } = edge();
    const response = await pipeline.handle(
      raw(method, '/v1/echo', headers as { [name: string]: string }, body),
    );
    expect(await problem(response)).toMatchObject({ status, body: { code } });
  });

  it('learn nothing from the answer to no key at all: it is that to an unknown one', async () => {
    const { pipeline } = edge();
    const detail = async (headers: { [name: string]: string }) =>
      (await problem(await pipeline.handle(raw('POST', '/v1/echo', headers, body)))).body.detail;
    expect(await detail({})).toBe(await detail({ authorization: 'Bearer svk_nobody' }));
  });

  it('with wrong credentials are counted by address; good ones are let through all the same', async () => {
    const { pipeline } = edge();
    const call = async (headers: { [name: string]: string }) =>
      (await pipeline.handle(raw('POST', '/v1/echo', headers, body))).status;
    // None at all is no guess.
    for (let i = 0; i < 30; i++) expect(await call({})).toBe(401);
    for (let i = 0; i < 20; i++) expect(await call({ authorization: `Bearer svk_${i}` })).toBe(401);
    expect(await call({ authorization: 'Bearer svk_one-more' })).toBe(429);
    expect(await call({ authorization: 'Bearer nonsense' })).toBe(429);
    expect(await call(asKey)).toBe(201);
    expect(await call(asOperator('admin'))).toBe(201);
  });

  it('with a key of no environment are let in here, and not by the console API', async () => {
    const { pipeline, keys, key } = edge();
    keys.set(key.hash, { ...key, env: null });
    expect((await pipeline.handle(raw('POST', '/v1/echo', asKey, body))).status).toBe(201);
    const refused = await pipeline.handle(raw('GET', '/api/v1/sessions/a', asKey));
    expect(refused.status).toBe(401);
    expect(String(refused.body)).toContain('no environment');
  });
});
