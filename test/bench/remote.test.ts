// Load on a hub that the suite has not started: consent, credentials, names, and what --clean removes.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Admin, adminOf, setUp } from '../../bench/admin.ts';
import { runApproval } from '../../bench/scenarios/approval.ts';
import { Approver } from '../../bench/suite/approver.ts';
import { parseArguments } from '../../bench/suite/arguments.ts';
import { type Hub, startBenchHub } from '../../bench/suite/hub.ts';
import { checkTarget, cleanRun, readAccess } from '../../bench/suite/remote.ts';
import { parseResults } from '../../bench/suite/results.ts';
import { root } from '../../bench/suite/root.ts';
import { certificate, certificateKey } from '../certificate.ts';
import { itAtNight } from '../runs.ts';
import { benchProgram } from './program.ts';

describe('a hub by --url', () => {
  it('is loaded only with consent for its host, unless it is this machine', () => {
    for (const url of ['http://127.0.0.1:8080', 'http://localhost:8080', 'http://[::1]:8080']) {
      expect(() => checkTarget(url, null)).not.toThrow();
    }
    const url = 'https://hub.example.com';
    expect(() => checkTarget(url, null)).toThrow('--yes-load hub.example.com');
    expect(() => checkTarget(url, 'other.example.com')).toThrow('--yes-load hub.example.com');
    expect(() => checkTarget(url, 'hub.example.com')).not.toThrow();
    expect(() => checkTarget('hub.example.com', 'hub.example.com')).toThrow(
      '--url takes the address of a hub',
    );
  });

  it('takes credentials from the environment alone', () => {
    expect(readAccess({ REEVE_BENCH_KEYS: 'a,b' })).toEqual({
      keys: ['a', 'b'],
      email: null,
      password: null,
    });
    expect(() => readAccess({ REEVE_BENCH_EMAIL: 'a@example.com' })).toThrow('REEVE_BENCH_PASSWORD');
    expect(() => readAccess({ REEVE_BENCH_PASSWORD_FILE: '/absent/password' })).toThrow(
      'The file of REEVE_BENCH_PASSWORD_FILE cannot be read: ENOENT',
    );
  });

  it('may use TLS, also for the streams of approvals', async () => {
    const streams: http.ServerResponse[] = [];
    let approvals = 0;
    const server = https.createServer({ cert: certificate, key: certificateKey }, (request, response) => {
      request.resume();
      if (request.url?.startsWith('/api/v1/stream')) {
        streams.push(response);
        response.writeHead(200).write(': connected\n\n');
      } else if (request.method === 'POST') response.end(`{"id":"${approvals++}"}`);
      else {
        const id = request.url?.split('/').at(-1);
        for (const stream of streams) stream.write(`{"type":"approval_decided","approval_id":"${id}"}\n\n`);
        response.end('{}');
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const folder = mkdtempSync(join(tmpdir(), 'reeve-bench-test-'));
    writeFileSync(join(folder, 'certificate.pem'), certificate);
    process.env.NODE_EXTRA_CA_CERTS = join(folder, 'certificate.pem');
    const approver = new Approver();
    delete process.env.NODE_EXTRA_CA_CERTS;
    try {
      const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { latencies } = await approver.whole({
        origins: { request: origin, decide: origin, stream: origin },
        env: 'production',
        keys: ['key'],
        cookie: 'a=b',
        perSecond: 50,
        seconds: 0.1,
      });
      expect(decodeFromCompressedBase64(latencies).totalCount).toBe(5);
    } finally {
      approver.stop();
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('a run on a hub of others', () => {
  let hub: Hub;
  let admin: Admin;
  const credentials = {
    REEVE_BENCH_EMAIL: 'bench@example.com',
    REEVE_BENCH_PASSWORD: 'benchmark benchmark',
  };
  beforeAll(async () => {
    hub = await startBenchHub({ folder: root });
    admin = await setUp(hub.url);
    await adminOf(hub.url).login('bench@example.com');
    await admin.newKey();
    Object.assign(process.env, credentials);
  }, 60_000);
  afterAll(async () => {
    for (const name of Object.keys(credentials)) delete process.env[name];
    await hub.stop();
  });
  const labels = async (): Promise<string[]> =>
    (await admin.call<readonly { readonly label: string }[]>('GET', '/api/v1/keys')).map(
      ({ label }) => label,
    );

  it('measures no process, names what it makes, and --clean removes its keys alone', async () => {
    const args = parseArguments(['approval', '--url', hub.url, '--rounds', '1']);
    const { load, figures } = await runApproval({
      ...args,
      seconds: 0.2,
      hub: root,
      report: () => undefined,
    });
    expect(load).toMatchObject({ hub_cores: null, hub_rss_bytes: null });
    expect(figures.map(({ id }) => id)).toEqual(['approval.decision_p99', 'approval.whole_p99']);
    for (const { median, ratio } of figures)
      expect([median, ratio].every((value) => (value ?? 0) > 0)).toBe(true);
    const runName = (await labels()).find((label) => label !== 'bench') ?? '';
    expect(runName).toMatch(/^bench-[0-9a-f]{8}$/);
    const agents = await admin.call<readonly { readonly agent_id: string }[]>(
      'GET',
      '/api/v1/agent-registrations',
    );
    expect(agents.length).toBeGreaterThan(0);
    expect(agents.filter(({ agent_id }) => !agent_id.startsWith(`${runName}-`))).toEqual([]);
    await expect(cleanRun(admin, 'bench')).rejects.toThrow('--clean takes the name of a run');
    expect(await cleanRun(admin, runName)).toBe(1);
    expect(await labels()).toEqual(['bench']);
  }, 60_000);

  itAtNight(
    'needs keys alone for ingest, and leaves out what the checkout cannot say of the hub',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'reeve-bench-test-'));
      const file = join(folder, 'ingest.json');
      const key = await admin.newKey();
      const env = { PATH: process.env.PATH, REEVE_BENCH_KEYS: key };
      const sizes = ['--rounds', '1', '--seconds', '1', '--rows', '0'];
      const run = (name: string) =>
        promisify(execFile)(
          process.execPath,
          [...benchProgram, name, '--url', hub.url, ...sizes, '--json', file],
          { cwd: root, env },
        ).catch((error: unknown) => error as { readonly code: number; readonly stderr: string });
      try {
        expect(await run('ingest')).toMatchObject({ code: 3 });
        const { commit, versions, scenarios } = parseResults(readFileSync(file, 'utf8'));
        expect(commit).toEqual({ sha: null, dirty: null });
        expect(Object.keys(versions)).not.toContain('reeve');
        expect(scenarios[0]?.parameters).toMatchObject({ url: hub.url, keys: 1 });
        expect(scenarios[0]?.parameters).not.toHaveProperty('tenants');
        expect(scenarios[0]?.figures.find(({ id }) => id === 'ingest.rate')?.median).toBeGreaterThan(0);
        const refusal = await run('approval');
        expect(refusal).toMatchObject({ code: 2 });
        expect(refusal.stderr.trim().split('\n').at(-1)).toContain(
          'This needs a login: set REEVE_BENCH_EMAIL',
        );
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    60_000,
  );
});
