// The fuzz program itself: what it sends fits, is the same for the same seed, and what is wrong in an answer is seen.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { random } from '../random.ts';
import { itAtNight } from '../runs.ts';
import { OpenSockets } from './broken.ts';
import { type Finding, Findings } from './findings.ts';
import { clientFrame, StreamReader } from './frames.ts';
import { bytesOf, HttpConnection } from './http.ts';
import { formsOf, Leaks, markerIn, markerOf } from './leaks.ts';
import { Player } from './player.ts';
import { operations, requestOf } from './requests.ts';
import type { Writer } from './schema.ts';
import { noIds, Seen } from './seen.ts';
import { type Credential, operator, strangers, type Tenant } from './world.ts';

const markers = new Map([
  ['acme', markerOf('1', 'acme')],
  ['bolt', markerOf('1', 'bolt')],
]);

const writer = (seed: string): Writer => ({
  random: random(seed),
  marker: markers.get('acme') ?? null,
  env: null,
  large: false,
  known: () => undefined,
  thing: () => ({}),
});

const credential = (role: Credential['role']): Credential => ({
  role,
  tenant: 'acme',
  env: role === 'key' ? 'production' : null,
  headers: [],
  renew: async () => {},
});
const acme: Tenant = {
  name: 'acme',
  id: '6070f771-fcb0-40bf-a7d1-871587a41441',
  marker: markers.get('acme') ?? '',
  email: 'a@example.com',
  password: 'p',
  credentials: [credential('admin'), credential('key')],
};

describe('requests', () => {
  const bodied = operations.filter(({ route }) => route.body && route.parse !== 'bytes');

  it.each(bodied.map((operation) => [operation.name, operation] as const))(
    '%s: many that fit',
    (_, operation) => {
      const bodies = Array.from({ length: 40 }, (_, i) =>
        requestOf(operation, writer(`${operation.name} ${i}`), operator, 'valid'),
      );
      const fitting = bodies.filter(({ headers, body }) => {
        if (!headers.some(([name, value]) => name === 'Content-Type' && value === 'application/json'))
          return false;
        return operation.route.body?.safeParse(JSON.parse(Buffer.from(body ?? []).toString())).success;
      });
      expect(fitting.length).toBeGreaterThan(5);
    },
  );

  itAtNight('are the same for the same seed, and others for another', () => {
    const all = (seed: string) =>
      operations.flatMap((operation) =>
        (['valid', 'bent', 'broken', 'hostile'] as const).map((wrongness) =>
          bytesOf(requestOf(operation, writer(seed), operator, wrongness)).toString('base64'),
        ),
      );
    expect(all('a')).toEqual(all('a'));
    expect(all('a')).not.toEqual(all('b'));
  });
});

describe('leaks', () => {
  const leaks = new Leaks(markers);
  const text = `before ${markers.get('bolt')} after`;
  const written: { readonly [how: string]: Buffer } = {
    'as it is': Buffer.from(text),
    'in base64': Buffer.from(Buffer.from(text).toString('base64')),
    'in base64, one further': Buffer.from(Buffer.from(`x${text}`).toString('base64')),
    'in base64, two further': Buffer.from(Buffer.from(`xx${text}`).toString('base64')),
    'in base64 for URLs': Buffer.from(Buffer.from(text).toString('base64url')),
    'in hex': Buffer.from(Buffer.from(text).toString('hex')),
  };

  it.each(Object.entries(written))('sees the text of another tenant %s', (_, bytes) => {
    expect(leaks.foreignText('acme', bytes)).toContain('bolt');
    expect(leaks.foreignText(null, bytes)).toContain('bolt');
    expect(leaks.foreignText('bolt', bytes)).toBeNull();
  });

  it("sees the text of another environment's key, and not that of people", () => {
    const sent = Buffer.from(`{"a":"${markerIn(markers.get('acme') ?? '', 'staging')} mail"}`);
    expect(leaks.foreignEnvironment('acme', 'production', sent)).toContain('staging');
    expect(leaks.foreignEnvironment('acme', 'staging', sent)).toBeNull();
    expect(leaks.foreignEnvironment('acme', 'production', Buffer.from(`${acme.marker} mail`))).toBeNull();
  });

  it('looks far enough back for a text that comes in two pieces', () => {
    for (const form of formsOf(markers.get('bolt') ?? '')) expect(form.length).toBeLessThan(leaks.overlap);
  });

  it('sees an id that another tenant was told, unless it was asked about', () => {
    const id = '6070f771-fcb0-40bf-a7d1-871587a41441';
    const answer = Buffer.from(`{"id":"${id}"}`);
    expect(leaks.foreignId('bolt', answer, Buffer.from('GET /'))).toBeNull();
    expect(leaks.foreignId('acme', answer, Buffer.from('GET /'))).toContain('bolt');
    expect(leaks.foreignId('acme', answer, Buffer.from(`GET /${id.toUpperCase()}`))).toBeNull();
  });

  it("sees nothing wrong in everybody's ids", () => {
    const node = '0a3c1a52-6b0e-4b6e-9c0f-3f6f5c1d2e3f';
    const all = new Leaks(markers, [node]);
    const answer = Buffer.from(`{"node":"${node}"}`);
    expect(all.foreignId('bolt', answer, Buffer.from('GET /'))).toBeNull();
    expect(all.foreignId('acme', answer, Buffer.from('GET /'))).toBeNull();
  });
});

async function serving<T>(listener: RequestListener, use: (port: number) => Promise<T>): Promise<T> {
  const server = createServer(listener);
  // Node's own answer to methods that it does not know does not say where it ends.
  server.on('clientError', (_, socket) =>
    socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('answers', () => {
  const request = { method: 'GET', path: '/', headers: [], body: null, chunkBytes: null };
  const raw = (answer: string) =>
    serving(
      (_, response) => void response.socket?.end(answer),
      async (port) => {
        const connection = await HttpConnection.open(port);
        return connection.ask(request, 5000);
      },
    );
  const faulty: { readonly [what: string]: readonly [answer: string, fault: string] } = {
    'a 204 with a length': ['HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n', 'a 204 says'],
    'no length': ['HTTP/1.1 200 OK\r\n\r\nhello', 'does not say where it ends'],
    'two lengths': [
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na',
      'content-length twice',
    ],
    'bytes behind it': ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc', '2 bytes follow it'],
    'a header that is none': ['HTTP/1.1 200 OK\r\nA b\r\nContent-Length: 0\r\n\r\n', 'the header line'],
    'a chunk that is none': [
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n',
      'a chunk has the size',
    ],
    'headers behind the chunks': [
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nConnection: close\r\n0\r\n\r\n',
      'a chunk has the size',
    ],
  };

  it.each(Object.entries(faulty))('%s is seen', async (_, [answer, fault]) => {
    expect(await raw(answer)).toMatchObject({ fault: expect.stringContaining(fault) });
  });

  it('an answer that ends too soon, or never begins, is seen', async () => {
    expect(await raw('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')).toBe('cut short');
    expect(await raw('')).toBe('closed');
  });

  it('a proper answer is read whole, in chunks too', async () => {
    const body = 'x'.repeat(300_000);
    await serving(
      (asked, response) => {
        if (asked.url === '/length') response.setHeader('Content-Length', body.length);
        response.write(body.slice(0, 1000));
        response.end(body.slice(1000));
      },
      async (port) => {
        const connection = await HttpConnection.open(port);
        for (const path of ['/length', '/chunks', '/length']) {
          expect(await connection.ask({ ...request, path }, 5000)).toMatchObject({
            status: 200,
            bytes: body.length,
            fault: null,
          });
        }
        connection.destroy();
      },
    );
  });
});

describe('streams', () => {
  const opened = 'HTTP/1.1 101 Switching Protocols\r\n\r\n';
  const read = (codec: 'sse' | 'json' | 'msgpack', ...pieces: (string | Buffer)[]): StreamReader => {
    const reader = new StreamReader(codec);
    for (const piece of pieces)
      for (const byte of Buffer.from(piece as string)) reader.take(Buffer.from([byte]));
    return reader;
  };
  const message = Buffer.from('{"type":"result","ref":1}');

  it('reads messages however they are cut', () => {
    const frame = clientFrame(message, { masked: false });
    const reader = read(
      'json',
      opened,
      frame,
      frame,
      clientFrame(Buffer.from([3, 233]), { opcode: 8, masked: false }),
    );
    expect(reader).toMatchObject({ fault: null, results: 2, closeCode: 1001 });
  });

  it('sees frames that no server may send', () => {
    expect(read('json', opened, clientFrame(message)).fault).toContain('masked');
    expect(read('json', opened, clientFrame(message, { masked: false, reserved: 4 })).fault).toContain(
      'reserved',
    );
    expect(read('msgpack', opened, clientFrame(message, { masked: false })).fault).toContain('opcode 1');
    expect(read('json', opened, clientFrame(Buffer.from('{'), { masked: false })).fault).toContain(
      'a message is',
    );
  });

  it('sees events that are none', () => {
    const events = (text: string) =>
      read(
        'sse',
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n`,
      );
    expect(events('id: 1\nevent: a\ndata: {"b":1}\n\n')).toMatchObject({ fault: null, lastId: '1' });
    expect(events('event: a\ndata: {"b"\n\n').fault).toContain('the data of a');
    expect(events('HTTP/1.1 500\n\n').fault).toContain('an SSE line');
  });
});

describe('a player', () => {
  async function play(listener: RequestListener, tenant: Tenant | null, steps: number): Promise<Finding[]> {
    const findings = new Findings(null);
    const sockets = new OpenSockets();
    await serving(listener, async (port) => {
      const player = new Player(
        {
          seed: '1',
          port,
          tenants: [acme],
          leaks: new Leaks(markers),
          findings,
          sockets,
          mayBeLarge: () => false,
          spend: () => {},
          counted: () => {},
          isReached: () => true,
          isAnswered: () => true,
          sleptMs: () => 0,
        },
        'acme0',
        tenant,
        new Seen(tenant, [acme], noIds()),
        null,
      );
      for (let i = 0; i < steps; i++) await player.step();
      sockets.endAll();
      await player.settled();
    });
    return findings.all;
  }
  const answering =
    (status: number, body: string): RequestListener =>
    (_, response) =>
      void response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
  const kinds = (found: readonly Finding[]) => new Set(found.map(({ kind }) => kind));

  it('finds nothing where every request is refused', async () => {
    expect(await play(answering(422, '{}'), acme, 60)).toEqual([]);
  });

  it('finds errors of the server, with what was sent', async () => {
    const found = await play(answering(500, '{}'), acme, 20);
    expect(kinds(found)).toEqual(new Set(['server error']));
    // A long request is cut: not each shows its end.
    expect(found.map(({ trace }) => trace[0]?.sent).join('\n')).toContain('HTTP/1.1');
  });

  it('finds answers that are too large', async () => {
    expect(kinds(await play(answering(404, `"${'x'.repeat(4_200_000)}"`), acme, 5))).toContain('too large');
  });

  it("finds another tenant's text", async () => {
    expect(kinds(await play(answering(404, `"${markers.get('bolt')}"`), acme, 20))).toEqual(
      new Set(['leak']),
    );
  });

  it("takes a tenant's own text for a leak to strangers alone", async () => {
    const found = await play(answering(404, `"${acme.marker}"`), acme, 20);
    for (const { what } of found) expect(what).toContain('of null: text of acme');
  });

  it('finds routes that let in whom they should refuse', async () => {
    expect(strangers.length).toBeGreaterThan(3);
    expect(kinds(await play(answering(200, '{}'), null, 20))).toContain('let in');
  });

  it('finds bodies that are no JSON', async () => {
    expect(kinds(await play(answering(404, '{"detail":'), acme, 20))).toEqual(new Set(['malformed']));
  });
});
