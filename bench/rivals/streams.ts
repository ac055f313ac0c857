// Rivals that hold event streams. Each holds one channel, as the hub holds one environment.
import { createHmac } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HttpCaller } from '../suite/http-call.ts';
import {
  fillTemplate,
  findProgram,
  freePorts,
  installHint,
  locateByVersion,
  makeRivalFolder,
  type RivalStart,
  readVersion,
  startRival,
} from './process.ts';
import type { StreamRival, StreamServer } from './rival.ts';

interface ServerForm {
  readonly start: RivalStart;
  readonly port: number;
  readonly path: string;
  readonly marker: string;
  readonly publish: {
    readonly port: number;
    readonly path: string;
    readonly type: string;
    readonly authorization?: string;
    readonly body: (frame: string) => string;
  };
}

/** Starts the program; frames are sent by POST. */
async function startStreamServer({ start, port, path, marker, publish }: ServerForm): Promise<StreamServer> {
  const server = await startRival(start);
  const caller = new HttpCaller(`http://127.0.0.1:${publish.port}`);
  const headers = {
    'Content-Type': publish.type,
    ...(publish.authorization === undefined ? {} : { Authorization: publish.authorization }),
  };
  return {
    ...server,
    port,
    request: `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`,
    marker,
    async publish(bytes) {
      const body = publish.body('x'.repeat(bytes));
      await caller.call({ method: 'POST', path: publish.path, headers, body });
    },
    async stop() {
      caller.close();
      await server.stop();
    },
  };
}

const nchanModule = 'ngx_nchan_module.so';

/** Of the nginx on PATH; null without the module. */
function nchanModules(nginx: string): string | null {
  const folders = [join(dirname(nginx), '../lib/nginx/modules'), '/usr/lib/nginx/modules'];
  return folders.find((folder) => existsSync(join(folder, nchanModule))) ?? null;
}

const nchan: StreamRival = {
  name: 'nchan',
  kind: 'streams',
  about: 'nginx with the module nchan (C)',
  files: ['nchan.conf'],
  source: { kind: 'debian', packages: ['nginx', 'libnginx-mod-nchan'] },
  locate() {
    const program = findProgram('nginx');
    if (program === null) return { absent: 'nginx is not on PATH' };
    if (nchanModules(program) === null) return { absent: `nginx has no ${nchanModule}` };
    const version = readVersion('dpkg-query', ['-s', 'libnginx-mod-nchan'], /^Version: (?:\d+:)?([\d.]+)/m);
    const nginx = readVersion(program, ['-v'], /nginx\/([\d.]+)/);
    return {
      program,
      version: version === 'unknown' ? `with nginx ${nginx}` : `${version} with nginx ${nginx}`,
    };
  },
  async start({ program }) {
    const folder = makeRivalFolder();
    const [port = 0] = await freePorts(1);
    const config = join(folder, 'nginx.conf');
    writeFileSync(config, fillTemplate('nchan.conf', { folder, port, modules: nchanModules(program) ?? '' }));
    const args = ['-p', folder, '-c', config, '-e', 'stderr'];
    return startStreamServer({
      start: { program, args, ports: [port], folder },
      port,
      path: '/stream',
      marker: ': hi',
      publish: { port, path: '/publish', type: 'text/plain', body: (frame) => frame },
    });
  },
};

const pushpin: StreamRival = {
  name: 'pushpin',
  kind: 'streams',
  about: 'Pushpin (C++ and Rust)',
  files: ['pushpin.conf'],
  source: { kind: 'debian', packages: ['pushpin'] },
  locate: locateByVersion('pushpin', ['--version'], /pushpin ([\d.]+)/),
  async start({ program }) {
    const folder = makeRivalFolder();
    const [port = 0, publishPort = 0] = await freePorts(2);
    const programs = dirname(program);
    const values = {
      folder,
      port,
      publish_port: publishPort,
      programs,
      library: join(programs, '../lib/pushpin'),
    };
    const config = join(folder, 'pushpin.conf');
    writeFileSync(config, fillTemplate('pushpin.conf', values));
    writeFileSync(join(folder, 'routes'), '* test\n');
    return startStreamServer({
      start: { program, args: ['--config', config, '-m'], ports: [port, publishPort], folder },
      port,
      path: '/stream',
      marker: '[stream opened]',
      publish: {
        port: publishPort,
        path: '/publish/',
        type: 'application/json',
        body: (frame) =>
          JSON.stringify({
            items: [{ channel: 'test', formats: { 'http-stream': { content: `${frame}\n` } } }],
          }),
      },
    });
  },
};

const connectPath = (path: string, command: object): string =>
  `${path}?cf_connect=${encodeURIComponent(JSON.stringify(command))}`;

const centrifuge: StreamRival = {
  name: 'centrifuge',
  kind: 'streams',
  about: 'a small server on the Go library centrifuge, bench/rivals/centrifuge',
  files: ['centrifuge/main.go'],
  source: { kind: 'go-source', folder: 'centrifuge' },
  locate: locateByVersion('centrifuge', ['-version'], /^v(\S+)/, installHint('centrifuge')),
  async start({ program }) {
    const [port = 0] = await freePorts(1);
    return startStreamServer({
      start: { program, args: ['-port', String(port)], ports: [port], folder: makeRivalFolder() },
      port,
      path: connectPath('/stream', { id: 1, connect: {} }),
      marker: '"connect"',
      publish: { port, path: '/publish', type: 'application/json', body: JSON.stringify },
    });
  },
};

const centrifugo: StreamRival = {
  name: 'centrifugo',
  kind: 'streams',
  about: 'Centrifugo 6 (Go)',
  files: ['centrifugo.yaml'],
  source: { kind: 'path', page: 'https://centrifugal.dev/docs/getting-started/installation' },
  locate: locateByVersion('centrifugo', ['version'], /v?(\d[\w.-]*)/),
  async start({ program }) {
    const folder = makeRivalFolder();
    const [port = 0] = await freePorts(1);
    const config = join(folder, 'centrifugo.yaml');
    writeFileSync(config, fillTemplate('centrifugo.yaml', { port }));
    return startStreamServer({
      start: { program, args: ['--config', config], ports: [port], folder },
      port,
      path: connectPath('/connection/uni_sse', { subs: { bench: {} } }),
      marker: '"client"',
      publish: {
        port,
        path: '/api/publish',
        type: 'application/json',
        body: (data) => JSON.stringify({ channel: 'bench', data }),
      },
    });
  },
};

const mercureKey = 'benchmark-benchmark-benchmark-01';

function mercureToken(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ mercure: { publish: ['*'] } })}`;
  return `${text}.${createHmac('sha256', mercureKey).update(text).digest('base64url')}`;
}

const mercure: StreamRival = {
  name: 'mercure',
  kind: 'streams',
  about: 'Mercure (Go)',
  files: ['mercure.caddyfile'],
  source: { kind: 'path', page: 'https://mercure.rocks/docs/hub/install' },
  locate: locateByVersion('mercure', ['version'], /v?(\d[\w.-]*)/),
  async start({ program }) {
    const folder = makeRivalFolder();
    const [port = 0] = await freePorts(1);
    const config = join(folder, 'Caddyfile');
    writeFileSync(config, fillTemplate('mercure.caddyfile', { port, key: mercureKey }));
    const args = ['run', '--adapter', 'caddyfile', '--config', config];
    return startStreamServer({
      start: { program, args, ports: [port], folder, env: { HOME: folder } },
      port,
      path: '/.well-known/mercure?topic=bench',
      marker: 'text/event-stream',
      publish: {
        port,
        path: '/.well-known/mercure',
        type: 'application/x-www-form-urlencoded',
        authorization: `Bearer ${mercureToken()}`,
        body: (data) => new URLSearchParams({ topic: 'bench', data }).toString(),
      },
    });
  },
};

/** Beside nchan the least that a server in C takes: it keeps nothing, checks nothing and speaks hardly any HTTP. */
const epoll: StreamRival = {
  name: 'epoll',
  kind: 'streams',
  about: 'a bare loop in C, bench/rivals/epoll.c',
  files: ['epoll.c'],
  source: { kind: 'c-source', file: 'epoll.c' },
  locate() {
    const program = findProgram('epoll');
    return program === null
      ? { absent: `epoll is not on PATH${installHint('epoll')}` }
      : { program, version: 'of this checkout' };
  },
  async start({ program }) {
    const [port = 0] = await freePorts(1);
    return startStreamServer({
      start: { program, args: [String(port)], ports: [port], folder: makeRivalFolder() },
      port,
      path: '/',
      marker: ': hi',
      publish: { port, path: '/', type: 'text/plain', body: (frame) => frame },
    });
  },
};

export const streamRivals: readonly StreamRival[] = [epoll, nchan, pushpin, centrifuge, centrifugo, mercure];
