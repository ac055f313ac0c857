// An inbox with more pending calls than a page of the list: the most urgent come first, all of them can be reached, and
// the sheet of a group reads its calls from the hub.
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();
const { key } = await hub.key(cookie, 'staging');

const groupSize = 230;
const singles = 130;

const askOne = (tool: string, n: number, timeout: number): Promise<string> =>
  ask(
    hub,
    key,
    { tool_name: tool, timeout, contract_name: 'large', tool_args: { amount: 1, currency: 'EUR', n } },
    `agent-${tool}-${n}`,
  );

const askAll = async (calls: number, one: (n: number) => Promise<string>): Promise<string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < calls; n += 10)
    ids.push(...(await Promise.all(Array.from({ length: Math.min(10, calls - n) }, (_, i) => one(n + i)))));
  return ids;
};

let members: string[] = [];
beforeAll(async () => {
  // The call that expires first is the oldest: a list of the newest leaves it out.
  await askOne('urgent', 0, 600);
  members = await askAll(groupSize, (n) => askOne('bulk_refund', n, 3_600 + n));
  await askAll(singles, (n) => askOne(`single_${n}`, n, 10_000 + n * 10));
}, 120_000);

const queue = (page: Page) => page.getByRole('grid', { name: 'Approvals' });

it('opens the call that expires first, counts all, and reaches the last one', {
  timeout: 120_000,
}, async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/inbox');
  await page.getByRole('heading', { name: 'urgent' }).waitFor();
  await page.getByText(`${1 + groupSize + singles} pending calls.`).waitFor();
  await page.getByRole('tab', { name: `Pending ${1 + groupSize + singles}` }).waitFor();
  await queue(page).getByText(`staging ${groupSize}`).waitFor();
  await accessible(page);
  const last = queue(page).getByText(`single_${singles - 1}`, { exact: true });
  await page.locator('#content').hover();
  for (let i = 0; i < 200 && (await last.count()) === 0; i += 1) {
    await page.mouse.wheel(0, 900);
    await page.waitForTimeout(30);
  }
  await last.waitFor();
  // A press during the last turns of the wheel begins on one row and ends on another.
  const top = async () => (await last.boundingBox())?.y;
  await expect
    .poll(async () => {
      const before = await top();
      await page.waitForTimeout(100);
      return (await top()) === before;
    })
    .toBe(true);
  // Rows far from the screen are not in the document.
  expect(await queue(page).locator('.queue-item').count()).toBeLessThan(80);
  await last.click();
  await page.getByRole('heading', { name: `single_${singles - 1}` }).waitFor();
  await page.keyboard.press('k');
  await page.getByRole('heading', { name: `single_${singles - 2}` }).waitFor();
  noFaults(visit);
  await visit.context.close();
});

it('counts the matches of a query with "+" until it has read all of them', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/inbox?q=tool:(bulk_refund,single_*)');
  await page.getByText('Search found 200+ pending calls.').waitFor();
  await page.goto('/dashboard/inbox?q=tool:single_*');
  await page.getByText(`Search found ${singles} pending calls.`).waitFor();
  noFaults(visit);
  await visit.context.close();
});

itAtNight(
  'names failed calls that only the sheet loaded, and shows the error without a selection',
  {
    timeout: 120_000,
  },
  async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.clock.install();
    await page.route('**/api/v1/approvals/*', (route) =>
      route.request().method() === 'PUT'
        ? route.fulfill({ status: 422, json: { error: 'invalid', detail: 'The hub refuses this call.' } })
        : route.continue(),
    );
    // The list stays at its first page; the sheet reads its own.
    await page.route(
      (url) => url.pathname === '/api/v1/approvals' && url.searchParams.has('cursor'),
      (route) =>
        route.fulfill({ status: 422, json: { error: 'invalid', detail: 'The hub refuses this page.' } }),
    );
    await page.goto('/dashboard/inbox?env=staging');
    const bar = page.getByRole('region', { name: 'Bulk decision' });
    const review = queue(page).getByRole('button', { name: `Review ${groupSize}` });
    await review.click();
    await page.getByRole('button', { name: 'Deny 200' }).click();
    await bar.getByText(/^Denying 200 calls/).waitFor();
    await page.clock.fastForward(5_100);
    await page
      .getByText(/^no calls denied, (\d+ failed and still selected, )?\d+ failed and not in the list\.$/)
      .waitFor();
    await bar.getByText('The hub refuses this call.').waitFor();
    const clear = bar.getByRole('button', { name: 'Clear selection' });
    if ((await clear.count()) > 0) await clear.click();
    await bar.getByText('The hub refuses this call.').waitFor();
    await bar.getByRole('button', { name: 'Close' }).click();
    await bar.waitFor({ state: 'hidden' });
    await visit.context.close();
  },
);

it('reviews a group in parts: only the calls that were visible are decided', {
  timeout: 120_000,
}, async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.clock.install();
  await page.goto('/dashboard/inbox?env=staging');
  await queue(page)
    .getByRole('button', { name: `Review ${groupSize}` })
    .click();
  const sheet = page.getByRole('dialog', { name: `Approve 200 of ${groupSize} calls` });
  await sheet.getByText(`200 of ${groupSize} are listed.`).waitFor();
  await accessible(page);
  const send = sheet.getByRole('button', { name: 'Approve 200' });
  expect(await send.isDisabled()).toBe(true);
  await sheet.locator('.read-end').scrollIntoViewIfNeeded();
  await expect.poll(() => send.isEnabled()).toBe(true);
  await sheet.getByRole('button', { name: 'Show more calls' }).click();
  const whole = page.getByRole('dialog', { name: `Approve ${groupSize} calls` });
  // The further calls are to be read, too.
  const sendAll = whole.getByRole('button', { name: `Approve ${groupSize}` });
  await sendAll.waitFor();
  await whole.getByRole('heading', { name: 'Sums' }).scrollIntoViewIfNeeded();
  expect(await sendAll.isDisabled()).toBe(true);
  await page.keyboard.press('Escape');
  await whole.waitFor({ state: 'hidden' });
  await queue(page)
    .getByRole('button', { name: `Review ${groupSize}` })
    .click();
  await sheet.locator('.read-end').scrollIntoViewIfNeeded();
  await expect.poll(() => send.isEnabled()).toBe(true);
  await send.click();
  await page.getByText(/^Approving 200 calls/).waitFor();
  await page.clock.fastForward(5_100);
  await page.getByText('200 calls approved.').waitFor({ timeout: 60_000 });
  const states = await Promise.all(
    [members[0], members[199], members[200]].map((id) =>
      hub.call('GET', `/api/v1/approvals/${id}`, { cookie }),
    ),
  );
  expect(states.map(({ body }) => body.status)).toEqual(['approved', 'approved', 'pending']);
  noFaults(visit);
  await visit.context.close();
});

itAtNight('lists the calls that a person has taken', { timeout: 60_000 }, async () => {
  const id = await askOne('taken_tool', 0, 20_000);
  const me = (await hub.call('GET', '/api/v1/auth/me', { cookie })).body.user_id;
  await hub.call('PUT', `/api/v1/approvals/${id}/assignee`, { cookie, body: { user_id: me } });
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/inbox');
  await page.getByRole('tab', { name: 'Mine' }).click();
  await page.getByRole('heading', { name: 'taken_tool' }).waitFor();
  await expect.poll(() => queue(page).locator('.queue-item').count()).toBe(1);
  await accessible(page);
  await page.keyboard.press('m');
  await page.getByText('No approvals taken').waitFor();
  noFaults(visit);
  await visit.context.close();
});

it('reaches a decision below many pending calls without reading them', async () => {
  const { key: production } = await hub.key(cookie, 'production');
  const askIn = (tool: string): Promise<string> => ask(hub, production, { tool_name: tool }, `agent-${tool}`);
  const id = await askIn('below_all');
  const approved = await hub.call('PUT', `/api/v1/approvals/${id}`, { cookie, body: { approved: true } });
  expect(approved.status).toBe(200);
  await askAll(10, (n) => askIn(`newer_${n}`));
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const requests: URLSearchParams[] = [];
  // The newer calls fill three pages of the list.
  await page.route(/\/api\/v1\/approvals\?.*limit=100/, (route) => {
    const url = new URL(route.request().url());
    requests.push(new URLSearchParams(url.searchParams));
    url.searchParams.set('limit', '3');
    return route.continue({ url: `${url}` });
  });
  await page.goto('/dashboard/inbox?view=decided&env=production');
  const row = page.getByRole('grid', { name: 'Approvals' }).getByRole('row').filter({ hasText: 'below_all' });
  await row.waitFor();
  await page.getByText('1 decision', { exact: true }).waitFor();
  expect(requests.filter((one) => one.has('cursor'))).toEqual([]);
  await page.getByRole('button', { name: 'approved' }).click();
  await expect.poll(() => requests.at(-1)?.get('q')).toBe('is:approved is:decided');
  await row.waitFor();
  noFaults(visit);
  await visit.context.close();
});
