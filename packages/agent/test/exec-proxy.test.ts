// The proxy of contained programs, under requests and answers of ill will: it answers or ends the connection, and the
// agent's process goes on. An exception that nothing catches fails this file.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DomainProxy, startProxy } from '../src/exec/proxy.ts';

let proxy: DomainProxy;
/** The bytes that the server answers to each connection. */
let answer = '';
/** The bytes that the server has received. */
let received = '';
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    socket.end(answer, 'latin1');
  });
});
let host = '';

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  proxy = await startProxy(['*']);
});
afterAll(async () => {
  await proxy.close();
  server.close();
});

/** The text that the proxy answers before it ends the connection. */
async function send(request: string, to = proxy): Promise<string> {
  received = '';
  const socket: Socket = connect(to.socket);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  socket.write(request, 'latin1');
  await once(socket, 'close');
  return text;
}
const get = (address: string, headers = ''): string =>
  `GET ${address} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`;
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

describe('the proxy of contained programs', () => {
  it('passes on a request and its answer, without what belongs to one connection', async () => {
    answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n2\r\nok\r\n0\r\n\r\n';
    expect(await send(get(`http://${host}/a?b=c`, 'Proxy-Connection: close\r\nX-Own: 1\r\n'))).toMatch(
      /^HTTP\/1\.1 200 OK\r\n(?!.*trailer)[\s\S]*\r\n2\r\nok\r\n0\r\n\r\n$/i,
    );
    expect(received).toMatch(new RegExp(`^GET /a\\?b=c HTTP/1\\.1\r\n[\\s\\S]*host: ${host}\r\n`));
    expect(received).toContain('x-own: 1');
    expect(received).not.toMatch(/proxy-connection/i);
  });

  it.each([
    ['a user name that is no percent-encoding', () => get(`http://%:x@${host}/`), 400],
    ['an address that is none', () => get('http://[/'), 400],
    ['CONNECT without a port', () => 'CONNECT foo HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['CONNECT to port 0', () => 'CONNECT 127.0.0.1:0 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['CONNECT to a port that no host has', () => 'CONNECT 127.0.0.1:70000 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
  ])('refuses %s', async (_name, request, status) => {
    answer = ok;
    expect(await send(request())).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(received).toBe('');
  });

  it('allows only the domains of its programs', async () => {
    const few = await startProxy(['example.com']);
    const request = (address: string) => send(`CONNECT ${address} HTTP/1.1\r\nHost: x\r\n\r\n`, few);
    expect(await request('example.org:443')).toMatch(/^HTTP\/1\.1 403 [\s\S]*\nexample\.org is not among/);
    expect(await request('example.com:0')).toMatch(/^HTTP\/1\.1 400 [\s\S]*a port from 1 to 65535\n$/);
    await few.close();
  });

  it('passes on a body whose request announces trailers', async () => {
    answer = ok;
    const request = `POST http://${host}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1\r\nTrailer: x\r\n\r\na`;
    expect(await send(request)).toMatch(/^HTTP\/1\.1 200 /);
    expect(received).toMatch(/content-length: 1\r\n[\s\S]*\r\n\r\na$/i);
    const chunked = `GET http://${host}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n1\r\na\r\n0\r\n\r\n`;
    expect(await send(chunked)).toMatch(/^HTTP\/1\.1 200 /);
    expect(received).toMatch(/transfer-encoding: chunked/i);
  });

  it.each([
    ['a status below 100', 'HTTP/1.1 099 x\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1\.1 502 /],
    ['another protocol', 'SSH-2.0-x\r\n', /^HTTP\/1\.1 502 /],
    ['nothing', '', /^HTTP\/1\.1 502 /],
    [
      'an upgrade that nobody asked for',
      'HTTP/1.1 101 x\r\nUpgrade: y\r\nConnection: upgrade\r\n\r\n',
      /^HTTP\/1\.1 502 /,
    ],
    ['no content, with trailers', 'HTTP/1.1 204 x\r\nTrailer: y\r\n\r\n', /^HTTP\/1\.1 204 /],
    [
      'fewer bytes than announced',
      'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok',
      /^HTTP\/1\.1 200 [\s\S]*ok$/,
    ],
  ])('survives a server that answers %s', async (_name, bytes, expected) => {
    answer = bytes;
    expect(await send(get(`http://${host}/`))).toMatch(expected);
  });

  it('survives a program that leaves in the middle of an answer', async () => {
    answer = `HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n${'a'.repeat(4_000_000)}`;
    const socket = connect(proxy.socket);
    socket.write(get(`http://${host}/`));
    await once(socket, 'data');
    socket.destroy();
    answer = ok;
    expect(await send(get(`http://${host}/`))).toMatch(/^HTTP\/1\.1 200 /);
  });
});
