// Tables of more rows than they load: keys, deployments and audit entries. Each opens, scrolls to its bound and names
// it, and finds rows behind the bound by a filter. Rows of the whole table cost no more than those of its first page.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../adapters/node/clock.ts';
import { openSqlite } from '../../adapters/sqlite/index.ts';
import { countWork } from '../../bench/console/page.ts';
import { aKey, aNote } from '../conformance/fixtures.ts';
import { rowsOfCommit } from '../runs.ts';
import { noFaults, view } from './browser.ts';
import { hubOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await hubOfFile();

const size = 5_000;
/** Every so many rows, one is what the filters ask for: 20 of each table, half of them behind the bound. */
const rareStep = 250;
const rareRows = size / rareStep;
/** Rows in the document: those in sight and a little around them. */
const maxDrawn = 80;
/** Work of one step at the bound ÷ that of one on the first page. In proportion to the rows, it is 20. */
const maxWorkRatio = 4;

beforeAll(async () => {
  expect(
    (await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: library } })).status,
  ).toBe(201);
  for (const env of ['production', 'staging'])
    expect((await hub.call('POST', '/api/v1/bundles/shop/1/deploy', { cookie, body: { env } })).status).toBe(
      201,
    );
  const tenantId = (await hub.call('GET', '/api/v1/environments', { cookie })).body.tenant_id;
  await hub.stop();
  const store = await openSqlite({ path: join(hub.dataDir, 'reeve.db'), clock: systemClock });
  const start = Date.now() - size * 10_000;
  const isRare = (n: number): boolean => n % rareStep === 0;
  const envOf = (n: number) => (isRare(n) ? 'staging' : 'production');
  const [production] = await store.deployments.listCurrent(tenantId, 'production');
  const [staging] = await store.deployments.listCurrent(tenantId, 'staging');
  const notes = Array.from({ length: size }, (_, n) => {
    const action = isRare(n) ? 'key.revoked' : 'key.created';
    return aNote({ tenantId, at: start + n * 10_000, action, summary: `Key ${n} was changed.` });
  });
  const insert = async ({ at: createdAt }: (typeof notes)[number], n: number): Promise<void> => {
    const env = envOf(n);
    await store.keys.create(aKey({ tenantId, env, label: `key ${n}`, createdAt }));
    const current = env === 'staging' ? staging : production;
    if (!current) throw new Error('nothing is deployed');
    const deployment = { ...current, id: randomUUID(), sequence: current.sequence + n + 1, createdAt };
    expect(await store.deployments.deploy(deployment)).toMatchObject({ id: deployment.id });
  };
  // The store takes a thousand writes at once.
  for (let at = 0; at < size; at += 500) {
    const part = notes.slice(at, at + 500);
    await Promise.all([store.audit.append(part), ...part.map((note, i) => insert(note, at + i))]);
  }
  await store.close();
  await hub.start();
}, 60_000);

interface FullTable {
  readonly path: string;
  readonly rows: string;
  /** The same page with a filter that 20 rows pass. */
  readonly narrowed: string;
}

const tables: { readonly [name: string]: FullTable } = {
  keys: { path: '/admin/keys', rows: 'active keys', narrowed: '/admin/keys?env=staging' },
  deployments: { path: '/changes', rows: 'deployments', narrowed: '/changes?env=staging' },
  'audit entries': { path: '/audit', rows: 'entries', narrowed: '/audit?q=action:key.revoked' },
};

const toEnd = `(() => {
  const box = document.querySelector('.table-scroll');
  box.scrollTop = box.scrollHeight;
})()`;

/** Two presses of the wheel and the frames after them, ten times. @returns processor time of the page */
async function workOfScrolling(page: Page, name: string): Promise<number> {
  const work = await countWork(page);
  await page.getByRole('region', { name, exact: true }).hover();
  for (let step = 0; step < 10; step += 1) {
    for (const by of [-300, 300]) {
      await page.mouse.wheel(0, by);
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    }
  }
  return work();
}

/** Loading 20 pages takes long: the others are for the night. */
const choice = rowsOfCommit(Object.keys(tables), 1);

describe(`5,000 rows (SEED=${choice.seed})`, { timeout: 60_000 }, () => {
  it.each(choice.rows)('of %s end at a bound with its sentence, and are found by a filter', async (name) => {
    const { path, rows, narrowed } = tables[name] as FullTable;
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard${path}`);
    const main = page.getByRole('main');
    await main.getByText(/^[\d,]+\+ .*; scroll for more$/).waitFor();
    const list = page.getByRole('region', { name, exact: true });
    const row = list.getByRole('row');
    await row.nth(5).waitFor();
    const first = await workOfScrolling(page, name);
    const lastIndex = async (): Promise<string | null> => {
      await page.evaluate(toEnd);
      expect(await row.count()).toBeLessThan(maxDrawn);
      return row.last().getAttribute('aria-rowindex');
    };
    await expect.poll(lastIndex, { interval: 20 }).toBe('2001');
    await main.getByText(`2,000 ${rows} loaded. For others, narrow the list`, { exact: true }).waitFor();
    expect((await workOfScrolling(page, name)) / first).toBeLessThan(maxWorkRatio);
    await page.goto(`/dashboard${narrowed}`);
    const narrowedCount = new RegExp(`^${rareRows + (name === 'deployments' ? 1 : 0)} ${rows}$`);
    await main.getByText(narrowedCount).waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});
