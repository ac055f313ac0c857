// New events in the console: the list follows live, and holds still while a person reads it.
import { describe, expect, it } from 'vitest';
import { go, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

const { hub, cookie, key } = await tenantWithKey();

const { key: staging } = await hub.key(cookie, 'staging');

const send = async (events: readonly object[], by = key): Promise<void> => {
  const { status } = await hub.call('POST', '/api/v1/events', {
    key: by,
    agent: 'shop-agent-0',
    body: { events },
  });
  expect(status).toBe(200);
};

const eventOf = (name: string, n: number): object => ({
  call_id: `${name}-${n}`,
  agent_id: `${name}-agent`,
  tool_name: `${name}_${n}`,
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: new Date().toISOString(),
  payload: { tool_args: { n } },
});

/** The list of an agent without events, once its stream is open; with the link of each event that comes. */
async function openList(name: string) {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto(`/dashboard/explore?agent_id=${name}-agent&from=now-1h`);
  await page.getByText('No events match these filters').waitFor();
  await page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();
  const link = (n: number) =>
    page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: `${name}_${n}` });
  return { visit, page, link };
}

describe('the list of events', () => {
  it('follows live, holds still while one is read, and says how many came', async () => {
    const { visit, page, link } = await openList('late');
    await send([eventOf('late', 1)]);
    await link(1).click();
    await send([eventOf('late', 2)]);
    await page.getByRole('button', { name: /Show 1 new event from the whole hub/ }).click();
    await link(2).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('shows what came of a stored call on a quiet hub, in the list and in the open event, and counts nothing', async () => {
    const { visit, page, link } = await openList('outcome');
    const report = (verdict: string) => send([{ ...eventOf('outcome', 1), verdict }]);
    await report('call_approval_requested');
    await link(1).waitFor();
    await report('call_approval_granted');
    await page
      .getByRole('grid', { name: 'Events' })
      .getByText(/approved/i)
      .waitFor();
    await link(1).click();
    const panel = page.getByRole('complementary', { name: 'Event', exact: true });
    const outcomes = panel.locator('section', { hasText: 'Outcome' }).getByRole('listitem');
    await outcomes.waitFor();
    await report('call_executed');
    await outcomes.nth(1).waitFor();
    expect(await page.getByText(/new events? from the whole hub/).count()).toBe(0);
    noFaults(visit);
    await visit.context.close();
  });

  it('goes on in another environment than that of the open event', async () => {
    const { visit, page, link } = await openList('moved');
    await send([eventOf('moved', 1)]);
    await link(1).click();
    const panel = page.getByRole('complementary', { name: 'Event', exact: true });
    await panel.waitFor();
    const environment = async (name: string): Promise<void> => {
      await page.getByRole('radio', { name }).check({ force: true });
      await page.waitForURL((url) => (url.searchParams.get('env') ?? 'all') === name.toLowerCase());
      // The focus in a row would hold the list, too.
      await page.getByRole('heading', { level: 1 }).click();
    };
    await environment('Staging');
    await page.getByText('No events match these filters').waitFor();
    expect(await panel.count()).toBe(0);
    await send([eventOf('moved', 2)], staging);
    await link(2).waitFor();
    await page.getByRole('tab', { name: 'Tail' }).click();
    await link(2).waitFor();
    await link(2).click();
    await panel.waitFor();
    await environment('Production');
    await link(1).waitFor();
    await send([eventOf('moved', 3)]);
    await link(3).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('contains the calls that came while another page was open', async () => {
    const { visit, page, link } = await openList('away');
    await send([eventOf('away', 1)]);
    await go(page, '/agents/away-agent');
    await page.getByRole('listitem').getByText('away_1', { exact: true }).waitFor();
    await send([eventOf('away', 2)]);
    await page.getByRole('listitem').getByText('away_2', { exact: true }).waitFor();
    await go(page, '/explore?agent_id=away-agent&from=now-1h');
    await link(2).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('reloads after a purge', async () => {
    const { visit, page } = await openList('purged');
    await go(page, '/admin/retention');
    await page.getByRole('button', { name: 'Purge events' }).click();
    const dialog = page.getByRole('dialog', { name: 'Purge events' });
    await dialog.getByLabel('Type purge to confirm').fill('purge');
    await dialog.getByRole('button', { name: 'Purge events' }).click();
    await dialog.waitFor({ state: 'hidden' });
    const reload = page.waitForRequest(/\/events\?.*purged-agent.*limit=/);
    await go(page, '/explore?agent_id=purged-agent&from=now-1h');
    await reload;
    noFaults(visit);
    await visit.context.close();
  });

  it('holds still while the focus is in a row, and then shows all without a press', async () => {
    const { visit, page, link } = await openList('focus');
    const pill = page.getByRole('button', { name: /^Show \d+ new events? from the whole hub$/ });
    await send([eventOf('focus', 1)]);
    await link(1).focus();
    await send([eventOf('focus', 2), eventOf('focus', 3)]);
    await page.getByRole('button', { name: 'Show 2 new events from the whole hub' }).waitFor();
    expect(await link(2).count()).toBe(0);
    await link(1).blur();
    await send([eventOf('focus', 4)]);
    for (const n of [1, 2, 3, 4]) await link(n).waitFor();
    await pill.waitFor({ state: 'detached' });
    noFaults(visit);
    await visit.context.close();
  });

  it('goes on with a search that failed at a press alone', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    let further = 0;
    await page.route(
      ({ pathname, searchParams }) => pathname === '/api/v1/events' && searchParams.has('q'),
      async (route) => {
        if (new URL(route.request().url()).searchParams.has('cursor')) {
          further += 1;
          return route.fulfill({ status: 429, json: { code: 'too_busy', detail: 'Two searches run.' } });
        }
        const response = await route.fetch();
        const headers = {
          ...response.headers(),
          'x-search-complete': 'false',
          'x-searched-to': '2026-01-02T03:04:05.000Z',
          'x-next-cursor': 'older',
        };
        return route.fulfill({ response, headers });
      },
    );
    await page.goto('/dashboard/explore?q=nothing');
    await page.getByText('Two searches run.').waitFor();
    const goOn = page.getByRole('button', { name: 'Search further' });
    await goOn.waitFor();
    await page.waitForTimeout(300);
    expect(further).toBe(1);
    await goOn.click();
    await expect.poll(() => further).toBe(2);
    await visit.context.close();
  });

  it('shows the rows of a search again after a press on new events, however long ago it began', async () => {
    const { visit, page, link } = await openSearch('pressed');
    await page.clock.fastForward(11_000);
    await link(1).click();
    await page.getByRole('complementary', { name: 'Event', exact: true }).waitFor();
    await send([eventOf('pressed', 2)]);
    await page.getByRole('button', { name: /^Show \d+ new events? from the whole hub$/ }).click();
    for (const n of [1, 2]) await link(n).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('follows live after a search in steps, which keeps its rows in view', async () => {
    const { visit, page, link } = await openSearch('steps');
    await page.evaluate(`globalThis.least = Infinity;
      new MutationObserver(() => {
        globalThis.least = Math.min(globalThis.least, document.querySelectorAll('[role=grid] a').length);
      }).observe(document.body, { childList: true, subtree: true });`);
    await send([eventOf('steps', 2)]);
    await link(2).waitFor();
    expect(await page.evaluate('globalThis.least')).toBeGreaterThan(0);
    expect(await page.getByRole('button', { name: /^Show \d+ new/ }).count()).toBe(0);
    noFaults(visit);
    await visit.context.close();
  });

  it('reads no further after Stop, although the rows leave room', async () => {
    const { visit, page, link, later } = await openSearch('stopped', true);
    await link(1).waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('button', { name: 'Search further' }).waitFor();
    const before = later();
    await page.waitForTimeout(500);
    expect(later()).toBe(before);
    noFaults(visit);
    await visit.context.close();
  });
});

/**
 * The list of a search that finds nothing in the time of its first step, all events in the second, and no more later.
 * @param isEndless its steps never reach the end of the range
 */
async function openSearch(name: string, isEndless = false) {
  await send([eventOf(name, 1)]);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const cut = { 'x-search-complete': 'false', 'x-searched-to': '2026-01-02T03:04:05.000Z' };
  let later = 0;
  await page.clock.install();
  await page.route(
    ({ pathname, searchParams }) => pathname === '/api/v1/events' && searchParams.has('q'),
    async (route) => {
      const url = new URL(route.request().url());
      const cursor = url.searchParams.get('cursor');
      if (cursor !== null) later += 1;
      if (cursor === 'later') await new Promise((resolve) => setTimeout(resolve, 100));
      url.searchParams.delete('cursor');
      const response = await route.fetch({ url: `${url}` });
      const next = cursor === null ? 'second' : 'later';
      const rest = cursor === null || isEndless ? { ...cut, 'x-next-cursor': next } : {};
      const headers = { ...response.headers(), ...rest };
      return route.fulfill(cursor === 'second' ? { response, headers } : { json: [], headers });
    },
  );
  await page.goto(`/dashboard/explore?q=${encodeURIComponent(`agent:${name}-agent args.n:>0`)}&from=now-1h`);
  const link = (n: number) =>
    page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: `${name}_${n}` });
  await link(1).waitFor();
  await page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();
  return { visit, page, link, later: () => later };
}
