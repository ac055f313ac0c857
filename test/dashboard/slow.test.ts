// A hub whose answers take long, behind a real proxy: pages say that they wait, show nothing old as if it were new, and
// can be used meanwhile; what is pressed is shown as done only once it is.
import type { Locator, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { pages } from '../../src/dashboard/pages/registry.ts';
import { itAtNight, rowsOfRun } from '../runs.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { hubWithKey } from './file-hub.ts';
import { proxyOf } from './proxy.ts';
import { seed } from './seed.ts';

const { hub, cookie, key } = await hubWithKey({ RATE_LIMIT_MAX_ATTEMPTS: '1000' });
const proxy = await proxyOf(hub);

beforeAll(async () => {
  await seed(hub, cookie);
  await ask(hub, key, { tool_name: 'waits_long', timeout: 3_600 }, 'patient-agent');
});
afterEach(() => {
  proxy.rule = null;
});

/** The user is known: only the page's own requests are late. */
const ofPage = (_method: string, path: string): boolean => !/\/auth\/|\/health$|\/stream/.test(path);
const late = 3_000;

const opened = async () => {
  const visit = await view(proxy.url, { cookie });
  return { visit, page: visit.page };
};

/** Text on each page only once the hub has answered. The playground needs no answer to be used. */
const answered: { readonly [path: string]: (main: Locator) => Locator } = {
  '/': (main) => main.getByText('shop v1').first(),
  '/inbox': (main) => main.getByText('waits_long').first(),
  '/explore': (main) => main.getByText('search_docs').first(),
  '/policies': (main) => main.getByRole('table').getByText('no-secrets'),
  '/policies?view=compositions': (main) => main.getByRole('table').getByText('shop', { exact: true }),
  '/policies?view=documents': (main) =>
    main.getByRole('table', { name: 'bundles' }).getByText('shop', { exact: true }),
  '/fleet?view=agents': (main) => main.getByRole('grid').getByText('shop-agent-0'),
  '/tools?view=settings': (main) => main.getByLabel('Mode of production'),
  '/changes': (main) => main.getByRole('table').getByText('shop v1').first(),
  '/runs': (main) => main.getByRole('table').getByText('sample-session'),
  '/policies?view=documents#2': (main) =>
    main.getByRole('table', { name: 'rulesets' }).getByText('sample-guardrails'),
  '/audit': (main) => main.getByRole('table').getByText('ruleset deployed').first(),
  '/admin/keys': (main) => main.getByRole('table').getByText('test').first(),
  '/admin/channels': (main) => main.getByRole('table').getByText('On call'),
  '/admin/people': (main) => main.getByRole('table').getByText('admin@example.com'),
  '/admin/system': (main) => main.getByText(/256 of 256 shards owned/),
};

describe('while answers are late', () => {
  it('every page has an entry here', () => {
    const paths = Object.keys(answered).map((path) => path.replace(/[?#].*/, ''));
    const listing = pages.map(({ path }) => path).filter((path) => path !== '/test' && path !== '/evidence');
    expect([...new Set(paths)].filter((path) => !path.startsWith('/admin')).sort()).toEqual(listing.sort());
  });

  it.each(rowsOfRun(Object.entries(answered), 2))(
    '%s says that it waits, leads elsewhere, and shows them then',
    async (path, text) => {
      const release = proxy.hold(ofPage);
      const { visit, page } = await opened();
      const main = page.getByRole('main');
      await page.goto(`/dashboard${path.replace(/#.*/, '')}`);
      await main.locator('.skeleton[aria-busy=true]').first().waitFor();
      expect(await text(main).count()).toBe(0);
      expect(await main.locator('.empty').count()).toBe(0);
      // Home asks for more at once than a browser has connections to a hub: other code waits with its answers.
      if (path !== '/') {
        // Nothing keeps anybody here.
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: /^Command/ }).fill('test');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Test', level: 1 }).waitFor();
        await page.goBack();
        await main.locator('.skeleton[aria-busy=true]').first().waitFor();
        expect(await text(main).count()).toBe(0);
      }
      release();
      await text(main).waitFor();
      await main.locator('.skeleton').first().waitFor({ state: 'detached' });
      noFaults(visit);
      await visit.context.close();
    },
  );

  it('the console says whom it asks, and opens once it is answered', async () => {
    const release = proxy.hold((_, path) => /\/auth\//.test(path));
    const { visit, page } = await opened();
    await page.goto('/dashboard/');
    await page.getByText('Checking your session…').waitFor();
    await accessible(page);
    release();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.getByRole('main').getByText('shop v1').first().waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

const old = (page: Page) => page.getByText('Search in progress. These are the earlier results.');

describe('an answer to what was asked before', () => {
  itAtNight('is named as such beside events that another filter names', async () => {
    const { visit, page } = await opened();
    await page.goto('/dashboard/explore');
    const total = page.getByRole('complementary', { name: 'Filters' }).locator('.facets-total strong');
    await page.getByRole('grid').getByRole('row').nth(3).waitFor();
    await expect.poll(() => total.textContent()).toBe('600');
    expect(await old(page).count()).toBe(0);
    proxy.rule = (method, path) => (ofPage(method, path) ? { ms: late } : null);
    await page
      .getByRole('complementary', { name: 'Filters' })
      .getByRole('button', { name: /^refund/ })
      .click();
    // Beside the figures and above the chart; the list has none of the rows that were asked for before.
    await expect.poll(() => old(page).count()).toBe(2);
    expect(await page.getByRole('grid').getByRole('row').count()).toBe(0);
    await accessible(page);
    await expect.poll(() => total.textContent()).toBe('120');
    await expect.poll(() => old(page).count()).toBe(0);
    noFaults(visit);
    await visit.context.close();
  });

  it.each(
    rowsOfRun(
      [
        ['/policies', 'searchbox', 'no-secrets', '1 contract found'],
        ['/inbox', 'combobox', 'waits_long', 'Search found 1 pending call.'],
      ] as const,
      1,
    ),
  )('is named as such in %s, whose count is not that of the new question', async (path, role, text, says) => {
    const { visit, page } = await opened();
    await page.goto(`/dashboard${path}`);
    await page.getByText(text).first().waitFor();
    const release = proxy.hold(ofPage);
    const field = page.getByRole(role, { name: role === 'combobox' ? 'Query' : 'Search in contracts' });
    await field.fill(text);
    await field.press('Enter');
    await old(page).waitFor();
    expect(await page.locator('.page-head .page-says').count()).toBe(0);
    release();
    await page.getByText(says).waitFor();
    await old(page).waitFor({ state: 'detached' });
    noFaults(visit);
    await visit.context.close();
  });

  it('stays with the reason when the hub does not give it anew, and is asked for again by a press', async () => {
    const { visit, page } = await opened();
    await page.goto('/dashboard/policies');
    await page.getByRole('table').getByText('no-secrets').waitFor();
    await page.locator('.live-live').waitFor();
    proxy.rule = (_, path) => (path.includes('/contracts') ? { status: 500 } : null);
    const { status } = await hub.call('PUT', '/api/v1/contracts/no-secrets', {
      cookie,
      body: {
        name: 'renamed meanwhile',
        definition: {
          tool: 'refund',
          when: { 'args.amount': { gt: 1 } },
          then: { effect: 'deny', message: 'no' },
        },
      },
    });
    expect(status).toBe(200);
    const alert = page.getByRole('main').getByRole('alert');
    await alert.getByText('The hub cannot take this now.').waitFor();
    await page.getByRole('table').getByText('no-secrets').waitFor();
    await accessible(page);
    proxy.rule = null;
    // Without the wait for a still button: the page also asks again by itself.
    await alert.getByRole('button', { name: 'Retry' }).dispatchEvent('click');
    await page.getByRole('table').getByText('renamed meanwhile').waitFor();
    await alert.waitFor({ state: 'detached' });
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a decision that takes long', () => {
  it('is shown as sent, once, and as made only when it is; refused, it is there to be made again', async () => {
    const id = await ask(hub, key, { tool_name: 'slow_one', timeout: 700 }, 'slow-agent');
    const { visit, page } = await opened();
    await page.goto(`/dashboard/approvals/${id}`);
    const card = page.getByRole('article', { name: /^Approval of slow_one/ });
    await card.waitFor();
    let sent = 0;
    page.on('request', (request) => {
      if (request.method() === 'PUT') sent += 1;
    });
    const decided = card.getByText('Approved by admin@example.com');
    const approve = card.getByRole('button', { name: /^Approve/ });
    await card.getByRole('textbox', { name: 'Reason' }).fill('after a while');
    // Once refused by what is in between: nothing looks decided any more, and the reason is still there.
    proxy.rule = (method) => (method === 'PUT' ? { status: 503, retryAfter: 2 } : null);
    await approve.click();
    await card.getByText(/^Try again/).waitFor();
    await expect.poll(() => approve.isEnabled()).toBe(true);
    expect(await decided.count()).toBe(0);
    expect(await card.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('after a while');
    const release = proxy.hold((method) => method === 'PUT');
    await approve.click();
    await card.locator('button[aria-busy=true]').filter({ hasText: 'Approve' }).waitFor();
    expect(await card.getByRole('button', { name: /^Deny/ }).isDisabled()).toBe(true);
    await page.keyboard.press('a');
    expect(await decided.count()).toBe(0);
    release();
    await decided.waitFor();
    expect(sent).toBe(2);
    noFaults(visit);
    await visit.context.close();
  });
});
