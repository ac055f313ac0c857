// Bad days on every page: the hub refuses what fills it, asks to wait, or is busy. Each says so in words, keeps what it
// showed, and goes on by itself or by a press. A proxy before a real hub answers in its place.
import type { Locator, Page, WebSocketRoute } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminPages, ownPages, pageAt, pages } from '../../src/dashboard/pages/registry.ts';
import { rowsOfCommit } from '../runs.ts';
import { accessible, ask, noFaults, type View, view } from './browser.ts';
import { type Row, rowsOf } from './every-page.ts';
import { hubWithKey } from './file-hub.ts';
import { proxyOf } from './proxy.ts';
import { seed } from './seed.ts';

const { hub, cookie, key } = await hubWithKey();
const proxy = await proxyOf(hub);
const recordIds = { approval: '', event: '', channel: '' };

let visit: View;
let page: Page;
let stream: WebSocketRoute | null = null;

beforeAll(async () => {
  await seed(hub, cookie);
  await ask(hub, key, { tool_name: 'waits_long', timeout: 3_600 }, 'patient-agent');
  const get = async (path: string) => (await hub.call('GET', path, { cookie })).body;
  recordIds.approval = (await get('/api/v1/approvals?status=denied'))[0].id;
  recordIds.event = (await get('/api/v1/events?tool_name=deploy&limit=1'))[0].id;
  recordIds.channel = (await get('/api/v1/notifications/channels'))[0].id;
  const rule = { pattern: 'ruled-*', priority: 10, bundle_name: 'shop', env: 'production' };
  const { status } = await hub.call('POST', '/api/v1/assignment-rules', { cookie, body: rule });
  expect(status).toBe(201);
  visit = await view(proxy.url, { cookie });
  ({ page } = visit);
  // The page's own socket, so that it can be told that frames were missed.
  await page.addInitScript('delete globalThis.SharedWorker');
  await page.routeWebSocket(/stream\/dashboard/, (socket) => {
    stream = socket;
    socket.connectToServer();
  });
  await page.goto('/dashboard/');
  await page.locator('.live-live').waitFor();
});
afterAll(async () => {
  noFaults(visit);
  await visit.context.close();
});

const missedFrames = (): void => stream?.send('{"type":"resync"}');

const placeOf = ({ in: within }: Row): Locator =>
  within ? page.getByRole(within[0], { name: within[1] }) : page.getByRole('main');
const refuse = ({ api }: Row, status: number, retryAfter?: number): void => {
  proxy.rule = (_, path) =>
    api.test(path) ? { status, ...(retryAfter === undefined ? {} : { retryAfter }) } : null;
};

it('no page is without a row', () => {
  const paths = Object.values(rowsOf(recordIds)).map(({ path }) => pageAt(path.replace(/\?.*/, '')).path);
  // The others need no answer of the hub, or a list that may be empty.
  const without = new Set(['/evidence', '/me', '/admin/retention', '/admin/service-accounts']);
  const expected = [...pages, ...adminPages, ...ownPages]
    .map(({ path }) => path)
    .filter((path) => !without.has(path));
  expect([...new Set(paths)].sort()).toEqual(expected.sort());
});

/** Nothing is there yet: it is asked for again by itself, or by a press. */
async function refusedAtFirst(row: Row): Promise<void> {
  const place = placeOf(row);
  await place.getByText('The hub cannot take this now.').first().waitFor();
  const again = place.getByRole('button', { name: 'Retry' });
  await place
    .getByText(/The console tries again automatically/)
    .or(again)
    .first()
    .waitFor();
  expect(await row.shows(page).count()).toBe(0);
  proxy.rule = null;
  // The press may meet a try that began before the hub answered.
  await expect
    .poll(
      async () => {
        await again.evaluateAll(([button]) => (button as HTMLElement | undefined)?.click());
        return row.shows(page).isVisible();
      },
      { interval: 250 },
    )
    .toBe(true);
}

/** The notices are the same everywhere: a page, a panel and a part of a page are enough for who listens. */
const lookedAt: ReadonlySet<string> = new Set(['Home', 'one agent', 'System: figures']);

/** Words of the APIs for states, which people never read. */
const wireWords =
  /\b(?:call_(?:allowed|denied|executed|blocked|asked|would_\w+|approval_\w+)|would_(?:block|deny)|approval_(?:pending|requested)|approval\.\w+|timed_out|drift)\b/i;

async function expectStateWords(): Promise<void> {
  // A filter by two words of one state names the word beside the state.
  const texts = await page.locator('#root').evaluate((root) => {
    const copy = root.cloneNode(true) as HTMLElement;
    for (const filter of copy.querySelectorAll('.facets')) filter.remove();
    return copy.textContent ?? '';
  });
  expect(texts).not.toMatch(wireWords);
}

const choice = rowsOfCommit(Object.keys(rowsOf(recordIds)), 3);

describe(`what a page shows (SEED=${choice.seed})`, { timeout: 30_000 }, () => {
  it.each(choice.rows)('%s', async (name) => {
    const row = rowsOf(recordIds)[name] as Row;
    const place = placeOf(row);
    // A page goes on by itself after a moment; of its parts it is the press that is tried.
    refuse(row, row.in ? 502 : 503);
    await page.goto(`/dashboard${row.path}`);
    if (row.opens) await page.getByRole('button', { name: row.opens, exact: true }).click();
    await refusedAtFirst(row);
    await page.locator('.live-live').waitFor();
    const says = async (text: string | RegExp): Promise<void> => {
      await place.getByText(text).first().waitFor();
      expect(await row.shows(page).isVisible()).toBe(true);
    };
    // It is asked for anew, and the hub asks to wait: what is there stays, and says from when it is.
    refuse(row, 429, 20);
    missedFrames();
    await says('Too many requests. Wait a little.');
    await says(/The console tries again automatically in \d+ s\. Data shown is from \d\d:\d\d\./);
    if (lookedAt.has(name)) await accessible(page);
    // The right to see it is gone.
    refuse(row, 403);
    missedFrames();
    await says('Permission denied.');
    await says(/Ask an admin to do this/);
    // The proxy in front of the hub fails: a press sends the request again.
    refuse(row, 502);
    missedFrames();
    await says('The hub cannot take this now.');
    if (lookedAt.has(name)) await accessible(page);
    proxy.rule = null;
    await place.getByRole('button', { name: 'Retry' }).first().click();
    await place
      .getByText(/Data shown is from/)
      .first()
      .waitFor({ state: 'detached' });
    expect(await row.shows(page).isVisible()).toBe(true);
    await expectStateWords();
  });
});

it('the next page of a list that is refused is asked for again by a press, and not for ever by itself', async () => {
  let asked = 0;
  proxy.rule = (_, path) => {
    if (!/\/api\/v1\/events\?.*cursor=/.test(path)) return null;
    asked += 1;
    return { status: 502 };
  };
  await page.goto('/dashboard/explore');
  const box = page.getByRole('region', { name: 'events' });
  const toEnd = () =>
    box.evaluate((node) => {
      node.scrollTop = node.scrollHeight;
    });
  // A page of the hub has 100 events, some of them from the sample run, which the list leaves out.
  await page.getByText(/^\d\d newest events loaded; scroll for more/).waitFor();
  await toEnd();
  const main = page.getByRole('main');
  await main.getByText('The hub cannot take this now.').waitFor();
  // Time enough for some more tries, were there any.
  await page.evaluate(`(async () => {
    for (let frame = 0; frame < 30; frame += 1) await new Promise((done) => requestAnimationFrame(done));
  })()`);
  expect(asked).toBe(1);
  proxy.rule = null;
  await main.getByRole('button', { name: 'Retry' }).click();
  await main.getByText('The hub cannot take this now.').waitFor({ state: 'detached' });
  await toEnd();
  await page.getByText(/^1\d\d newest events loaded; scroll for more/).waitFor();
});
