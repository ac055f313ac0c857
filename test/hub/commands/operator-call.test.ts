// Refusals that `reeve tenant` reads from a hub: each says what to do.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { operatorCall } from '../../../src/hub/tenant-file/operator-call.ts';
import { edge, raw } from '../../http/fixtures.ts';

let body: Uint8Array | string = '';
const server = createServer((_, response) => response.writeHead(404).end(body));
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => server.close());

const call = () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return operatorCall({ url, token: 't' }, { method: 'GET', path: '/api/v1/operator/act' });
};

it('names the setting that a hub without an operator needs', async () => {
  const { pipeline } = edge({ operatorToken: null });
  const answer = await pipeline.handle(raw('POST', '/api/v1/operator/act', { authorization: 'Bearer t' }));
  expect(answer.status).toBe(404);
  body = Buffer.from(answer.body as Uint8Array);
  await expect(call()).rejects.toMatchObject({
    code: 'not_found',
    message: 'The hub has no operator. Start it with OPERATOR_TOKEN.',
  });
});

it('passes on that a tenant is absent', async () => {
  body = JSON.stringify({ code: 'not_found', detail: 'Tenant not found.' });
  await expect(call()).rejects.toMatchObject({ code: 'not_found', message: 'Tenant not found.' });
});
