// The last 24 hours of the hub's health on the System page: charts, and sentences in place of unknown figures.
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { accessible, noFaults, view } from './browser.ts';
import { hubOfFile } from './file-hub.ts';

const { hub, cookie } = await hubOfFile();

const minute = 60_000;
const slot = 5 * minute;
const titles = ['Lag', 'Store', 'Disk', 'Memory'];

const course = (page: Page) => page.getByRole('region', { name: 'Last 24 hours' });
const figure = (page: Page, name: string) => course(page).getByRole('figure', { name, exact: true });
const slider = (page: Page, name: string) => course(page).getByRole('slider', { name, exact: true });

it('draws lag, store, disk and memory since the start of the hub, and lists them as tables', async () => {
  const seen = await view(hub.url, { cookie });
  const { page } = seen;
  await page.goto('/dashboard/admin/system');
  await course(page)
    .getByText(/keeps these figures in its memory, since its start at \d\d:\d\d\.$/)
    .waitFor();
  for (const title of titles) await figure(page, title).waitFor();
  await course(page).getByText('No commits of events in this period.').waitFor();
  await course(page).getByText('A 99th percentile of 100 ms or more is a problem.').waitFor();
  await course(page)
    .getByText(/free, disk space is low\. Below .*iB, only decisions are stored\.$/)
    .waitFor();
  await expect.poll(() => course(page).locator('.plot canvas').count()).toBe(titles.length);
  const now = (name: string) => slider(page, name).getAttribute('aria-valuetext');
  expect(await now('Lag')).toMatch(/^Now: [\d.]+ m?s 99th percentile, [\d.]+ m?s maximum$/);
  expect(await now('Store')).toMatch(/^Now: [\d.]+ [KMG]iB size$/);
  expect(await now('Disk')).toMatch(/^Now: [\d.]+ [KMGT]iB used, [\d.]+ [KMGT]iB free$/);
  expect(await now('Memory')).toMatch(/^Now: [\d.]+ [MG]iB resident$/);
  await accessible(page);
  await figure(page, 'Lag').getByRole('button', { name: 'Show table' }).click();
  for (const title of titles)
    await course(page)
      .getByRole('table', { name: `${title} as a table` })
      .waitFor();
  await accessible(page);
  await figure(page, 'Lag').getByRole('button', { name: 'Show chart' }).click();
  noFaults(seen);
  await seen.context.close();
});

it('has a sentence for each figure that the node does not know, and 288 moments of a whole day', async () => {
  const seen = await view(hub.url, { cookie, width: 360, height: 740 });
  const { page } = seen;
  const last = Math.floor(Date.now() / slot) * slot;
  const points = Array.from({ length: 288 }, (_, n) => ({
    at: new Date(last - (287 - n) * slot).toISOString(),
    ...{ loop_lag_ms: n === 0 ? 120 : 4, loop_lag_max_ms: n === 0 ? 2_500 : 9 },
    ...{ commit_ms: n % 2 === 0 ? 25 : null, store_bytes: null },
    ...{ disk_free_bytes: null, disk_total_bytes: null, memory_bytes: 300 * 2 ** 20 },
  }));
  await page.route('**/api/v1/health/series', (route) =>
    route.fulfill({
      json: {
        node: 'node-7',
        started_at: new Date(last - 3 * 24 * 60 * minute).toISOString(),
        interval_seconds: 300,
        points,
      },
    }),
  );
  await page.route('**/api/v1/health/cluster', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), mode: 'cluster' } });
  });
  await page.goto('/dashboard/admin/system');
  await course(page)
    .getByText('The node node-7 keeps these figures in its memory. Other nodes have their own.')
    .waitFor();
  await course(page)
    .getByText('The node has no figures of the disk: the database servers own their disks.')
    .waitFor();
  await course(page).getByText('The database server does not report its size.').waitFor();
  expect(await figure(page, 'Disk').count()).toBe(0);
  expect(await slider(page, 'Store').getAttribute('aria-valuetext')).toBe('Now: – commits');
  const lag = slider(page, 'Lag');
  expect(await lag.getAttribute('aria-valuemax')).toBe('287');
  await lag.focus();
  await lag.press('Home');
  await expect
    .poll(() => lag.getAttribute('aria-valuetext'))
    .toMatch(/\d\d:\d\d: 120 ms 99th percentile, 2\.5 s maximum$/);
  const width = await page.evaluate('document.documentElement.scrollWidth');
  expect(width).toBe(360);
  await accessible(page);
  noFaults(seen);
  await seen.context.close();
});

it('is for admins', async () => {
  const body = { email: 'member@example.com', password: 'correct horse battery' };
  expect((await hub.call('POST', '/api/v1/users', { cookie, body })).status).toBe(201);
  const seen = await view(hub.url, { cookie: await hub.login(body.email) });
  const { page } = seen;
  await page.goto('/dashboard/admin/system');
  await page.getByText('Only admins can view nodes, shards and metrics.').waitFor();
  expect(await course(page).count()).toBe(0);
  noFaults(seen);
  await seen.context.close();
});
