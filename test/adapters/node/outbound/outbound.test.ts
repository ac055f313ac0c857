// The outbound guard: which addresses it refuses, that it connects to the address it judged, and its bounds.
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../adapters/node/clock.ts';
import { createOutbound, type OutboundOptions } from '../../../../adapters/node/outbound/outbound.ts';
import { OutboundError, type OutboundFailure } from '../../../../src/shared/outbound.ts';
import { certificate, certificateKey } from '../../../certificate.ts';

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function listen(server: Server): Promise<number> {
  open.push(server);
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return (server.address() as AddressInfo).port;
}
const plain = (handler: RequestListener): Promise<number> => listen(createServer(handler));
const secure = (handler: RequestListener): Promise<number> =>
  listen(createSecureServer({ cert: certificate, key: certificateKey }, handler));

const guard = (options: Partial<OutboundOptions> = {}) =>
  createOutbound({
    clock: systemClock,
    allowPrivate: false,
    allow: [],
    ca: certificate,
    byName: async () => ['93.184.215.14'],
    bySystem: async () => [],
    ...options,
  });
const local = (options: Partial<OutboundOptions> = {}) => guard({ allowPrivate: true, ...options });
const limits = { timeoutMs: 5000, maxBytes: 1000 };

async function failureOf(work: Promise<unknown>): Promise<OutboundFailure | 'none'> {
  try {
    await work;
    return 'none';
  } catch (error) {
    if (error instanceof OutboundError) return error.failure;
    throw error;
  }
}

/** Addresses that nobody may reach, also where private ones are allowed. */
const special = [
  '0.0.0.0',
  '0.1.2.3',
  '100.64.0.1',
  '100.100.100.200',
  '100.127.255.255',
  '168.63.129.16',
  '169.254.0.1',
  '169.254.169.254',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.31.196.1',
  '192.52.193.1',
  '192.88.99.1',
  '192.175.48.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:a9fe:a9fe',
  '0:0:0:0:0:ffff:7f00:1',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:0:7f00:1::',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:a9fe:a9fe::1',
  '2620:4f:8000::1',
  '3fff::1',
  '4000::1',
  '5f00::1',
  'fe80::1',
  'fe80::1%eth0',
  'fe80::1%1',
  'fec0::1',
  'ff02::1',
  'ff0e::1',
];
const own = [
  '127.0.0.1',
  '127.255.255.254',
  '10.0.0.1',
  '10.255.255.255',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '192.168.255.255',
  '::1',
  'fc00::1',
  'fd00:ec2::254',
  'fdff:ffff::1',
];
/** Other ways to write such an address in a URL. */
const written = [
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://0177.0.0.1/',
  'https://127.0.0.1./',
  'https://%31%32%37.0.0.1/',
  'https://１２７.0.0.1/',
  'https://127。0。0。1/',
  'https://3232235521/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[fe80::1]/',
  'https://[fd00:ec2::254]/latest/meta-data/',
  'https://localhost/',
  'https://LOCALHOST./',
  'https://a.localhost/',
  'https://0/',
  'https:\\\\127.0.0.1\\',
  'https:127.0.0.1',
];
const forms = [
  'http://hub.example/',
  'ftp://hub.example/',
  'file:///etc/passwd',
  'gopher://hub.example/',
  'data:text/plain,x',
  'javascript:1',
  '//hub.example/',
  'hub.example',
  '',
  'https://',
  'https://user@hub.example/',
  'https://:secret@hub.example/',
  'https://hub.example:22/',
  'https://hub.example:80/',
  'https://hub.example:99999/',
  'https://[fe80::1%25eth0]/',
  `https://hub.example/${'a'.repeat(2100)}`,
];

describe('addresses', () => {
  it.each([...special, ...own])('refuses a name whose address is %s', async (address) => {
    expect(await failureOf(guard({ byName: async () => [address] }).check('https://hub.example/'))).toBe(
      'refused',
    );
  });

  it.each(special)('refuses %s also where private addresses are allowed', async (address) => {
    const failure = failureOf(local({ byName: async () => [address] }).check('https://hub.example/'));
    expect(await failure).toBe('refused');
  });

  it.each(own)('lets %s through where private addresses are allowed', async (address) => {
    const failure = failureOf(local({ byName: async () => [address] }).check('https://hub.example/'));
    expect(await failure).toBe('none');
  });

  it.each([...written, ...forms])('refuses %s', async (url) => {
    expect(await failureOf(guard().check(url))).toBe('refused');
  });

  it.each(['8.8.8.8', '93.184.215.14', '2606:4700::1111', '2a00:1450:4001::1'])(
    'takes the public %s',
    async (address) => {
      const one = guard({ byName: async () => [address] });
      expect(await failureOf(one.check('https://hub.example:8443/'))).toBe('none');
      expect(await one.resolve('mail.example', 25)).toEqual([
        { address, family: address.includes(':') ? 6 : 4 },
      ]);
    },
  );

  it('refuses a name with one private address among public ones', async () => {
    const mixed = guard({ byName: async () => ['8.8.8.8', '10.0.0.1'] });
    expect(await failureOf(mixed.check('https://hub.example/'))).toBe('refused');
    expect(await failureOf(mixed.resolve('hub.example', 587))).toBe('refused');
  });

  it('says so when a name has no address', async () => {
    const none = guard({ byName: async () => Promise.reject(new Error('ENOTFOUND')) });
    expect(await failureOf(none.check('https://hub.example/'))).toBe('unresolved');
  });

  it("takes what the settings name, by host and port together, by the system's own look-up", async () => {
    const named = guard({
      allow: ['models.internal:11434', '[::1]:9000'],
      bySystem: async () => ['10.1.1.1'],
    });
    expect(await failureOf(named.check('http://models.internal:11434/v1'))).toBe('none');
    expect(await failureOf(named.check('http://MODELS.internal:11434/'))).toBe('none');
    expect(await failureOf(named.check('https://[0:0::1]:9000/'))).toBe('none');
    expect(await failureOf(named.check('http://models.internal:11435/'))).toBe('refused');
    expect(await failureOf(named.check('https://[::1]:9001/'))).toBe('refused');
  });

  it('takes http on loopback alone, and only where private addresses are allowed', async () => {
    const names = { byName: async () => ['10.0.0.1'] };
    expect(await failureOf(local(names).check('http://127.0.0.1:8000/'))).toBe('none');
    expect(await failureOf(local(names).check('http://hub.example/'))).toBe('refused');
    expect(await failureOf(guard(names).check('http://127.0.0.1:8000/'))).toBe('refused');
  });
});

describe('calls', () => {
  it('sends method, headers and body over TLS to the address that was resolved, under the name of the URL', async () => {
    const port = await secure((request, response) => {
      request.setEncoding('utf8').on('data', (body) => {
        const { method, url, headers } = request;
        response.writeHead(201, { 'X-Seen': 'yes' });
        response.end(
          JSON.stringify({ method, url, host: headers.host, body, type: headers['content-type'] }),
        );
      });
    });
    const answer = await local({ byName: async () => ['127.0.0.1'] }).send({
      url: `https://receiver.example:${port}/hook?a=1`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"é":1}',
      ...limits,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('x-seen')).toBe('yes');
    expect(JSON.parse(Buffer.from(answer.body).toString())).toEqual({
      method: 'POST',
      url: '/hook?a=1',
      host: `receiver.example:${port}`,
      body: '{"é":1}',
      type: 'application/json',
    });
  });

  it('resolves once: a second answer that is private is never asked for, let alone called', async () => {
    let asked = 0;
    let reached = 0;
    const port = await secure((_, response) => {
      reached++;
      response.end('secret');
    });
    const rebinding = guard({
      byName: async () => (asked++ === 0 ? ['192.0.2.250'] : ['127.0.0.1']),
      allow: [],
    });
    expect(await failureOf(rebinding.send({ url: `https://receiver.example:${port}/`, ...limits }))).toBe(
      'refused',
    );
    expect(asked).toBe(1);

    asked = 0;
    const first = local({ byName: async () => (asked++ === 0 ? ['127.0.0.1'] : ['127.0.0.99']) });
    await first.send({ url: `https://receiver.example:${port}/`, ...limits });
    expect(asked).toBe(1);
    expect(reached).toBe(1);
  });

  it('judges a name again at every call, also one that was public when it was saved', async () => {
    const answers = [['93.184.215.14'], ['127.0.0.1']];
    const rebinding = guard({ byName: async () => answers.shift() ?? [] });
    await rebinding.check('https://receiver.example/');
    expect(await failureOf(rebinding.send({ url: 'https://receiver.example/', ...limits }))).toBe('refused');
  });

  it('refuses a certificate of another name', async () => {
    const port = await secure((_, response) => response.end());
    const other = local({ byName: async () => ['127.0.0.1'] });
    expect(await failureOf(other.send({ url: `https://other.example:${port}/`, ...limits }))).toBe(
      'connection',
    );
  });

  it('follows no redirect', async () => {
    const paths: string[] = [];
    const port = await plain((request, response) => {
      paths.push(request.url ?? '');
      response.writeHead(302, { Location: '/private' }).end();
    });
    const { status } = await local().send({ url: `http://127.0.0.1:${port}/a`, ...limits });
    expect(status).toBe(302);
    expect(paths).toEqual(['/a']);
  });

  it('stops at its bound of bytes, whatever the answer promises', async () => {
    const port = await plain((_, response) => {
      response.write('a'.repeat(600));
      response.write('b'.repeat(600));
    });
    expect(await failureOf(local().send({ url: `http://127.0.0.1:${port}/`, ...limits }))).toBe('too_large');
  });

  it.each(['before the head', 'in the body'])('stops when its time is over %s', async (when) => {
    const port = await plain((_, response) => {
      if (when === 'in the body') response.write('a');
    });
    const late = local().send({ url: `http://127.0.0.1:${port}/`, timeoutMs: 50, maxBytes: 1000 });
    expect(await failureOf(late)).toBe('timeout');
  });

  it('stops when a name server does not answer in time', async () => {
    const silent = guard({ byName: () => new Promise(() => {}) });
    const late = silent.send({ url: 'https://receiver.example/', timeoutMs: 50, maxBytes: 1000 });
    expect(await failureOf(late)).toBe('timeout');
  });

  it('tells a cut connection, before the head and in the body', async () => {
    const before = await plain((request) => request.socket.destroy());
    expect(await failureOf(local().send({ url: `http://127.0.0.1:${before}/`, ...limits }))).toBe(
      'connection',
    );
    const within = await plain((request, response) => {
      response.write('a');
      response.write('b', () => request.socket.destroy());
    });
    expect(await failureOf(local().send({ url: `http://127.0.0.1:${within}/`, ...limits }))).toBe(
      'connection',
    );
    const closed = await plain(() => {});
    open.at(-1)?.close();
    expect(await failureOf(local().send({ url: `http://127.0.0.1:${closed}/`, ...limits }))).toBe(
      'connection',
    );
  });

  it('ends when its caller gives up, before and during the body', async () => {
    let gone = 0;
    const port = await plain((request, response) => {
      request.socket.on('close', () => gone++);
      response.write('a');
    });
    const already = { signal: AbortSignal.abort(), url: `http://127.0.0.1:${port}/`, ...limits };
    expect(await failureOf(local().send(already))).toBe('aborted');
    const caller = new AbortController();
    const stream = await local().open({ ...already, signal: caller.signal });
    const read = async (): Promise<void> => {
      for await (const piece of stream.body) if (piece.length > 0) caller.abort();
    };
    expect(await failureOf(read())).toBe('aborted');
    await expect.poll(() => gone).toBe(1);
  });
});

describe('streams', () => {
  it('gives pieces as they come, and closes the connection when the reader stops', async () => {
    let gone = false;
    let next: () => void = () => {};
    const port = await plain((request, response) => {
      request.socket.on('close', () => {
        gone = true;
      });
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('data: 1\n\n');
      next = () => response.write('data: 2\n\n');
    });
    const stream = await local().open({ url: `http://127.0.0.1:${port}/`, ...limits });
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    const seen: string[] = [];
    for await (const piece of stream.body) {
      seen.push(Buffer.from(piece).toString());
      if (seen.length === 2) break;
      next();
    }
    expect(seen).toEqual(['data: 1\n\n', 'data: 2\n\n']);
    await expect.poll(() => gone).toBe(true);
  });

  it('closes a connection that is never read', async () => {
    let gone = false;
    const port = await plain((request, response) => {
      request.socket.on('close', () => {
        gone = true;
      });
      response.write('a');
    });
    const stream = await local().open({ url: `http://127.0.0.1:${port}/`, ...limits });
    stream.close();
    stream.close();
    await expect.poll(() => gone).toBe(true);
  });

  it('waits for each piece anew, and no longer', async () => {
    const port = await plain((_, response) => response.write('a'));
    const stream = await local().open({ url: `http://127.0.0.1:${port}/`, timeoutMs: 60, maxBytes: 1000 });
    const read = async (): Promise<void> => {
      for await (const piece of stream.body) expect(piece.length).toBe(1);
    };
    expect(await failureOf(read())).toBe('timeout');
  });
});

describe('the rule for ports', () => {
  it('holds for public hosts where private ones are allowed', async () => {
    const byName = async (host: string) => [host === 'inside.example' ? '10.0.0.1' : '93.184.215.14'];
    for (const port of [22, 25, 80]) {
      expect(await failureOf(local({ byName }).check(`https://public.example:${port}/`))).toBe('refused');
      expect(await failureOf(local({ byName }).check(`https://inside.example:${port}/`))).toBe('none');
    }
    // No server listens on it, and it is not another way to write the default.
    expect(await failureOf(local({ byName }).check('https://public.example:0/'))).toBe('refused');
    for (const port of [443, 1024, 8443]) {
      expect(await failureOf(local({ byName }).check(`https://public.example:${port}/`))).toBe('none');
    }
    const allow = ['public.example:25'];
    expect(
      await failureOf(local({ byName, allow, bySystem: byName }).check('https://public.example:25/')),
    ).toBe('none');
  });
});
