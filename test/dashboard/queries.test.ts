// One language on every page with a query: terms narrow the list, a press on a word changes the text, filters of
// earlier addresses become terms, and a text with a mistake is not sent.
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { rowsOfCommit } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { seed } from './seed.ts';

const { hub, cookie } = await tenantOfFile();
beforeAll(async () => {
  await seed(hub, cookie);
});

const bar = (page: Page) => page.getByRole('combobox', { name: 'Query' });
const search = async (page: Page, text: string): Promise<void> => {
  await bar(page).fill(text);
  await bar(page).press('Enter');
};

const rows = (page: Page, list: string) =>
  page.locator(`[role=grid], [role=table]`).and(page.getByLabel(list));

interface Bar {
  readonly path: string;
  readonly list: string;
  /** Rows by query: text that all of them have. */
  readonly terms: { readonly [query: string]: string };
  readonly wrong: string;
  /** In the answer to the wrong query. */
  readonly expected: RegExp;
  /** Of the list. */
  readonly operation: RegExp;
}

const bars: readonly Bar[] = [
  {
    path: '/inbox',
    list: 'Approvals',
    terms: { 'tool:edit_file': 'edit_file', '-tool:edit_file args.service:checkout': 'deploy' },
    wrong: 'is:nonsense',
    expected: /position 3, expected one of pending, approved/,
    operation: /\/api\/v1\/approvals\?/,
  },
  {
    path: '/inbox?view=decided',
    list: 'Approvals',
    terms: { 'is:denied reason:receipt': 'refund', 'args.amount:>500': 'refund' },
    wrong: 'verdict:denied',
    expected: /position 0, expected a field \(is, tool/,
    operation: /\/api\/v1\/approvals\?/,
  },
  {
    path: '/fleet?view=agents',
    list: 'Agents',
    terms: { 'agent:*-3': 'shop-agent-3', 'is:connected -agent:(*-0,*-1,*-2,*-3,*-4)': 'shop-agent-5' },
    wrong: 'agent:"open',
    expected: /position 6, expected a closing quote/,
    operation: /\/api\/v1\/agents\?/,
  },
  {
    path: '/runs',
    list: 'runs',
    terms: { 'agent:sample-agent -is:stale': 'sample-session', 'run:(session-3,*-99)': 'session-3' },
    wrong: 'run:session-3 tool:refund',
    expected: /position 14, expected a field \(is, agent, run, env\)/,
    operation: /\/v1\/runs\?/,
  },
  {
    path: '/audit',
    list: 'audit entries',
    terms: {
      'subject:channel': "Notification channel 'On call' was created",
      '-action:(approval.approved,approval.created) action:approval.* agent:shop-agent-3': 'denied a call',
    },
    wrong: 'subject:nothing',
    expected: /position 8, expected one of approval, key/,
    operation: /\/v1\/audit\?/,
  },
];
const choice = rowsOfCommit(bars, 1);

it.each(choice.rows)(
  `narrows $path by its query (SEED=${choice.seed})`,
  async ({ path, list, terms, wrong, expected, operation }) => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard${path}`);
    for (const [text, match] of Object.entries(terms)) {
      await search(page, text);
      await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe(text);
      const matches = rows(page, list).getByRole('row').filter({ hasText: match });
      await matches.first().waitFor();
      // The head of a table is a row, too; the inbox has none.
      await expect
        .poll(() => rows(page, list).getByRole('row').filter({ hasNotText: match }).count())
        .toBeLessThanOrEqual(1);
    }
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    const before = page.url();
    await search(page, wrong);
    await page.getByRole('alert').getByText(expected).waitFor();
    await accessible(page);
    expect(page.url()).toBe(before);
    expect(
      requests.filter((url) => operation.test(url) && /nonsense|open|nothing|verdict|-is/.test(url)),
    ).toEqual([]);
    noFaults(visit);
    await visit.context.close();
  },
);

it('sends nothing for a query with a mistake in the address, and exports nothing', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  const explore = { path: '/explore', wrong: 'verdict:nonsense', operation: /\/api\/v1\/events[/?]/ };
  const tail = { ...explore, path: '/explore?view=tail', operation: /\/v1\/events[/?]/ };
  for (const { path, wrong, operation } of [...bars, tail, explore]) {
    requests.length = 0;
    await page.goto(`/dashboard${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ q: wrong })}`);
    await page.getByText('No search with this query').waitFor();
    await page
      .getByRole('alert')
      .getByText(/expected/)
      .waitFor();
    // The frame's requests come with those of the page.
    await expect.poll(() => requests.some((url) => url.includes('/stats/overview'))).toBe(true);
    expect(
      requests.filter((url) => operation.test(url)),
      path,
    ).toEqual([]);
  }
  const csv = page.getByRole('button', { name: 'CSV' });
  await expect.poll(() => csv.getAttribute('aria-disabled')).toBe('true');
  expect(await page.locator('a[download]').count()).toBe(0);
  expect(await csv.getAttribute('title')).toBe('Correct the query to export events.');
  noFaults(visit);
  await visit.context.close();
});

it('has words to press, and terms in place of the filters of earlier addresses', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/agents?status=drift&search=shop');
  await expect.poll(() => bar(page).inputValue()).toBe('"shop" is:out_of_date');
  await page.goto('/dashboard/fleet?view=agents');
  await page.getByRole('button', { name: 'away' }).click();
  await page.getByText('No agents match these filters').waitFor();
  await page.getByRole('button', { name: 'connected', exact: true }).click();
  await page.getByRole('grid', { name: 'Agents' }).getByText('shop-agent-0').waitFor();
  await expect.poll(() => bar(page).inputValue()).toBe('is:connected');
  await page.getByRole('button', { name: 'connected', exact: true }).click();
  await expect.poll(() => bar(page).inputValue()).toBe('');
  // The words of the rows; queries accept words of earlier consoles, too.
  await page.getByRole('button', { name: 'current', exact: true }).click();
  await expect.poll(() => bar(page).inputValue()).toBe('is:current');
  await page.goto('/dashboard/runs?q=is:idle');
  await page.getByRole('button', { name: 'stale', pressed: true }).waitFor();
  await page.goto('/dashboard/runs?status=approval_pending&agent_id=shop-agent-1');
  await expect.poll(() => bar(page).inputValue()).toBe('is:pending agent:shop-agent-1');
  noFaults(visit);
  await visit.context.close();
});

it('shows the calls of the last day in the rows of agents and contracts, with one request for all of them', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const requests: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/stats/series')) requests.push(request.url());
  });
  await page.goto('/dashboard/fleet?view=agents');
  const row = page.getByRole('grid', { name: 'Agents' }).getByRole('row').filter({ hasText: 'shop-agent-0' });
  await row.getByRole('img', { name: /^\d+ allowed$/ }).waitFor();
  await row.getByRole('img', { name: /^\d+ calls, at most \d+ at a time, last \d+$/ }).waitFor();
  expect(requests).toHaveLength(1);
  expect(new URL(requests[0] ?? '').searchParams.getAll('values').length).toBeGreaterThanOrEqual(6);
  await page.goto('/dashboard/policies');
  const contract = page.getByRole('table', { name: 'contracts' }).getByRole('row', { name: /^no-secrets/ });
  await contract.getByRole('img', { name: /^\d+ calls,/ }).waitFor();
  await accessible(page);
  noFaults(visit);
  await visit.context.close();
});
