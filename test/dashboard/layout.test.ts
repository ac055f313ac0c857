// Parts of the page that a person moves: the border between a list and its detail, the columns of a table, and the
// cards of the inbox on a phone.
import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

const { hub, cookie, key } = await tenantWithKey();

beforeAll(async () => {
  for (const tool of ['first_tool', 'second_tool', 'third_tool']) await ask(hub, key, { tool_name: tool });
  const events = [{ call_id: '1', agent_id: 'agent-1', tool_name: 'read_file', verdict: 'call_denied' }];
  expect((await hub.call('POST', '/api/v1/events', { key, body: { events } })).status).toBe(200);
});

const widthOf = async (what: Locator): Promise<number> => Math.round((await what.boundingBox())?.width ?? 0);

/** Drags the middle of an element. */
async function drag(page: Page, what: Locator, distance: number): Promise<void> {
  const { x, y, width, height } = (await what.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width / 2 + distance / 2, y + height / 2);
  await page.mouse.move(x + width / 2 + distance, y + height / 2);
  await page.mouse.up();
}

it('moves the border of the peek by drag and by keys, within its limits, and remembers it', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'read_file' }).click();
  const peek = page.getByRole('complementary', { name: 'Event', exact: true });
  const border = page.getByRole('separator', { name: 'Width of the peek' });
  const valueNow = async () => Number(await border.getAttribute('aria-valuenow'));
  await expect.poll(() => widthOf(peek)).toBe(480);
  await drag(page, border, -100);
  await expect.poll(() => widthOf(peek)).toBe(580);
  await expect.poll(valueNow).toBe(580);
  await border.press('ArrowRight');
  await expect.poll(() => widthOf(peek)).toBe(564);
  await border.press('End');
  await expect.poll(() => widthOf(peek)).toBe(320);
  await border.press('Home');
  const max = Number(await border.getAttribute('aria-valuemax'));
  await expect.poll(() => widthOf(peek)).toBe(max);
  await expect.poll(() => widthOf(page.getByRole('main'))).toBeGreaterThanOrEqual(320);
  await border.press('ArrowRight');
  await expect.poll(valueNow).toBe(max - 16);
  await accessible(page);
  await page.reload();
  await expect.poll(() => widthOf(peek)).toBe(max - 16);
  // A smaller window has room for both sides all the same.
  await page.setViewportSize({ width: 1_000, height: 900 });
  await expect.poll(() => widthOf(page.getByRole('main'))).toBeGreaterThanOrEqual(320);
  await page.setViewportSize({ width: 1_440, height: 900 });
  await border.dblclick();
  await expect.poll(() => widthOf(peek)).toBe(480);
  noFaults(visit);
  await visit.context.close();
});

itAtNight('moves the border of the inbox', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/inbox');
  const list = page.getByRole('grid', { name: 'Approvals' });
  const border = page.getByRole('separator', { name: 'Width of the list' });
  await expect.poll(() => widthOf(list)).toBe(380);
  await border.press('ArrowRight');
  await expect.poll(() => widthOf(list)).toBe(396);
  await drag(page, border, 100);
  await expect.poll(() => widthOf(list)).toBe(496);
  await accessible(page);
  await page.reload();
  await expect.poll(() => widthOf(list)).toBe(496);
  noFaults(visit);
  await visit.context.close();
});

itAtNight('moves the border of the filters beside the calls', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  const filters = page.getByRole('complementary', { name: 'Filters' });
  const border = page.getByRole('separator', { name: 'Width of the filters' });
  await expect.poll(() => widthOf(filters)).toBe(220);
  await border.press('ArrowRight');
  await expect.poll(() => widthOf(filters)).toBe(236);
  await border.press('Home');
  await expect.poll(() => widthOf(filters)).toBe(160);
  // Without room for both, the list keeps its column.
  await page.setViewportSize({ width: 1_000, height: 900 });
  await expect.poll(() => widthOf(page.getByRole('region', { name: 'events' }))).toBeGreaterThan(400);
  await accessible(page);
  noFaults(visit);
  await visit.context.close();
});

/** Pins a column, or unpins it. */
async function pin(page: Page, table: string, column: string): Promise<void> {
  await page.getByRole('button', { name: `Columns for ${table}` }).click();
  await page.getByRole('menuitem', { name: 'Pinned columns' }).click();
  await page
    .getByRole('menu', { name: 'Pinned columns' })
    .getByRole('menuitemcheckbox', { name: column })
    .click();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'hidden' });
}

/** The role of the cell whose content is at the middle of an element. */
const roleAtMiddle = (what: Locator): Promise<string | null | undefined> =>
  what.evaluate((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    const top = document.elementFromPoint(x + width / 2, y + height / 2);
    return top?.closest('[role="columnheader"], [role$="cell"]')?.role;
  });

it('cuts an id in the middle where its column is too narrow, and has the query of Explore before its buttons', async () => {
  const long = `checkout-of-the-european-shop-in-production-${'0'.repeat(30)}-7`;
  const events = [{ call_id: '2', agent_id: long, tool_name: 'a_tool', verdict: 'call_allowed' }];
  expect((await hub.call('POST', '/api/v1/events', { key, body: { events } })).status).toBe(200);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  const row = page.getByRole('grid', { name: 'Events' }).getByRole('row').filter({ hasText: 'a_tool' });
  /** True if the end of the id stands over its text. */
  const isCut = (text: string) =>
    row
      .getByText(text, { exact: true })
      .locator('..')
      .evaluate((id) => {
        const { right, top, height } = id.getBoundingClientRect();
        return id.ownerDocument.elementFromPoint(right - 4, top + height / 2) === id;
      });
  await expect.poll(() => isCut(long)).toBe(true);
  expect(await isCut('a_tool')).toBe(false);
  expect(await row.getByRole('gridcell', { name: long, exact: true }).count()).toBe(1);
  const edges = async () => {
    const query = await page.getByRole('combobox', { name: 'Query' }).boundingBox();
    const group = await page.getByLabel('Group by').boundingBox();
    return { left: [query?.x ?? 0, group?.x ?? 0], top: [query?.y ?? 0, group?.y ?? 0] } as const;
  };
  const { left } = await edges();
  expect(left[0]).toBeLessThan(left[1] ?? 0);
  await page.setViewportSize({ width: 360, height: 740 });
  await expect
    .poll(async () => (await edges()).top.map(Math.round))
    .toSatisfy(([query, group]) => query + 30 < group);
  noFaults(visit);
  await visit.context.close();
});

itAtNight(
  'changes the widths of columns by drag and by keys, keeps pinned ones in sight, and remembers both',
  async () => {
    // More calls than fit on a page, of another agent.
    const others = Array.from({ length: 60 }, (_, n) => ({
      ...{ call_id: `other-${n}`, agent_id: 'agent-2', tool_name: 'list_files', verdict: 'call_allowed' },
      timestamp: new Date(Date.now() - 60_000).toISOString(),
    }));
    expect((await hub.call('POST', '/api/v1/events', { key, body: { events: others } })).status).toBe(200);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/explore');
    const table = page.getByRole('grid', { name: 'Events' });
    const head = (name: string) => table.getByRole('columnheader', { name, exact: true });
    const pinAgent = () => pin(page, 'events', 'Agent');
    await table.getByRole('link', { name: 'read_file' }).waitFor();
    const before = await widthOf(head('Tool'));
    // Neither a press without a move nor a drag that the browser cancels is a choice.
    const hasWidths = () => page.evaluate(() => Object.values(localStorage).join().includes('"tool"'));
    const edge = head('Tool').locator('.column-edge');
    await drag(page, edge, 0);
    await edge.hover();
    await page.mouse.down();
    await page.mouse.move(900, 400);
    await expect.poll(() => widthOf(head('Tool'))).not.toBe(before);
    await edge.dispatchEvent('pointercancel');
    await page.mouse.up();
    await expect.poll(() => widthOf(head('Tool'))).toBe(before);
    expect(await hasWidths()).toBe(false);
    await drag(page, head('Tool').locator('.column-edge'), 90);
    await expect.poll(() => widthOf(head('Tool'))).toBeCloseTo(before + 90, -1);
    const wide = await widthOf(head('Tool'));
    await head('Tool').getByRole('button').press('Alt+ArrowLeft');
    await expect.poll(() => widthOf(head('Tool'))).toBe(wide - 16);
    await expect.poll(hasWidths).toBe(true);
    // A change of the width sorts nothing.
    expect(await table.locator('[aria-sort]').count()).toBe(0);
    await page.reload();
    await expect.poll(() => widthOf(head('Tool'))).toBe(wide - 16);
    await pinAgent();
    const names = async () => (await table.getByRole('columnheader').allTextContents()).slice(0, 2);
    await expect.poll(names).toEqual(['Time', 'Agent']);
    await drag(page, head('Tool').locator('.column-edge'), 900);
    const scroll = page.getByRole('region', { name: 'events', exact: true });
    const place = async () => Math.round((await head('Agent').boundingBox())?.x ?? 0);
    const left = await place();
    await scroll.evaluate((box) => box.scrollBy(600, 0));
    await expect.poll(() => scroll.evaluate((box) => box.scrollLeft)).toBeGreaterThan(300);
    await expect.poll(place).toBe(left);
    const cell = table.getByRole('gridcell', { name: 'agent-1', exact: true });
    expect(Math.round((await cell.boundingBox())?.x ?? 0)).toBe(left);
    await scroll.evaluate((box) => box.scrollBy(-600, 300));
    await expect.poll(() => scroll.evaluate((box) => box.scrollTop)).toBeGreaterThan(200);
    await expect.poll(() => roleAtMiddle(head('Agent'))).toBe('columnheader');
    await scroll.evaluate((box) => box.scrollTo(0, 0));
    await accessible(page);
    await page.reload();
    await expect.poll(names).toEqual(['Time', 'Agent']);
    await head('Tool').locator('.column-edge').dblclick();
    await pinAgent();
    await expect.poll(names).not.toEqual(['Time', 'Agent']);
    await expect.poll(() => widthOf(head('Tool'))).toBe(before);
    noFaults(visit);
    await visit.context.close();
  },
);

itAtNight(
  'keeps the checkboxes of pinned rows in sight, and changes the width of a column without a sort',
  async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/fleet?view=agents');
    const table = page.getByRole('grid', { name: 'Agents' });
    const calls = table.getByRole('columnheader', { name: 'Calls', exact: true });
    await table.getByRole('link', { name: 'agent-1', exact: true }).waitFor();
    const before = await widthOf(calls);
    await calls.press('Alt+ArrowRight');
    await expect.poll(() => widthOf(calls)).toBe(before + 16);
    await drag(page, calls.locator('.column-edge'), 900);
    await pin(page, 'agents', 'Environment');
    const boxes = [
      table.getByRole('checkbox', { name: 'Select all loaded rows' }),
      table.getByRole('checkbox', { name: 'Select agent-1', exact: true }),
    ];
    const places = () => Promise.all(boxes.map(async (box) => (await box.boundingBox())?.x));
    const initial = await places();
    const scroll = page.getByRole('region', { name: 'agents', exact: true });
    await scroll.evaluate((box) => box.scrollBy(600, 0));
    await expect.poll(() => scroll.evaluate((box) => box.scrollLeft)).toBeGreaterThan(300);
    await expect.poll(places).toEqual(initial);
    for (const box of boxes) await box.click({ trial: true });
    await scroll.evaluate((box) => box.scrollTo(0, 0));
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  },
);

itAtNight('opens the next and the previous call by a swipe on a phone, and decides none', async () => {
  const visit = await view(hub.url, { cookie, width: 360, height: 740, touch: true });
  const { page } = visit;
  await page.goto('/dashboard/inbox');
  const place = page.getByRole('navigation', { name: 'Pending approvals' });
  await place.getByText('1 of 3').waitFor();
  const session = await visit.context.newCDPSession(page);
  const swipe = async (distance: number, down = 0): Promise<void> => {
    const card = await page.getByRole('article').boundingBox();
    const from = { x: 180, y: (card?.y ?? 0) + 40 };
    const touch = (
      type: 'touchStart' | 'touchMove' | 'touchEnd',
      ...touchPoints: { x: number; y: number }[]
    ) => session.send('Input.dispatchTouchEvent', { type, touchPoints });
    await touch('touchStart', from);
    await touch('touchMove', { x: from.x + distance / 2, y: from.y + down / 2 });
    await touch('touchMove', { x: from.x + distance, y: from.y + down });
    await touch('touchEnd');
  };
  await swipe(-150);
  await place.getByText('2 of 3').waitFor();
  await swipe(-150);
  await place.getByText('3 of 3').waitFor();
  await swipe(-150);
  await swipe(-30);
  await swipe(100, 90);
  await place.getByText('3 of 3').waitFor();
  await swipe(150);
  await place.getByText('2 of 3').waitFor();
  const { body } = await hub.call('GET', '/api/v1/approvals?status=pending', { cookie });
  expect(body).toHaveLength(3);
  await accessible(page);
  noFaults(visit);
  await visit.context.close();
});

it('has rows of 44 pixels for fingers', async () => {
  const visit = await view(hub.url, { cookie, width: 1440, touch: true });
  const { page } = visit;
  await page.goto('/dashboard/explore');
  const row = page.getByRole('grid', { name: 'Events' }).getByRole('row').nth(1);
  await row.getByRole('link').waitFor();
  expect((await row.boundingBox())?.height).toBe(44);
  noFaults(visit);
  await visit.context.close();
});
