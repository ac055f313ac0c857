// Load on a hub that the suite has not started: consent, credentials, names, and what --clean removes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Admin, adminOf, setUp } from '../../bench/admin.ts';
import { runApproval } from '../../bench/scenarios/approval.ts';
import { parseArguments } from '../../bench/suite/arguments.ts';
import { type Hub, startBenchHub } from '../../bench/suite/hub.ts';
import { checkTarget, cleanRun, readAccess } from '../../bench/suite/remote.ts';
import { root } from '../../bench/suite/root.ts';

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
});
