// Alerts by their real causes at an embedded hub: what it serves to Prometheus before and after each cause, judged by
// the rules as they are shipped. test/cluster/alerts.test.ts has those of a cluster.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../adapters/sqlite/database.ts';
import { expectAlert, held, moving, type Scrape, scrape, scrapeToken, sumOf } from '../prometheus/alerts.ts';
import { type Receiver, startReceiver } from '../receiver.ts';
import { isNightly } from '../runs.ts';
import { canMount, SmallDisk } from '../small-disk.ts';
import { wrongClock } from '../wrong-clock.ts';
import { HubProcess, run } from './process.ts';
import { SseClient } from './sse.ts';

const mebibyte = 1 << 20;
const operatorToken = 'operator-token-of-at-least-32-characters';
const disk = canMount ? new SmallDisk(1_300) : null;
const place = disk === null ? {} : { DATA_DIR: join(disk.folder, 'data') };
const settings = {
  METRICS_TOKEN: scrapeToken,
  OPERATOR_TOKEN: operatorToken,
  LOG_LEVEL: 'warn',
  RATE_LIMIT_MAX_ATTEMPTS: '100000',
  APPROVALS_PER_MINUTE: '100000',
  ALLOW_PRIVATE_OUTBOUND: 'true',
  DISK_RESERVE_BYTES: String(1_000 * mebibyte),
};
const hub = new HubProcess({ ...settings, ...place });
const dataDir = disk === null ? hub.dataDir : join(disk.folder, 'data');
let receiver: Receiver;
let cookie = '';
let key = '';
/** Before any cause. */
let calm: Scrape;

beforeAll(async () => {
  if (disk !== null) mkdirSync(dataDir, { mode: 0o700 });
  await hub.start();
  cookie = await hub.admin();
  key = (await hub.key(cookie)).key;
  receiver = await startReceiver((_, response) => response.writeHead(400).end());
  await send();
  calm = await scrape(hub);
});
afterAll(async () => {
  await receiver?.close();
  await hub.remove();
  disk?.remove();
});

let sent = 0;
const send = () => {
  const event = { agent_id: 'a', tool_name: 't', verdict: 'call_allowed', mode: 'enforce' };
  return hub.call('POST', '/api/v1/events', {
    key,
    body: { events: [{ ...event, call_id: `call-${sent++}` }] },
  });
};
const times = (count: number, act: () => Promise<unknown>) => Promise.all(Array.from({ length: count }, act));

const ask = async (timeout: number, ownKey = key) => {
  const body = { tool_name: 'send', message: 'May it?', timeout };
  const { status } = await hub.call('POST', '/api/v1/approvals', { key: ownKey, agent: `a-${sent++}`, body });
  expect(status).toBe(201);
};

/** The hub's figures once the sum of these series is so high. */
async function scrapeWith(series: string, atLeast: number, from = hub): Promise<Scrape> {
  let current = calm;
  await expect
    .poll(
      async () => {
        current = await scrape(from);
        return sumOf(current, series);
      },
      { timeout: 30_000, interval: 250 },
    )
    .toBeGreaterThanOrEqual(atLeast);
  return current;
}

it('or in a cluster, each alert has its cause', () => {
  const file = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const alerts = [...file('deploy/prometheus/rules.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const tests = file('test/e2e/alerts.test.ts') + file('test/cluster/alerts.test.ts');
  expect(alerts.length).toBeGreaterThan(11);
  expect(alerts.filter((name) => !tests.includes(`expectAlert('${name}'`))).toEqual([]);
});

it('ReeveBackupOld: nobody wrote a back-up for more than a day', async () => {
  const halfHours = 30;
  await run({ DATA_DIR: dataDir }, ['backup', join(hub.dataDir, '..', 'back-up')]);
  const fresh = await scrape(hub);
  expect(sumOf(fresh, 'reeve_last_backup_timestamp_seconds')).toBeGreaterThan(calm.at - 60);
  await expectAlert('ReeveBackupOld', { quiet: held(fresh, 50), cause: held(fresh, 8) }, halfHours);
  if (isNightly)
    await expectAlert('ReeveBackupOld', { quiet: held(fresh, 50), cause: held(calm, 8) }, halfHours);
});

it('ReeveDeadJobs: a channel refuses notifications', async () => {
  const own = (await hub.key(cookie, 'staging')).key;
  const channel = {
    name: 'hook',
    channel_type: 'webhook',
    config: { url: `${receiver.url}/hook`, secret: 's' },
  };
  const added = await hub.call('POST', '/api/v1/notifications/channels', { cookie, body: channel });
  expect(added.status).toBe(201);
  await ask(600, own);
  const refused = await scrapeWith('reeve_deliveries_total{channel_type="webhook",outcome="dead"}', 1);
  await expectAlert('ReeveDeadJobs', { quiet: held(calm, 30), cause: held(refused, 30) });
  await hub.call('DELETE', `/api/v1/notifications/channels/${added.body.id}`, { cookie });
});

it('ReeveApprovalsWaiting, ReeveApprovalsTimeOut: nobody decides', async () => {
  const own = (await hub.key(cookie, 'development')).key;
  await times(21, () => ask(3600));
  await times(8, () => ask(1, own));
  const waiting = await scrapeWith('reeve_approvals_pending{env="production"}', 21);
  const ended = await scrapeWith('reeve_approvals_total{env="development",outcome="timeout"}', 8);
  await expectAlert('ReeveApprovalsWaiting', { quiet: held(calm, 30), cause: held(waiting, 30) });
  await expectAlert('ReeveApprovalsTimeOut', { quiet: held(calm, 70), cause: held(ended, 30) });
});

it('ReeveLoginFailures: somebody guesses a credential', async () => {
  const guess = () => ({
    headers: { Authorization: `Bearer ${operatorToken.replace('o', String(sent++))}` },
  });
  await times(60, async () => {
    expect((await hub.call('GET', '/api/v1/operator/tenants', guess())).status).toBe(401);
  });
  const guessed = await scrape(hub);
  await expectAlert('ReeveLoginFailures', { quiet: held(calm, 30), cause: held(guessed, 30) });
});

it('ReeveStreamsFall: most agents lose their streams', async () => {
  const headers = { Authorization: `Bearer ${key}` };
  const streams = await Promise.all(
    Array.from({ length: 24 }, (_, i) =>
      SseClient.open(`${hub.url}/api/v1/stream?env=production`, {
        ...headers,
        'X-Service-Agent-Id': `a-${i}`,
      }),
    ),
  );
  const whole = await scrapeWith('reeve_streams{kind="agent"', 24);
  for (const left of [11, 0]) {
    for (const stream of streams.slice(left)) stream.close();
    let few = whole;
    await expect
      .poll(
        async () => {
          few = await scrape(hub);
          return sumOf(few, 'reeve_streams{kind="agent"');
        },
        { timeout: 30_000 },
      )
      .toBe(left);
    await expectAlert('ReeveStreamsFall', { quiet: held(whole, 30), cause: held(few, 30) });
  }
});

describe.skipIf(disk === null)('a disk that fills up', () => {
  it('ReeveDiskFillsUp, ReeveDiskLow, ReeveIngestFailing', async () => {
    const [roomy, accepted] = [await scrape(hub), await send()];
    expect(accepted.status).toBe(200);
    disk?.fill(990 * mebibyte);
    await expect.poll(async () => (await send()).status, { timeout: 30_000 }).toBe(503);
    const full = await scrape(hub);
    await times(5, send);
    const refusing = await scrape(hub);
    await expectAlert('ReeveDiskFillsUp', {
      quiet: held(roomy, 70),
      cause: moving(roomy, full, 120, 'whole'),
    });
    await expectAlert('ReeveDiskLow', { quiet: held(roomy, 30), cause: held(full, 30) });
    await expectAlert('ReeveIngestFailing', { quiet: held(roomy, 30), cause: moving(full, refusing, 30) });
    disk?.drain();
  });
});

it('ReeveDown: the hub is killed', async () => {
  const alive = await scrape(hub);
  await hub.kill();
  await expectAlert('ReeveDown', { quiet: held(alive, 30), cause: held(await scrape(hub), 30) });
});

it('ReeveAuditHeadOld: a workspace has no active signing key for hours', async () => {
  const db = new Database(join(dataDir, 'reeve.db'));
  db.exec('UPDATE signing_keys SET active = 0');
  db.close();
  const later = new HubProcess({ ...settings, ...wrongClock(6 * 3_600_000), DATA_DIR: dataDir });
  try {
    await later.start();
    // A hub that has just started reads this figure after its first answer. Where a head covers all entries before, the
    // oldest one is that of an approval above, which ended within the first hour.
    const unsigned = await scrapeWith('reeve_audit_head_age_seconds', 4 * 3_600, later);
    await expectAlert('ReeveAuditHeadOld', { quiet: held(calm, 30), cause: held(unsigned, 30) });
  } finally {
    await later.remove();
  }
});
