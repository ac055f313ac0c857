import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../adapters/node/clock.ts';
import { asKey, keyText } from '../../http/fixtures.ts';
import { eventually, onNode, serve, start } from './fixtures.ts';

const auth = `Authorization: Bearer ${keyText}\r\n`;
const statuses = (text: string): string[] => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((m) => m[1] ?? '');

describe('the server', () => {
  it('answers over HTTP, the same as the pipeline', async () => {
    await using hub = await serve();
    const url = `http://127.0.0.1:${hub.server.port}/api/v1/echo/ann?n=3`;
    const response = await fetch(url, { method: 'POST', headers: asKey, body: '{"text":"é"}' });
    expect(response.status).toBe(415);
    const headers = { ...asKey, 'content-type': 'application/json' };
    const json = await fetch(url, { method: 'POST', headers, body: '{"text":"é"}' });
    expect(await json.json()).toMatchObject({ body: { text: 'é' }, network: '127.0.0.1' });
    expect(json.headers.get('x-request-id')).toMatch(/^[0-9a-f]{12}$/);
    const head = await fetch(`http://127.0.0.1:${hub.server.port}/api/v1/sessions/a`, {
      method: 'HEAD',
      headers,
    });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const empty = await fetch(`http://127.0.0.1:${hub.server.port}/api/v1/operator/act`, {
      method: 'POST',
      headers: { authorization: 'Bearer operate-me' },
    });
    expect([empty.status, await empty.text()]).toEqual([204, '']);
  });

  it('writes the headers that all answers share one by one, as the client reads them', async () => {
    await using hub = await serve();
    const url = `http://127.0.0.1:${hub.server.port}/api/v1`;
    const leaving = new AbortController();
    const stream = await fetch(`${url}/stream?env=production`, { headers: asKey, signal: leaving.signal });
    const answers = [
      stream,
      await fetch(`${url}/sessions/a`, { headers: asKey }),
      await fetch(`${url}/none`),
    ];
    for (const { headers } of answers) {
      expect([headers.get('x-frame-options'), headers.get('referrer-policy')]).toEqual([
        'DENY',
        'strict-origin-when-cross-origin',
      ]);
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'self'; .* frame-ancestors 'none'$/,
      );
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{12}$/);
    }
    expect([stream.headers.get('content-type'), stream.headers.get('cache-control')]).toEqual([
      'text/event-stream',
      'no-cache',
    ]);
    leaving.abort();
  });

  it('says that the port is taken', async () => {
    await using hub = await serve();
    const { pipeline, log, server } = hub;
    const again = start({ host: '127.0.0.1', port: server.port, pipeline, clock: systemClock, log });
    await expect(again).rejects.toThrow(`127.0.0.1 port ${server.port}: the port is in use`);
  });

  it('listens on IPv6, and counts clients by their network', async () => {
    await using hub = await serve();
    const { pipeline, log } = hub;
    const six = await start({ host: '::1', port: 0, pipeline, clock: systemClock, log });
    const response = await fetch(`http://[::1]:${six.port}/api/v1/echo/a`, {
      method: 'POST',
      // ::1 is a trusted proxy of these tests.
      headers: { ...asKey, 'content-type': 'application/json', 'x-forwarded-for': '2001:0DB8::0009' },
      body: '{"text":""}',
    });
    expect(await response.json()).toMatchObject({ network: '2001:db8:0:0::/64' });
    six.close();
  });

  it('keeps a connection for many requests, and answers in order those that it can answer at once', async () => {
    await using hub = await serve();
    const socket = await hub.connect();
    const get = (key: string) => `GET /api/v1/sessions/${key} HTTP/1.1\r\nHost: a\r\n${auth}\r\n`;
    const post = `POST /api/v1/events HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: 3\r\n\r\nabc`;
    socket.send(`${get('k1')}${post}${get('k2')}`);
    const text = await socket.until((t) => t.includes('"k2"'));
    expect(statuses(text)).toEqual(['200', '200', '200']);
    expect(text.indexOf('"k1"')).toBeLessThan(text.indexOf('{"bytes":3}'));
    expect(text.indexOf('{"bytes":3}')).toBeLessThan(text.indexOf('"k2"'));
    socket.send(get('k3'));
    expect(await socket.until((t) => t.includes('"k3"'))).toContain('"k3"');
  });

  // Node's server answers both, in order.
  it.skipIf(onNode)(
    'drops a connection that sends a request while its last one is still unanswered',
    async () => {
      await using hub = await serve({
        serve: { getValue: () => new Promise((resolve) => setImmediate(() => resolve({ key: 'slow' }))) },
      });
      const get = `GET /api/v1/sessions/a HTTP/1.1\r\nHost: a\r\n${auth}\r\n`;
      expect(await hub.once(get + get)).toBe('');
      const one = await hub.connect();
      one.send(get);
      expect(await one.until((t) => t.includes('slow'))).toContain('{"key":"slow"}');
    },
  );

  it.runIf(onNode)('answers requests that come while the last one is unanswered in order', async () => {
    let n = 0;
    await using hub = await serve({
      serve: {
        getValue: () => {
          const key = `slow-${++n}`;
          return new Promise((resolve) => setImmediate(() => resolve({ key })));
        },
      },
    });
    const socket = await hub.connect();
    const get = `GET /api/v1/sessions/a HTTP/1.1\r\nHost: a\r\n${auth}\r\n`;
    socket.send(get + get);
    const text = await socket.until((t) => t.includes('slow-2'));
    expect(text.indexOf('slow-1')).toBeLessThan(text.indexOf('slow-2'));
  });

  it('lets a request in flight finish when it stops listening, and then ends its connection', async () => {
    let answer = (): void => undefined;
    let started = false;
    await using hub = await serve({
      serve: {
        getValue: () =>
          new Promise((resolve) => {
            started = true;
            answer = () => resolve({ key: 'late' });
          }),
      },
    });
    const socket = await hub.connect();
    socket.send(`GET /api/v1/sessions/a HTTP/1.1\r\nHost: a\r\n${auth}\r\n`);
    await eventually(() => started);
    hub.server.stopListening();
    answer();
    expect(await socket.untilClosed()).toContain('{"key":"late"}');
    await eventually(() => hub.server.connections() === 0);
  });

  it('takes new connections while it drains, ends each with its answer, and settles once all are answered', async () => {
    let answer = (): void => undefined;
    let started = false;
    await using hub = await serve({
      serve: {
        getValue: () =>
          new Promise((resolve) => {
            started = true;
            answer = () => resolve({ key: 'late' });
          }),
      },
    });
    hub.server.drain();
    const socket = await hub.connect();
    socket.send(`GET /api/v1/sessions/a HTTP/1.1\r\nHost: a\r\n${auth}\r\n`);
    await eventually(() => started);
    let settled = false;
    const settling = hub.server.settle(60_000).then(() => {
      settled = true;
    });
    await eventually(() => hub.server.connections() === 1);
    expect(settled).toBe(false);
    answer();
    expect(await socket.untilClosed()).toContain('{"key":"late"}');
    await settling;
  });
});

describe('bodies', () => {
  it('come whole, however they are cut', async () => {
    await using hub = await serve();
    const socket = await hub.connect();
    socket.send(
      `POST /api/v1/events HTTP/1.1\r\nHost: a\r\n${auth}Transfer-Encoding: chunked\r\n\r\n5\r\nab`,
    );
    await eventually(() => hub.server.connections() === 1);
    socket.send('cde\r\n3\r\nfgh\r\n0\r\n\r\n');
    expect(await socket.until((t) => t.includes('bytes'))).toContain('{"bytes":8}');
  });

  it('of no bytes are whole, also when the headers come in two pieces', async () => {
    await using hub = await serve();
    const socket = await hub.connect();
    socket.send(`GET /api/v1/sessions/empty HTTP/1.1\r\nHost: a\r\n${auth}Content-Le`);
    // Another's answer: by then the first piece was read.
    await hub.once(`GET /api/v1/sessions/a HTTP/1.1\r\nHost: a\r\n${auth}Connection: close\r\n\r\n`);
    socket.send('ngth: 0\r\n\r\n');
    expect(await socket.until((t) => t.includes('}'))).toContain('{"key":"empty"}');
  });

  it('over the limit are refused by their declared length, before they are sent', async () => {
    await using hub = await serve();
    const socket = await hub.connect();
    socket.send(
      `POST /api/v1/setup HTTP/1.1\r\nHost: a\r\nX-Requested-With: a\r\nContent-Length: 4097\r\n\r\n`,
    );
    const text = await socket.until((t) => t.includes('}'));
    expect(statuses(text)).toEqual(['413']);
    expect(text).toContain('Request body too large. Maximum allowed: 4KB.');
  });

  it('over the limit are read to their end and forgotten, so that the answer arrives and the connection lives on', async () => {
    await using hub = await serve();
    const big = 'x'.repeat(3 * 1024 * 1024);
    for (let i = 0; i < 5; i++) {
      const response = await fetch(`http://127.0.0.1:${hub.server.port}/api/v1/events`, {
        method: 'POST',
        headers: asKey,
        body: big,
      });
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({ code: 'payload_too_large' });
    }
    const socket = await hub.connect();
    socket.send(
      `POST /api/v1/events HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: ${big.length}\r\n\r\n${big}`,
    );
    await socket.until((t) => t.includes('413'));
    socket.send(`GET /api/v1/sessions/after HTTP/1.1\r\nHost: a\r\n${auth}\r\n`);
    expect(await socket.until((t) => t.includes('after'))).toContain('{"key":"after"}');
  });

  it('that nobody reads leave a connection that ends when it is idle', async () => {
    await using hub = await serve();
    const post = (more: string) => `POST /api/v1/events HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
    const refused = [
      `${post('X-Requested-With: a\r\nContent-Length: 3')}\r\nabc`,
      `${post('X-Requested-With: a\r\nTransfer-Encoding: chunked')}\r\n3\r\nabc\r\n0\r\n\r\n`,
    ];
    for (const text of await Promise.all(refused.map((request) => hub.once(request)))) {
      expect(statuses(text)).toEqual(['401']);
      // Not told to close: it may be used again until then.
      expect(text).not.toMatch(/connection: close/i);
    }
  });

  it('of which nothing more comes end the connection with the answer', async () => {
    await using hub = await serve();
    for (const length of ['Content-Length: 5', 'Transfer-Encoding: chunked']) {
      const text = await hub.once(
        `POST /api/v1/events HTTP/1.1\r\nHost: a\r\nX-Requested-With: a\r\n${length}\r\n\r\n`,
      );
      expect(statuses(text)).toEqual(['401']);
      expect(text).toMatch(/connection: close/i);
    }
  });

  it('far over the limit end the connection', async () => {
    await using hub = await serve();
    const text = await hub.once(
      `POST /api/v1/events HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: ${64 * 1024 * 1024}\r\n\r\n`,
    );
    expect(statuses(text)).toEqual(['413']);
  });

  it('over the limit are refused while they stream', async () => {
    await using hub = await serve();
    const socket = await hub.connect();
    socket.send(
      `POST /api/v1/setup HTTP/1.1\r\nHost: a\r\nX-Requested-With: a\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    for (let i = 0; i < 5; i++) socket.send(`400\r\n${'x'.repeat(1024)}\r\n`);
    const text = await socket.untilClosed();
    expect(statuses(text)).toEqual(['413']);
  });

  it('cut short by the client leave nothing behind', async () => {
    await using hub = await serve();
    const socket = await hub.connect();
    socket.send(`POST /api/v1/events HTTP/1.1\r\nHost: a\r\n${auth}Content-Length: 100\r\n\r\nabc`);
    await eventually(() => hub.server.connections() === 1);
    socket.destroy();
    await eventually(() => hub.server.connections() === 0);
    expect(hub.log.lines).toEqual([]);
  });
});

describe('hostile requests', () => {
  const refused: [string, string][] = [
    ['both length and chunks', `Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['two lengths', `Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`],
    ['an encoding that is not chunked', `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a list of encodings', `Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['chunked twice', `Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a length that is no number', `Content-Length: +3\r\n\r\nabc`],
    ['an empty length', `Content-Length: \r\n\r\n`],
    ['an empty length before chunks', `Content-Length:\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ];
  for (const [what, rest] of refused) {
    it(`with ${what} get 400 and lose their connection; what follows them is never handled`, async () => {
      await using hub = await serve();
      const request = `POST /api/v1/events HTTP/1.1\r\nHost: a\r\n${auth}${rest}`;
      expect(statuses(await hub.once(request))).toEqual(['400']);
      const smuggled = `GET /api/v1/sessions/smuggled HTTP/1.1\r\nHost: a\r\n${auth}\r\n`;
      expect(await hub.once(request + smuggled)).not.toContain('smuggled');
      expect(hub.metrics.snapshot().map(({ route }) => route)).not.toContain('GET /api/v1/sessions/{key+}');
    });
  }

  it('with headers of 64 KB are refused', async () => {
    await using hub = await serve();
    const text = await hub.once(`GET /api/v1/keys HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(65_000)}\r\n\r\n`);
    expect(statuses(text)).toEqual(['431']);
  });

  it('with a very long path are refused', async () => {
    await using hub = await serve();
    const text = await hub.once(`GET /${'a'.repeat(9_000)} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(statuses(text)).toEqual(['431']);
  });

  it('that never end their headers, or hold bare line ends in them, are dropped; others are served meanwhile', async () => {
    await using hub = await serve();
    const start = `GET /api/v1/sessions/a HTTP/1.1\r\nHost: a\r\n${auth}`;
    const hostile = [
      'X-Slow: ',
      'X-Service-Agent-Id: a\nX-Evil: 1\r\n\r\n',
      'X-Service-Agent-Id: a\u0001b\r\n\r\n',
    ];
    const texts = hostile.map((rest) => hub.once(start + rest));
    const ok = await fetch(`http://127.0.0.1:${hub.server.port}/api/v1/sessions/a`, { headers: asKey });
    expect(ok.status).toBe(200);
    for (const text of await Promise.all(texts)) expect(text).not.toContain('200 OK');
  }, 30_000);

  it('of garbage end the connection, not the server', async () => {
    await using hub = await serve();
    for (const noise of ['\0\0\0\r\n\r\n', 'GET\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', '{"a":1}\r\n\r\n']) {
      expect(await hub.once(noise)).not.toContain('200 OK');
    }
    const ok = await fetch(`http://127.0.0.1:${hub.server.port}/api/v1/sessions/a`, { headers: asKey });
    expect(ok.status).toBe(200);
  });

  it('whose handler throws before any await are answered', async () => {
    await using hub = await serve({
      serve: {
        broken: () => {
          throw new Error('at once');
        },
      },
    });
    const response = await fetch(`http://127.0.0.1:${hub.server.port}/api/v1/broken`);
    expect(response.status).toBe(500);
  });
});
