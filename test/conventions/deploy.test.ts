// The files that put the hub into the world say what the code says: settings that exist, files that exist, a balancer
// that holds no event back.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { abis, isBinaryOf, type Target } from '../../scripts/production-packages.ts';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { apiFamilies } from '../../src/hub/api/families.ts';
import { settings } from '../../src/hub/config.ts';

const at = (path: string): URL => new URL(`../../${path}`, import.meta.url);
const read = (path: string): string => readFileSync(at(path), 'utf8');
const known = new Set(settings.map(({ name }) => name));
/** Node's own. */
const others = new Set(['NODE_ENV']);
const unknown = (names: readonly string[]) => names.filter((name) => !known.has(name) && !others.has(name));

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environment?: { readonly [name: string]: string };
  readonly depends_on?: readonly string[] | { readonly [service: string]: { readonly condition: string } };
  readonly networks?: readonly string[] | { readonly [name: string]: { readonly ipv4_address?: string } };
  readonly volumes?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly healthcheck?: object;
  readonly stop_grace_period?: string;
}

const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  readonly services: { readonly [name: string]: Service };
  readonly volumes: object;
  readonly networks: { readonly [name: string]: { readonly internal?: boolean } | null };
};
/** Seconds a node may need to stop once its streams have ended: finishing, handing over, closing. */
const afterDrain = 30;
const hubs = ['hub1', 'hub2', 'hub3'].map((name) => compose.services[name]);

describe('docker-compose.yml', () => {
  it('names only settings that the hub reads, and only services, networks and volumes that it has', () => {
    const { services, volumes, networks } = compose;
    for (const service of Object.values(services)) {
      const needed = service.depends_on ?? [];
      const named = Array.isArray(needed) ? needed : Object.keys(needed);
      expect(named.filter((name) => !services[name])).toEqual([]);
      const joined = service.networks ?? [];
      expect(
        (Array.isArray(joined) ? joined : Object.keys(joined)).filter((name) => !(name in networks)),
      ).toEqual([]);
      for (const volume of service.volumes ?? []) {
        const [from = ''] = volume.split(':');
        expect(from.startsWith('./') ? existsSync(at(from)) : from in volumes).toBe(true);
      }
    }
    for (const hub of hubs) expect(unknown(Object.keys(hub?.environment ?? {}))).toEqual([]);
    const asked = [...read('docker-compose.yml').matchAll(/(?<!\$)\$\{(\w+)/g)].map(
      (match) => match[1] ?? '',
    );
    expect(unknown(asked)).toEqual([]);
  });

  it('runs three hubs on one store and one bus, without rights, behind the one proxy that they trust', () => {
    const lb = compose.services.lb?.networks as { readonly edge: { readonly ipv4_address: string } };
    for (const hub of hubs) {
      expect(hub).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
      expect(hub?.environment?.TRUSTED_PROXIES).toBe(lb.edge.ipv4_address);
      expect(hub?.environment?.MONGODB_URL).toMatch(
        /^mongodb:\/\/mongo1:27017,mongo2:27017,mongo3:27017\/.*replicaSet=reeve/,
      );
      expect(hub?.environment?.REDIS_URL).toBe('redis://redis:6379');
    }
    for (const hub of hubs) {
      const drain = Number(hub?.environment?.DRAIN_SECONDS);
      expect(Number.parseInt(hub?.stop_grace_period ?? '', 10)).toBeGreaterThan(drain + afterDrain);
    }
    expect(compose.networks.inside?.internal).toBe(true);
    const redis = compose.services.redis?.command?.join(' ');
    expect(redis).toContain('--appendonly yes');
    expect(redis).toContain('--maxmemory-policy noeviction');
  });

  it('makes a secret that the hub takes, once, and the scripts in it are sound', () => {
    const script = compose.services.secret?.command?.[2] ?? '';
    const checked = spawnSync(process.execPath, ['--check', '-'], { input: script });
    expect(checked.stderr.toString()).toBe('');
    const shell = (hubs[0]?.command?.[2] ?? '').replaceAll('$$', '$');
    const start = shell
      .replace('$(cat /secrets/key)', 'k'.repeat(64))
      .replace('exec node dist/src/main.js', 'printenv SECRET_KEY');
    const run = (secret: string) =>
      spawnSync('sh', ['-c', start], { env: { PATH: process.env.PATH ?? '', SECRET_KEY: secret } })
        .stdout.toString()
        .trim();
    expect(run('')).toBe('k'.repeat(64));
    expect(run('own')).toBe('own');
    const joining = compose.services['replica-set']?.command?.at(-1) ?? '';
    expect(spawnSync(process.execPath, ['--check', '-'], { input: joining }).stderr.toString()).toBe('');
  });
});

describe('the secret that docker-compose.yml makes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-secret-'));
  const script = compose.services.secret?.command?.[2]?.replaceAll('/secrets', folder) ?? '';
  const make = (before = '') =>
    spawnSync(process.execPath, ['-e', before + script], { env: { PATH: process.env.PATH ?? '' } });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is not there at all when it could not be written', () => {
    const failing = `require('node:fs').fsyncSync = () => { throw new Error('the disk is full'); };`;
    expect(make(failing).status).not.toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is made whole, for its owner alone, and left alone by later starts', () => {
    expect(make().stderr.toString()).toBe('');
    expect(readdirSync(folder)).toEqual(['key']);
    const key = readFileSync(join(folder, 'key'), 'utf8');
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(statSync(join(folder, 'key')).mode & 0o777).toBe(0o600);
    expect(make().status).toBe(0);
    expect(readFileSync(join(folder, 'key'), 'utf8')).toBe(key);
    expect(readdirSync(folder)).toEqual(['key']);
  });
});

describe('Dockerfile', () => {
  const lines = read('Dockerfile').split('\n');
  const copied = lines
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(/\s+/).slice(1, -1));

  it('copies only what is there and what the ignore file lets through', () => {
    expect(copied.filter((path) => !existsSync(at(path)))).toEqual([]);
    const sent = read('.dockerignore').split('\n');
    expect(sent).toContain('*');
    const isSent = (path: string) => sent.includes(`!${path}`) || sent.includes(`!${path.split('/')[0]}`);
    expect(copied.filter((path) => !isSent(path))).toEqual([]);
  });

  it('compiles what the build compiles, on a Node and a C library that the native server loads on', () => {
    const { include } = JSON.parse(read('tsconfig.build.json')) as { include: string[] };
    expect(include.filter((folder) => !copied.includes(folder))).toEqual([]);
    const bases = lines.filter((line) => line.startsWith('FROM ')).map((line) => line.split(' ')[1]);
    // Debian 13 has glibc 2.41.
    expect(new Set(bases)).toEqual(new Set(['node:24-trixie-slim']));
  });

  it('runs the release archive, whose binaries are recorded for its Node on both architectures', () => {
    expect(lines.join('\n')).toMatch(/RUN npm run release [\s\S]*COPY --from=build \/release \.\//);
    const recorded = Object.keys(JSON.parse(read('deploy/native-binaries.json')));
    for (const arch of ['x64', 'arm64']) {
      for (const abi of Object.values(abis)) {
        const target: Target = { os: 'linux', arch, node: '', abi };
        expect(recorded.filter((path) => isBinaryOf(path, target)).length, `${arch} ${abi}`).toBe(2);
      }
    }
  });

  it('copies every source that the build compiles', () => {
    const copied = lines.flatMap((line) => /^COPY (?!--)(.+) \S+$/.exec(line)?.[1]?.split(' ') ?? []);
    const { include, exclude } = JSON.parse(read('tsconfig.build.json')) as {
      readonly include: readonly string[];
      readonly exclude: readonly string[];
    };
    const isExcluded = (file: string) => exclude.some((path) => file === path || file.startsWith(`${path}/`));
    const sources = include.flatMap((folder) =>
      readdirSync(at(folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.tsx?$/.test(name))
        .map((name) => join(folder, name))
        .filter((file) => !isExcluded(file)),
    );
    const missing = sources.flatMap((file) =>
      [...read(file).matchAll(/from '(\.\.?\/[^']+)'/g)]
        .map(([, path = '']) => join(file, '..', path))
        .filter((path) => !copied.some((source) => path === source || path.startsWith(`${source}/`)))
        .map((path) => `${file}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('runs as a user without rights, asks whether it is alive, and gets signals itself', () => {
    const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
    expect(last).toContain('USER node');
    expect(last.join('\n')).toMatch(/HEALTHCHECK[\s\S]*\/api\/v1\/health\/live/);
    expect(last).toContain('CMD ["node", "dist/src/main.js"]');
    const env = lines.filter((line) => line.startsWith('ENV ')).flatMap((line) => line.split(' ').slice(1));
    expect(unknown(env.map((pair) => pair.split('=')[0] ?? ''))).toEqual([]);
  });
});

describe('deploy/nginx.conf', () => {
  const conf = read('deploy/nginx.conf').replace(/#.*$/gm, '');

  it.each([
    'proxy_buffering off',
    'proxy_http_version 1.1',
    'proxy_set_header X-Forwarded-For $remote_addr',
    'proxy_set_header Upgrade $http_upgrade',
    'proxy_set_header Connection $connection_header',
    'keepalive_timeout 2s',
    'gzip off',
  ])('says %s', (directive) => {
    expect(conf).toContain(`${directive};`);
  });

  it('knows the hubs of docker-compose.yml, and its blocks are closed', () => {
    const named = [...conf.matchAll(/server (\w+):8000/g)].map((match) => match[1]);
    const groups = [...conf.matchAll(/upstream (\w+) \{/g)].map((match) => match[1]);
    expect(groups).toEqual(['hubs', 'streams', 'changes']);
    expect(named).toEqual(groups.flatMap(() => ['hub1', 'hub2', 'hub3']));
    expect(conf.split('{').length).toBe(conf.split('}').length);
  });

  it('waits long for streams, and for nothing else', () => {
    const [, long = ''] = /location ~ (\S+) \{\s*proxy_read_timeout 2h;/.exec(conf) ?? [];
    const all: readonly RouteDeclaration[] = apiFamilies.flatMap(({ routes }) => Object.values(routes));
    expect(all.some(({ media }) => media === 'text/event-stream')).toBe(true);
    for (const { path, media, method } of all) {
      // An answer of the assistant is never silent for so long.
      expect(new RegExp(long).test(path), path).toBe(media === 'text/event-stream' && method === 'GET');
    }
    expect([...conf.matchAll(/proxy_read_timeout (\w+);/g)].map(([, time]) => time)).toEqual(['60s', '2h']);
  });

  it('never sends a change to a second hub when a first may have begun it', () => {
    // But for events, which are stored once however often they are sent.
    const repeated = [...conf.matchAll(/location ([^{]+) \{[^}]*non_idempotent/g)].map((match) => match[1]);
    expect(repeated).toEqual(['~ ^/(api/)?v1/events$']);
    // nginx holds PUT and DELETE, not POST and PATCH, for safe to repeat.
    expect(conf).toMatch(/if \(\$request_method ~ \^\(PUT\|PATCH\|DELETE\)\$\) \{ return 418; \}/);
    expect(conf).toMatch(/error_page 418 = @change;/);
    for (const name of ['change', 'second_attempt', 'third_attempt']) {
      expect(conf).toMatch(new RegExp(`location @${name} \\{[^@]*(@[^@]*)?proxy_next_upstream off;`));
    }
    for (const name of ['second_attempt', 'third_attempt']) {
      expect(conf).toMatch(new RegExp(`location @${name} \\{[^}]*\\$upstream_bytes_sent [^}]* return 502;`));
    }
  });

  it('repeats PUT and DELETE for values of sessions alone, where the last write counts', () => {
    const [, values = ''] =
      /location ~ (\S+) \{\s*proxy_next_upstream error;\s*proxy_pass http:\/\/hubs;/.exec(conf) ?? [];
    const all: readonly RouteDeclaration[] = apiFamilies.flatMap(({ routes }) => Object.values(routes));
    const repeated = all.filter(({ path, method }) => new RegExp(values).test(path) && method !== 'POST');
    expect(new Set(repeated.map(({ method }) => method))).toEqual(new Set(['GET', 'PUT', 'DELETE']));
    expect(new Set(repeated.map(({ path }) => path))).toEqual(
      new Set(['/api/v1/sessions/{key+}', '/v1/sessions/{key+}']),
    );
  });

  it('finds a hub again that was made anew: names are looked up once, so addresses are fixed', () => {
    const addresses = hubs.map((hub) => {
      const joined = (hub?.networks ?? {}) as { readonly edge?: { readonly ipv4_address?: string } };
      return joined.edge?.ipv4_address;
    });
    expect(new Set(addresses).size).toBe(3);
    expect(addresses).not.toContain(undefined);
  });
});

describe('deploy/reeve.service', () => {
  const unit = read('deploy/reeve.service');

  it('names only settings that the hub reads, and leaves it more time than it takes to drain', () => {
    const pairs = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap((match) => (match[1] ?? '').split(' '));
    expect(unknown(pairs.map((pair) => pair.split('=')[0] ?? ''))).toEqual([]);
    const drain = Number(settings.find(({ name }) => name === 'DRAIN_SECONDS')?.fallback);
    expect(Number(/TimeoutStopSec=(\d+)/.exec(unit)?.[1])).toBeGreaterThan(drain + afterDrain);
  });

  it.each(['DynamicUser=yes', 'NoNewPrivileges=yes', 'ProtectSystem=strict', 'CapabilityBoundingSet='])(
    'says %s',
    (line) => {
      expect(unit.split('\n')).toContain(line);
    },
  );
});
