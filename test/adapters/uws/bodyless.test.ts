// Answers without a body, byte by byte and through clients in common use: each is followed by a second request on the
// same connection.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { asUser, keyText } from '../../http/fixtures.ts';
import { isNightly } from '../../runs.ts';
import { eventually, type RawSocket, serve } from './fixtures.ts';

const run = promisify(execFile);
const auth = `Authorization: Bearer ${keyText}\r\n`;
const user = `Cookie: ${asUser.cookie}\r\nX-Requested-With: x\r\n`;

/** The head of the first answer and all that follows it. */
function split(text: string): { status: number; headers: Map<string, string>; rest: string } {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  return { status: Number(first.split(' ')[1]), headers, rest: text.slice(end + 4) };
}

/** Sends the request, then another behind its whole answer. */
async function twice(socket: RawSocket, request: string): Promise<string> {
  socket.send(`${request}\r\n`);
  await socket.until((text) => text.includes('\r\n\r\n'));
  socket.send(`GET /api/v1/sessions/after HTTP/1.1\r\nHost: a\r\n${auth}\r\n`);
  return socket.until((text) => text.includes('{"key":"after"}'));
}

const preflight = 'Origin: http://localhost:3000\r\nAccess-Control-Request-Method: POST\r\n';

describe('an answer without a body', () => {
  it.each([
    ['OPTIONS', 'OPTIONS /api/v1/keys HTTP/1.1\r\nHost: a\r\n'],
    ['a CORS preflight', `OPTIONS /api/v1/keys HTTP/1.1\r\nHost: a\r\n${preflight}`],
    [
      'a preflight with a body',
      `OPTIONS /api/v1/keys HTTP/1.1\r\nHost: a\r\n${preflight}Content-Length: 0\r\n`,
    ],
    ['DELETE', `DELETE /api/v1/things/a HTTP/1.1\r\nHost: a\r\n${user}`],
  ])('to %s is a 204 that names no length, and the next request is answered', async (_, request) => {
    await using hub = await serve();
    const socket = await hub.connect();
    const { status, headers, rest } = split(await twice(socket, request));
    expect(status).toBe(204);
    expect([headers.has('content-length'), headers.has('transfer-encoding')]).toEqual([false, false]);
    expect(rest).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(rest.endsWith('{"key":"after"}')).toBe(true);
    expect(socket.closed).toBe(false);
  });

  it('to HEAD names the length that GET would have, and the next request is answered', async () => {
    await using hub = await serve();
    const get = await hub.connect();
    get.send(`GET /api/v1/sessions/head HTTP/1.1\r\nHost: a\r\n${auth}\r\n`);
    const got = split(await get.until((text) => text.endsWith('}')));
    const socket = await hub.connect();
    const head = split(await twice(socket, `HEAD /api/v1/sessions/head HTTP/1.1\r\nHost: a\r\n${auth}`));
    expect(got.rest).toBe('{"key":"head"}');
    expect(head.headers.get('content-length')).toBe('14');
    expect(head.rest).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it.each([
    ['an unknown path', 'HEAD /nowhere HTTP/1.1\r\nHost: a\r\n', 404],
    ['a stream', `HEAD /api/v1/stream/dashboard HTTP/1.1\r\nHost: a\r\n${user}`, 200],
    ['no credential', 'HEAD /api/v1/sessions/a HTTP/1.1\r\nHost: a\r\n', 401],
  ])('to HEAD of %s leaves the connection as it was', async (_, request, status) => {
    await using hub = await serve();
    const answer = split(await twice(await hub.connect(), request));
    expect(answer.status).toBe(status);
    expect(answer.rest).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('ends the connection of a HEAD whose framing is in doubt', async () => {
    await using hub = await serve();
    const text = await hub.once('HEAD /api/v1/sessions/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(split(text).rest).toBe('');
  });

  it('says that the connection ends while the hub stops', async () => {
    await using hub = await serve();
    const socket = await hub.connect();
    socket.send(`GET /api/v1/sessions/a HTTP/1.1\r\nHost: a\r\n${auth}\r\n`);
    await socket.until((text) => text.endsWith('}'));
    hub.server.stopListening();
    const before = socket.text.length;
    socket.send('OPTIONS /api/v1/keys HTTP/1.1\r\nHost: a\r\n\r\n');
    const text = (await socket.until((t) => t.length > before && t.endsWith('\r\n\r\n'))).slice(before);
    expect(split(text).headers.get('connection')).toBe('close');
    expect(text).not.toMatch(/content-length/i);
  });

  it('frees its connection when it stays idle', { timeout: 30_000 }, async () => {
    await using hub = await serve();
    const sockets = await Promise.all(Array.from({ length: 50 }, () => hub.connect()));
    for (const socket of sockets) socket.send('OPTIONS /api/v1/keys HTTP/1.1\r\nHost: a\r\n\r\n');
    for (const socket of sockets) await socket.until((text) => text.includes('204'));
    for (const socket of sockets) await socket.untilClosed();
    await eventually(() => hub.server.connections() === 0);
  });
});

describe('an answer that ends its connection', () => {
  it('is whole: its length and its end are where they belong', async () => {
    await using hub = await serve();
    const answer = split(await hub.once('GET /api/v1/sessions/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'));
    expect([answer.status, answer.headers.get('connection')]).toEqual([400, 'close']);
    expect(answer.headers.get('content-length')).toBe(String(answer.rest.length));
    expect(JSON.parse(answer.rest)).toMatchObject({ code: 'bad_request' });
  });
});

/**
 * Requests of each client, in turn, on one connection. Its output: the statuses, one a line, and `same` or
 * `other` for the connection.
 */
const steps = [
  'OPTIONS /api/v1/keys',
  'HEAD /api/v1/sessions/a',
  'DELETE /api/v1/things/a',
  'GET /api/v1/sessions/b',
];
const expected = ['204', '200', '204', '200'];
const headers = { Cookie: asUser.cookie, 'X-Requested-With': 'x', Authorization: `Bearer ${keyText}` };
const has = (command: string, ...args: string[]): boolean => {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

const python = `
import http.client, json, sys
connection = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=10)
headers = json.loads(sys.argv[2])
connection.connect()
first = connection.sock
for step in sys.argv[3:]:
    method, path = step.split(' ')
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    print(answer.status)
print('same' if connection.sock is first else 'other')
`;

const go = `package main
import ("encoding/json"; "fmt"; "io"; "net"; "net/http"; "os"; "strings"; "time")
func main() {
	dials := 0
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{Dial: func(network, address string) (net.Conn, error) {
		dials++
		return net.Dial(network, address)
	}}}
	headers := map[string]string{}
	if err := json.Unmarshal([]byte(os.Args[2]), &headers); err != nil { panic(err) }
	for _, step := range os.Args[3:] {
		words := strings.Split(step, " ")
		request, _ := http.NewRequest(words[0], "http://127.0.0.1:"+os.Args[1]+words[1], nil)
		for name, value := range headers { request.Header.Set(name, value) }
		answer, err := client.Do(request)
		if err != nil { panic(err) }
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		fmt.Println(answer.StatusCode)
	}
	if dials == 1 { fmt.Println("same") } else { fmt.Println("other") }
}
`;

describe('clients in common use keep their connection over answers without a body', () => {
  it('Node', async () => {
    await using hub = await serve();
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    const statuses: string[] = [];
    for (const step of steps) {
      const [method, path] = step.split(' ');
      await new Promise<void>((resolve, reject) => {
        const request = http.request(
          { host: '127.0.0.1', port: hub.server.port, method, path, headers, agent },
          (answer) => {
            ports.add(answer.socket.localPort);
            statuses.push(String(answer.statusCode));
            answer.resume().once('end', resolve);
          },
        );
        request.once('error', reject).end();
      });
    }
    agent.destroy();
    expect([statuses, ports.size]).toEqual([expected, 1]);
  });

  it.skipIf(!has('python3', '--version'))('Python', async () => {
    await using hub = await serve();
    const args = ['-c', python, String(hub.server.port), JSON.stringify(headers), ...steps];
    const { stdout } = await run('python3', args);
    expect(stdout.trim().split('\n')).toEqual([...expected, 'same']);
  });

  it.skipIf(!has('curl', '--version'))('curl', async () => {
    await using hub = await serve();
    const fields = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
    const args = steps.flatMap((step, i) => {
      const [method = '', path = ''] = step.split(' ');
      const how = method === 'HEAD' ? ['--head'] : ['-X', method];
      const each = [
        '-s',
        '-m',
        '10',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code} %{num_connects}\\n',
        ...fields,
        ...how,
      ];
      return [...(i > 0 ? ['--next'] : []), ...each, `http://127.0.0.1:${hub.server.port}${path}`];
    });
    const { stdout } = await run('curl', args);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
    expect(lines.map(([status]) => status)).toEqual(expected);
    expect(lines.map(([, connects]) => connects)).toEqual(['1', '0', '0', '0']);
  });

  // It compiles its client, which takes longer than all other tests of this file together.
  it.skipIf(!isNightly || !has('go', 'version'))('Go', { timeout: 120_000 }, async () => {
    await using hub = await serve();
    const folder = await mkdtemp(join(tmpdir(), 'bodyless-'));
    try {
      const file = join(folder, 'main.go');
      await writeFile(file, go);
      const { stdout } = await run('go', [
        'run',
        file,
        String(hub.server.port),
        JSON.stringify(headers),
        ...steps,
      ]);
      expect(stdout.trim().split('\n')).toEqual([...expected, 'same']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
