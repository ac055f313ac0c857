// On a telephone, 360 px wide, no page and no panel is wider than the screen; what must be wider scrolls by itself.
import { beforeAll, expect, it } from 'vitest';
import { adminPages, ownPages, pages } from '../../src/dashboard/pages/registry.ts';
import { rowsOfCommit } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { seed } from './seed.ts';

const { hub, cookie } = await tenantOfFile();
let places: readonly string[];

beforeAll(async () => {
  const details = await seed(hub, cookie);
  places = [...[...pages, ...adminPages, ...ownPages].map(({ path }) => path), ...Object.values(details)];
});

/** Elements that are too wide, by their class, with both widths. */
const tooWide = `[...document.querySelectorAll('html, main')]
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => (one.className || one.tagName) + ' ' + one.scrollWidth + ' > ' + one.clientWidth)`;

it('every page and panel fits 360 px', { timeout: 120_000 }, async () => {
  const visit = await view(hub.url, { cookie, width: 360, height: 740 });
  const { page } = visit;
  const wide: string[] = [];
  const { rows, seed: choice } = rowsOfCommit(places, 6);
  for (const place of rows) {
    await page.goto(`/dashboard${place}`);
    await page.locator('main h1').first().waitFor();
    if (/^\/(?:agents|contracts|compositions|bundles|rulesets|runs|events)\/./.test(place))
      await page.locator('.thing-page section, article').first().waitFor();
    await expect.poll(() => page.locator('[aria-busy=true]').count(), { timeout: 20_000 }).toBe(0);
    await page.getByRole('status', { name: 'Live', exact: true }).waitFor();
    for (const word of ['Live', 'Stale since 28 Nov 23:45']) {
      await page.evaluate(`document.querySelector('.live').lastChild.textContent = '${word}'`);
      for (const one of (await page.evaluate(tooWide)) as string[]) wide.push(`${place}, ${word}: ${one}`);
    }
  }
  expect(wide, `SEED=${choice}`).toEqual([]);
  noFaults(visit);
  await visit.context.close();
});

it('has room for a finger on every button of the top bar, which stand beside each other', async () => {
  const visit = await view(hub.url, { cookie, width: 360, height: 740 });
  const { page } = visit;
  await page.goto('/dashboard/');
  const bar = page.getByRole('banner');
  await bar.getByText('Live', { exact: true }).waitFor();
  let end = 0;
  for (const one of await bar.locator('select, .live, button:visible').all()) {
    const { x = 0, width = 0, height = 0 } = (await one.boundingBox()) ?? {};
    expect(x).toBeGreaterThanOrEqual(end);
    end = x + width;
    if ((await one.getAttribute('role')) === 'status') continue;
    expect(width).toBeGreaterThanOrEqual(44);
    expect(height).toBeGreaterThanOrEqual(44);
  }
  expect(end).toBeLessThanOrEqual(360);
  noFaults(visit);
  await visit.context.close();
});

it('shows rows as cards, which are ordered by a choice and opened anywhere', async () => {
  const visit = await view(hub.url, { cookie, width: 360, height: 740 });
  const { page } = visit;
  await page.goto('/dashboard/fleet?view=agents');
  const table = page.getByRole('grid', { name: 'Agents' });
  await table.getByRole('link', { name: 'shop-agent-0' }).waitFor();
  const room = page.getByRole('region', { name: 'agents' });
  expect(await room.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
  await accessible(page);
  await page.getByLabel('Order').selectOption('Agent, descending');
  const first = table.getByRole('row').filter({ hasText: 'shop-agent' }).first();
  await first.filter({ hasText: 'shop-agent-5' }).waitFor();
  // Beside its name, where nothing of its own can be pressed.
  const { width = 0, height = 0 } = (await first.boundingBox()) ?? {};
  await first.click({ position: { x: width / 2, y: height - 6 } });
  await page.getByRole('heading', { name: 'Agent shop-agent-5', level: 1 }).waitFor();
  noFaults(visit);
  await visit.context.close();
});
