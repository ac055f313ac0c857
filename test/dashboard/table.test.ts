// Features of every table of the console: order, columns, selection and the file of what is shown.
import type { Download, Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const agents = 12;
const formula = { '=1+1': 'yes' };

const { hub, cookie } = await tenantOfFile();

beforeAll(async () => {
  const { key } = await hub.key(cookie);
  const events = Array.from({ length: agents }, (_, n) => ({
    call_id: `c${n}`,
    agent_id: `agent-${n}`,
    tool_name: 'read_file',
    verdict: 'call_allowed',
  }));
  const { status } = await hub.call('POST', '/api/v1/events', { key, agent: 'agent-1', body: { events } });
  expect(status).toBe(200);
  // A cell that a spreadsheet would run.
  const tagged = await hub.call('PATCH', '/api/v1/agent-registrations/agent-0', {
    cookie,
    body: { tags: formula },
  });
  expect(tagged.status).toBe(200);
});

const table = (page: Page) => page.getByRole('grid', { name: 'Agents' });

async function textOf(download: Download): Promise<string> {
  let text = '';
  for await (const part of await download.createReadStream()) text += part;
  return text;
}

/** The first cell of each row, from above. */
const names = async (page: Page): Promise<string[]> =>
  (await table(page).locator('.cell-link').allTextContents()).map((name) => name.trim());

async function fileOf(page: Page): Promise<string[]> {
  await page.getByRole('button', { name: 'Columns for agents' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'Download rows as CSV' }).click(),
  ]);
  return (await textOf(download)).split('\n');
}

it('sorts up, down and not at all, by numbers within names', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/fleet?view=agents');
  await table(page).getByText('agent-11', { exact: true }).waitFor();
  const unsorted = await names(page);
  const head = table(page).getByRole('columnheader', { name: 'Agent', exact: true });
  const press = () => head.getByRole('button').click();
  await press();
  await table(page).locator('[aria-sort=ascending]').waitFor();
  const up = Array.from({ length: agents }, (_, n) => `agent-${n}`);
  await expect.poll(() => names(page)).toEqual(up);
  await press();
  await table(page).locator('[aria-sort=descending]').waitFor();
  await expect.poll(() => names(page)).toEqual([...up].reverse());
  await accessible(page);
  await press();
  await table(page).locator('[aria-sort]').waitFor({ state: 'detached' });
  await expect.poll(() => names(page)).toEqual(unsorted);
  noFaults(visit);
  await visit.context.close();
});

itAtNight(
  'keeps the order in the address: at a reload, for somebody else, and step by step with the Back of the browser',
  async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const sorted = (word: string) => table(page).locator(`[aria-sort=${word}]`).waitFor();
    const inAddress = (): string | null => new URL(page.url()).searchParams.get('sort');
    await page.goto('/dashboard/fleet?view=agents&sort=-agent');
    await sorted('descending');
    expect((await names(page))[0]).toBe(`agent-${agents - 1}`);
    const head = table(page).getByRole('columnheader', { name: 'Status', exact: true }).getByRole('button');
    await head.click();
    await sorted('ascending');
    expect(inAddress()).toBe('status');
    await page.reload();
    await sorted('ascending');
    await page.goBack();
    await sorted('descending');
    expect(inAddress()).toBe('-agent');
    // A table of the agent's page has an order of its own.
    await table(page).getByRole('link', { name: 'agent-3', exact: true }).click();
    await page
      .getByRole('complementary', { name: 'Agent agent-3' })
      .getByRole('link', { name: 'Open page' })
      .click();
    await page.getByRole('tab', { name: 'Tools' }).click();
    const tools = page.getByRole('table', { name: 'tools of an agent' });
    await tools.getByRole('button', { name: 'Calls' }).click();
    await tools.locator('[aria-sort=ascending]').waitFor();
    expect(new URL(page.url()).searchParams.get('tools_sort')).toBe('calls');
    expect(inAddress()).toBe(null);
    // A name that is no column sorts nothing.
    await page.goto('/dashboard/fleet?view=agents&sort=-nonsense');
    await table(page).getByText('agent-11', { exact: true }).waitFor();
    expect(await table(page).locator('[aria-sort]').count()).toBe(0);
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  },
);

itAtNight('selects a range with shift, all, and none', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/fleet?view=agents');
  await table(page).getByRole('button', { name: 'Agent', exact: true }).click();
  await table(page).locator('[aria-sort=ascending]').waitFor();
  await table(page).getByLabel('Select agent-3', { exact: true }).click();
  await page.getByText('1 selected', { exact: true }).waitFor();
  await table(page)
    .getByLabel('Select agent-8', { exact: true })
    .click({ modifiers: ['Shift'] });
  await page.getByText('6 selected', { exact: true }).waitFor();
  await expect.poll(() => table(page).getByLabel('Select agent-5', { exact: true }).isChecked()).toBe(true);
  expect(await table(page).getByLabel('Select agent-9', { exact: true }).isChecked()).toBe(false);
  const all = table(page).getByLabel('Select all loaded rows');
  expect(await all.evaluate((input) => (input as unknown as { indeterminate: boolean }).indeterminate)).toBe(
    true,
  );
  await all.click();
  await page.getByText(`${agents} selected`, { exact: true }).waitFor();
  await accessible(page);
  await all.click();
  await page.getByText('selected', { exact: false }).waitFor({ state: 'hidden' });
  noFaults(visit);
  await visit.context.close();
});

it('writes what is shown, in its order, as a file that no spreadsheet runs', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/fleet?view=agents');
  await table(page).getByRole('button', { name: 'Agent', exact: true }).click();
  await table(page).locator('[aria-sort=ascending]').waitFor();
  // No table scrolls sideways: a column that needs more room is chosen from the menu.
  const scroll = page.getByRole('region', { name: 'agents', exact: true });
  expect(await scroll.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
  expect(await table(page).getByRole('columnheader', { name: 'Tags' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Columns for agents' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Tags' }).click();
  await page.keyboard.press('Escape');
  const [head = '', ...rows] = await fileOf(page);
  expect(head.split(',').slice(0, 3)).toEqual(['Agent', 'Status', 'Connected']);
  expect(rows.map((row) => row.split(',')[0]).slice(0, 3)).toEqual(['agent-0', 'agent-1', 'agent-2']);
  expect(rows[0]).toContain(",'=1+1=yes,");
  expect(rows.filter((row) => /(?:^|,)"?=/.test(row))).toEqual([]);
  expect(rows).toHaveLength(agents);
  // A hidden column is not in the file either, and stays hidden.
  await page.getByRole('button', { name: 'Columns for agents' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Status' }).click();
  await page.keyboard.press('Escape');
  expect((await fileOf(page))[0]?.split(',').slice(0, 2)).toEqual(['Agent', 'Connected']);
  await page.reload();
  await table(page).getByText('agent-11', { exact: true }).waitFor();
  expect(await table(page).getByRole('columnheader', { name: 'Status' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Columns for agents' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Status' }).click();
  await table(page).getByRole('columnheader', { name: 'Status' }).waitFor();
  noFaults(visit);
  await visit.context.close();
});

it('steps through rows in the order that is shown', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/fleet?view=agents');
  await table(page).getByRole('button', { name: 'Agent', exact: true }).click();
  await table(page).locator('[aria-sort=ascending]').waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.waitForURL((url) => url.searchParams.get('peek') === 'agent-1');
  await page.keyboard.press('k');
  await page.waitForURL((url) => url.searchParams.get('peek') === 'agent-0');
  noFaults(visit);
  await visit.context.close();
});

it('copies the whole text of a cell that the screen cuts, and leaves a selected text alone', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const { key } = await hub.key(cookie);
  const long = `agent-${'x'.repeat(118)}-end`;
  const events = [{ call_id: 'long', agent_id: long, tool_name: 'read_file', verdict: 'call_allowed' }];
  await hub.call('POST', '/api/v1/events', { key, agent: 'agent-1', body: { events } });
  const part = long.slice(0, 40);
  await page.goto(`/dashboard/fleet?view=agents&search=${part}`);
  const cell = table(page).getByRole('link', { name: /^agent-x/ });
  await cell.waitFor();
  expect(await cell.textContent()).not.toBe(long);
  await cell.hover();
  await page.keyboard.press('Control+c');
  await page.getByText(/^Copied: agent-x/).waitFor();
  const search = page.getByRole('combobox', { name: 'Query' });
  await search.fill('');
  await search.press('Control+v');
  expect(await search.inputValue()).toBe(long);
  // A person's selection is theirs, wherever the pointer is.
  await search.fill(part);
  await search.press('Control+a');
  await cell.hover();
  await page.keyboard.press('Control+c');
  await search.fill('');
  await search.press('Control+v');
  expect(await search.inputValue()).toBe(part);
  noFaults(visit);
  await visit.context.close();
});
