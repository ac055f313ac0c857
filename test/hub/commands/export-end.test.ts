// `reeve export-events` against answers that are empty before the end, as a reader of some environments gets them.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readLines } from '../../../src/hub/export-events/line-source.ts';

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const isEnd = searchParams.get('after') === 'b';
  response.setHeader('X-Next-Cursor', 'b');
  if (searchParams.get('format') !== 'cloudevents') response.setHeader('X-Search-Complete', String(isEnd));
  response.end();
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => server.close());

it('reads from the header whether the end was reached; a hub without it has reached it', async () => {
  const request = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: 't',
    kind: 'events',
    wait: 0,
  };
  const ask = (after: string | null, format: string) =>
    readLines({ ...request, format }, after, new AbortController().signal, vi.fn());
  expect(await ask('a', 'native')).toMatchObject({ text: '', next: 'b', isComplete: false });
  expect(await ask('b', 'native')).toMatchObject({ text: '', isComplete: true });
  expect(await ask('a', 'cloudevents')).toMatchObject({ isComplete: true });
});
