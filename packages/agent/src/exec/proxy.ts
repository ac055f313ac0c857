// The only way to the network for a contained program: a proxy for HTTP and CONNECT outside, behind a socket that the
// program's folder contains. It connects to allowed names only and resolves them itself.
import { mkdtemp, rm } from 'node:fs/promises';
import {
  type ClientRequest,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Duplex, pipeline } from 'node:stream';
import { messageOf } from '../failure.ts';
import { compileHostGlobs } from '../rules/evaluate/glob.ts';

/** Connections at once, for each program. */
const maxConnections = 256;
/** Milliseconds without a byte after which a connection ends. */
const idleTimeout = 120_000;

export interface DomainProxy {
  /** A folder with the socket, for the program to read. */
  readonly folder: string;
  readonly socket: string;
  close(): Promise<void>;
}

/** A test of names by globs, as `allows.domains` of a sandbox compares them. */
function domainTest(domains: readonly string[]): (host: string) => boolean {
  const isAllowed = compileHostGlobs(domains);
  return (host) => isAllowed(host.toLowerCase().replace(/\.$/, ''));
}

export async function startProxy(domains: readonly string[]): Promise<DomainProxy> {
  const isAllowed = domainTest(domains);
  const folder = await mkdtemp(join(tmpdir(), 'reeve-exec-'));
  const socket = join(folder, 'proxy');
  const server = createServer((incoming, response) => forward(incoming, response, isAllowed));
  server.maxConnections = maxConnections;
  server.timeout = idleTimeout;
  server.on('connect', (incoming, client, head) => tunnel(incoming, client, head, isAllowed));
  const clients = new Set<Duplex>();
  server.on('connection', (client) => {
    clients.add(client);
    client.on('close', () => clients.delete(client)).on('error', () => client.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject).listen(socket, resolve);
  });
  return {
    folder,
    socket,
    async close() {
      const closing = new Promise((resolve) => server.close(resolve));
      for (const client of clients) client.destroy();
      await closing;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const refusal = (host: string): string => `${host} is not among the domains of this program\n`;

/** Headers about one connection, which the next connection does not get. Node refuses trailers without chunks. */
const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);
const messageHeaders = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !connectionHeaders.has(name)));

/**
 * A request for `http://…`; the name in its address is the name that the server gets. Program and server may send what
 * they like: an exception here would end the agent's process.
 */
function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  isAllowed: (host: string) => boolean,
): void {
  const address = incoming.url ?? '';
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url?.protocol !== 'http:') {
    response.writeHead(400).end('this proxy takes CONNECT and http:// addresses\n');
    return;
  }
  if (!isAllowed(url.hostname)) {
    response.writeHead(403).end(refusal(url.hostname));
    return;
  }
  const headers = { ...messageHeaders(incoming.headers), host: url.host };
  let outgoing: ClientRequest;
  try {
    outgoing = request(url, { method: incoming.method, headers });
  } catch (failure) {
    // A user name with a wrong percent-encoding, for instance.
    response.writeHead(400).end(`${messageOf(failure)}\n`);
    return;
  }
  const fail = (failure: unknown): void => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502).end(`${messageOf(failure)}\n`);
  };
  outgoing.on('response', (answer) => {
    const { 'transfer-encoding': _, ...answerHeaders } = messageHeaders(answer.headers);
    try {
      response.writeHead(answer.statusCode ?? 502, answerHeaders);
    } catch (failure) {
      // A status below 100, for instance.
      answer.destroy();
      return fail(failure);
    }
    // Ends the response also if the answer is cut.
    pipeline(answer, response, () => {});
  });
  outgoing.on('error', fail);
  outgoing.on('close', () => {
    if (!response.headersSent) fail(new Error('the server has not answered'));
  });
  response.on('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
}

/**
 * A connection for TLS and whatever else a program speaks to an allowed name.
 * @param head what the program sent before it had an answer
 */
function tunnel(
  incoming: IncomingMessage,
  client: Duplex,
  head: Buffer,
  isAllowed: (host: string) => boolean,
): void {
  const address = incoming.url ?? '';
  const [, host = '', digits] = /^\[?([^\s[\]]+)\]?:(\d{1,5})$/.exec(address) ?? [];
  const port = Number(digits ?? 0);
  const hasPort = port >= 1 && port <= 65_535;
  if (!hasPort || !isAllowed(host)) {
    const [status, text] = hasPort
      ? ['403 Forbidden', refusal(host)]
      : ['400 Bad Request', 'CONNECT needs a host and a port from 1 to 65535\n'];
    client.end(`HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\n\r\n${text}`);
    return;
  }
  const server = connect({ host, port, timeout: idleTimeout }, () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    server.write(head);
    server.pipe(client).pipe(server);
  });
  server.on('timeout', () => server.destroy());
  server.on('error', () => client.destroy()).on('close', () => client.destroy());
  client.on('error', () => server.destroy()).on('close', () => server.destroy());
}

/** The port within the isolation, which has a loopback device of its own. */
const relayPort = 3128;
const relayAddress = `http://127.0.0.1:${relayPort}`;
/** Variables in which programs find their proxy. */
export const proxyVariables = {
  ...{
    http_proxy: relayAddress,
    https_proxy: relayAddress,
    HTTP_PROXY: relayAddress,
    HTTPS_PROXY: relayAddress,
  },
  NODE_USE_ENV_PROXY: '1',
};
/**
 * A script for Node within the isolation: it passes connections from the loopback device on to the socket, and runs the
 * program. Arguments: the socket, then the program and its words.
 */
export const relayScript = `
const { connect, createServer } = require('node:net');
const [socket, program, ...words] = process.argv.slice(1);
const relay = createServer((inner) => {
  const outer = connect(socket);
  inner.pipe(outer).pipe(inner);
  const end = () => { inner.destroy(); outer.destroy(); };
  inner.on('error', end).on('close', end);
  outer.on('error', end).on('close', end);
});
relay.listen(${relayPort}, '127.0.0.1', () => {
  const child = require('node:child_process').spawn(program, words, { stdio: 'inherit' });
  child.on('error', (failure) => { process.stderr.write(failure.message + '\\n'); process.exit(127); });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + require('node:os').constants.signals[signal]));
});
`;
