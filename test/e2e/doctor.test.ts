// `reeve doctor` before a first start, beside a running hub, and behind proxies that break streams.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSecrets } from '../../adapters/node/secrets.ts';
import { freePort } from '../../bench/suite/free-port.ts';
import { doctor as command } from '../../src/hub/commands/doctor.ts';
import { probePath, proofHeader, proofOf } from '../../src/hub/probe.ts';
import { itAtNight } from '../runs.ts';
import { wrongClock } from '../wrong-clock.ts';
import { callCommand } from './command.ts';
import { HubProcess, lines, run } from './process.ts';

interface Finding {
  readonly check: string;
  readonly outcome: string;
  readonly detail: string;
  readonly advice: string | null;
}

const folder = mkdtempSync(join(tmpdir(), 'reeve-doctor-'));
const hub = new HubProcess({ LOG_LEVEL: 'warn' });
beforeAll(() => hub.start());
afterAll(async () => {
  await hub.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Calls the command in this process. */
async function call(env: { readonly [name: string]: string }, [, ...args]: readonly string[]) {
  const { code, out, err } = await callCommand(command, args, { HOST: '127.0.0.1', PORT: '0', ...env });
  return { code, text: err + out };
}

/** @param runCommand `run` starts a process */
async function doctor(
  env: { readonly [name: string]: string },
  args: readonly string[] = [],
  runCommand: typeof call = call,
) {
  const { code, text } = await runCommand(env, ['doctor', '--json', ...args]);
  const result = JSON.parse(lines(text).at(-1) ?? '') as {
    readonly ok: boolean;
    readonly findings: readonly Finding[];
  };
  const outcomes = Object.fromEntries(result.findings.map(({ check, outcome }) => [check, outcome]));
  const detailOf = (check: string) => result.findings.find((one) => one.check === check)?.detail;
  return { code, ...result, outcomes, detailOf };
}

const settings = () => ({ DATA_DIR: hub.dataDir, PORT: String(hub.port) });

/** A proxy's changes to requests. */
interface Fault {
  readonly buffers?: boolean;
  readonly dropsUpgrade?: boolean;
  readonly status?: number;
}

/** A proxy before a port of this machine. */
async function proxyTo(
  port: number,
  fault: Fault,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((incoming, outgoing) => {
    const { upgrade = '', ...rest } = incoming.headers;
    const passed = fault.dropsUpgrade || upgrade === '' ? {} : { upgrade };
    const headers = { ...rest, ...passed, 'x-forwarded-for': '203.0.113.9' };
    const send = (answer: IncomingMessage): void => {
      outgoing.writeHead(fault.status ?? answer.statusCode ?? 500, answer.headers);
      if (!fault.buffers) {
        answer.pipe(outgoing);
        return;
      }
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('end', () => outgoing.end(Buffer.concat(pieces)));
    };
    incoming.pipe(request({ port, path: incoming.url, method: incoming.method, headers }, send));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

const digestOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

describe('reeve doctor', () => {
  it('passes before the first start, and leaves no folder behind', async () => {
    const dataDir = join(folder, 'new');
    const { code, outcomes, detailOf } = await doctor({ DATA_DIR: dataDir, PORT: String(await freePort()) });
    expect([code, outcomes.store, outcomes.base_url, outcomes.event_stream]).toEqual([0, 'ok', 'ok', 'ok']);
    expect(outcomes.websocket).toBe('ok');
    expect(detailOf('hub')).toBe('No hub runs yet: this command answers in its place.');
    expect(readdirSync(folder)).not.toContain('new');
  });

  it('passes beside a running hub, and changes nothing', async () => {
    const cookie = await hub.admin();
    expect(cookie).not.toBe('');
    const before = digestOf(join(hub.dataDir, 'reeve.db'));
    const files = readdirSync(hub.dataDir);
    const { code, outcomes, detailOf } = await doctor(settings(), ['--deep'], run);
    expect([code, outcomes.store, outcomes.secret, outcomes.base_url]).toEqual([0, 'ok', 'ok', 'ok']);
    expect(outcomes.hub_clock).toBe('ok');
    expect([outcomes.event_stream, outcomes.websocket]).toEqual(['ok', 'ok']);
    expect([outcomes.backup, detailOf('hub')]).toEqual(['warning', 'A hub listens.']);
    expect(readdirSync(hub.dataDir)).toEqual(files);
    expect(digestOf(join(hub.dataDir, 'reeve.db'))).toBe(before);
  });

  itAtNight('finds a proxy that buffers, drops upgrades and is not trusted', async () => {
    const { url, server } = await proxyTo(hub.port, { buffers: true, dropsUpgrade: true });
    const { code, outcomes } = await doctor(settings(), ['--url', url]);
    server.close();
    expect(code).toBe(1);
    expect(outcomes).toMatchObject({
      base_url: 'ok',
      event_stream: 'failure',
      websocket: 'warning',
      forwarded_for: 'warning',
    });
  });

  itAtNight('warns of a hub whose clock is wrong', async () => {
    const slow = new HubProcess({ LOG_LEVEL: 'warn', ...wrongClock(-30_000) });
    await slow.start();
    const settingsOfSlow = { DATA_DIR: slow.dataDir, PORT: String(slow.port) };
    const { code, outcomes, detailOf } = await doctor(settingsOfSlow);
    await slow.remove();
    expect([code, outcomes.base_url, outcomes.hub_clock]).toEqual([0, 'ok', 'warning']);
    expect(detailOf('hub_clock')).toMatch(/differs from this machine's by (2[5-9]|30)\d{3} ms/);
  });

  itAtNight('tries a proxy before there is a hub', async () => {
    const port = await freePort();
    const { url, server } = await proxyTo(port, {});
    const { code, outcomes, detailOf } = await doctor({
      DATA_DIR: join(folder, 'later'),
      PORT: String(port),
      BASE_URL: url,
      TRUSTED_PROXIES: '127.0.0.1',
    });
    server.close();
    expect([code, outcomes.event_stream, outcomes.websocket]).toEqual([0, 'ok', 'ok']);
    expect(detailOf('forwarded_for')).toBe('The hub sees the client 203.0.113.9 behind the proxy 127.0.0.1.');
  });

  it('fails where the address leads elsewhere, or nowhere', async () => {
    const { url, server } = await proxyTo(hub.port, { status: 502 });
    const elsewhere = await doctor(settings(), ['--url', url]);
    server.close();
    expect([elsewhere.code, elsewhere.detailOf('base_url')]).toEqual([
      1,
      `${url} answers 502 instead of the hub.`,
    ]);
    // Another address than that of the settings: the hub on this machine is not its subject.
    expect(elsewhere.outcomes).not.toHaveProperty('hub');
    const nowhere = await doctor(settings(), ['--url', `http://127.0.0.1:${await freePort()}`]);
    expect([nowhere.code, nowhere.outcomes.base_url]).toEqual([1, 'failure']);
  });

  it('fails with each wrong setting, another secret, a damaged store and a moved folder', async () => {
    const wrong = await doctor({ ...settings(), LOG_LEVEL: 'loud', PORT: 'x' });
    expect([wrong.code, wrong.findings.length]).toEqual([1, 2]);
    for (const { detail, advice } of wrong.findings) {
      expect(detail).toMatch(/^[A-Z_]+: .+\.$/);
      expect(advice).toMatch(/^Correct it/);
    }
    const other = await doctor({ ...settings(), SECRET_KEY: 'x'.repeat(40) });
    expect([other.code, other.outcomes.secret]).toEqual([1, 'failure']);
    const damaged = mkdtempSync(join(folder, 'damaged-'));
    writeFileSync(join(damaged, 'reeve.db'), 'no database');
    const port = String(await freePort());
    expect((await doctor({ DATA_DIR: damaged, PORT: port })).outcomes.store).toBe('failure');
    const moved = mkdtempSync(join(folder, 'moved-'));
    const mark = { hub_id: 'x', to: 'mongodb://db/reeve', at: '2026-01-01T00:00:00.000Z' };
    writeFileSync(join(moved, 'moved.json'), JSON.stringify(mark));
    const found = await doctor({ DATA_DIR: moved, PORT: port });
    expect(found.detailOf('folder')).toContain('was moved to mongodb://db/reeve at 2026-01-01');
  });

  it('ends with 2 for wrong usage', async () => {
    expect((await run(settings(), ['doctor', '--url', 'hub.example.com'])).code).toBe(2);
    expect((await call(settings(), ['doctor', '--all'])).code).toBe(2);
  });
});

describe('the probe of a hub', () => {
  const ask = (proof?: string) =>
    fetch(hub.url + probePath, { headers: proof === undefined ? {} : { [proofHeader]: proof } });

  it('does not exist for who cannot prove the master secret, or proves it too late', async () => {
    const secrets = createSecrets(readFileSync(join(hub.dataDir, 'secret.key'), 'utf8').trim());
    const now = Date.now();
    const strange = createSecrets('y'.repeat(40));
    const refused = [undefined, '', 'x', proofOf(strange, now), proofOf(secrets, now - 61_000)];
    for (const proof of refused) {
      const answer = await ask(proof);
      expect([proof, answer.status]).toEqual([proof, 404]);
      expect(await answer.json()).toEqual(await (await fetch(`${hub.url}/api/v1/no-such-path`)).json());
    }
    const answer = await ask(proofOf(secrets, now));
    expect(await answer.json()).toMatchObject({ address: '127.0.0.1', protocol: 'http', upgrade: null });
  });
});
