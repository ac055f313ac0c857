// The inbox as its users work: forty calls by keyboard, each of them seen before; one call on a phone; and a group
// whose decision is dropped with the connection.
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, ask, noFaults, reconnect, view } from './browser.ts';
import { hubOfFile } from './file-hub.ts';

const { hub, cookie } = await hubOfFile();
const { key } = await hub.key(cookie, 'staging');

const waiting = async (): Promise<number> =>
  (await hub.call('GET', '/api/v1/approvals?status=pending&limit=200', { cookie })).body.length;

const askMany = (tool: string, calls: number, timeout: number): Promise<string[]> =>
  Promise.all(
    Array.from({ length: calls }, (_, n) =>
      ask(
        hub,
        key,
        {
          tool_name: tool,
          timeout: timeout + n,
          contract_name: 'large-refunds',
          tool_args: { amount: 100 + n, currency: 'EUR', note: `${tool} number ${n}` },
        },
        `${tool}-${n}`,
      ),
    ),
  );

const queue = (page: Page) => page.getByRole('grid', { name: 'Approvals' });
const card = (page: Page) =>
  page.getByRole('article').filter({ has: page.getByRole('textbox', { name: 'Reason' }) });

it('clears forty calls, three groups of ten and ten single ones, in at most 45 keys', {
  timeout: 120_000,
}, async () => {
  await Promise.all([
    ...['refund', 'transfer', 'payout'].map((tool, at) => askMany(tool, 10, 600 + at * 100)),
    ...Array.from({ length: 10 }, (_, n) => askMany(`single_${n}`, 1, 1_200 + n)),
  ]);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/inbox');
  await expect
    .poll(() =>
      queue(page)
        .getByRole('button', { name: /^Review 10/ })
        .count(),
    )
    .toBe(3);
  await queue(page).getByText('Σ EUR 1,045.00').first().waitFor();
  await accessible(page);
  let keys = 0;
  const press = async (name: string): Promise<void> => {
    keys += 1;
    await page.keyboard.press(name);
  };
  for (const tool of ['refund', 'transfer', 'payout']) {
    await press('A');
    const sheet = page.getByRole('dialog', { name: 'Approve 10 calls' });
    await sheet.getByText(`${tool} number 9`).waitFor();
    const send = sheet.getByRole('button', { name: 'Approve 10' });
    for (let n = 0; n < 6 && (await send.isDisabled()); n += 1) {
      await press('PageDown');
      // The end of the sheet is noticed with a frame.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    }
    await expect.poll(() => send.isEnabled()).toBe(true);
    await press('ControlOrMeta+Enter');
    await sheet.waitFor({ state: 'hidden' });
  }
  for (let n = 0; n < 10; n += 1) {
    await card(page)
      .getByRole('heading', { name: `single_${n}` })
      .waitFor();
    await card(page).getByText(`single_${n} number 0`).waitFor();
    await expect
      .poll(() =>
        card(page)
          .getByRole('button', { name: /^Approve/ })
          .isEnabled(),
      )
      .toBe(true);
    await press('a');
  }
  await expect.poll(waiting).toBe(0);
  expect(keys).toBeLessThanOrEqual(45);
  noFaults(visit);
  await visit.context.close();
});

itAtNight('opens one call on a phone without a tap, and denies it with one', async () => {
  await askMany('on_phone', 2, 900);
  const visit = await view(hub.url, { cookie, width: 360, height: 740, touch: true });
  const { page } = visit;
  await page.goto('/dashboard/inbox');
  await page.getByText('1 of 2').waitFor();
  await card(page).getByText('on_phone number 0').waitFor();
  await accessible(page);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  await page.getByRole('button', { name: 'Deny' }).tap();
  await card(page).getByText('on_phone number 1').waitFor();
  await expect.poll(waiting).toBe(1);
  await expect.poll(() => page.getByRole('button', { name: 'Deny' }).isEnabled()).toBe(true);
  await page.getByRole('button', { name: 'Deny' }).tap();
  await expect.poll(waiting).toBe(0);
  noFaults(visit);
  await visit.context.close();
});

it('takes a call, and snoozes it for this browser', async () => {
  const [id = ''] = await askMany('later', 1, 900);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/inbox');
  await card(page).getByText('later number 0').waitFor();
  // The call that is open in one view is not open in another.
  await queue(page).getByText('later', { exact: true }).click();
  await page.waitForURL((url) => url.searchParams.get('id') === id);
  await page.getByRole('tab', { name: 'Snoozed' }).click();
  await page.getByText('No snoozed approvals').waitFor();
  expect(await card(page).count()).toBe(0);
  await page.getByRole('tab', { name: 'Pending 1' }).click();
  await card(page).getByText('later number 0').waitFor();
  await page.keyboard.press('m');
  await card(page).getByRole('button', { name: 'Give back' }).waitFor();
  expect((await hub.call('GET', `/api/v1/approvals/${id}`, { cookie })).body.assignee.name).toContain(
    'admin',
  );
  await page.keyboard.press('s');
  await page.getByText('No pending approvals', { exact: true }).waitFor();
  await page.getByRole('tab', { name: 'Snoozed' }).click();
  await card(page).getByRole('button', { name: 'End snooze' }).click();
  await page.getByText('No snoozed approvals').waitFor();
  await page.getByRole('tab', { name: 'Mine 1' }).click();
  // The number stays while its tab is open.
  await page.getByRole('tab', { name: 'Mine 1', selected: true }).waitFor();
  await card(page).getByText('later number 0').waitFor();
  await page.getByRole('tab', { name: 'Pending 1' }).click();
  await card(page).getByText('later number 0').waitFor();
  await accessible(page);
  await hub.call('PUT', `/api/v1/approvals/${id}`, { cookie, body: { approved: true } });
  noFaults(visit);
  await visit.context.close();
});

it('shows at once that another person took a call', async () => {
  const [id = ''] = await askMany('shared', 1, 900);
  const email = 'second@example.com';
  const body = { email, password: 'correct horse battery', roles: [{ role: 'approver', env: '*' }] };
  const added = await hub.call('POST', '/api/v1/users', { cookie, body });
  const second = await hub.login(email, body.password);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/inbox');
  await card(page).getByText('shared number 0').waitFor();
  await page.getByText('Live', { exact: true }).first().waitFor();
  const taken = await hub.call('PUT', `/api/v1/approvals/${id}/assignee`, {
    cookie: second,
    body: { user_id: added.body.user_id },
  });
  expect(taken.status).toBe(200);
  await card(page).getByText(`taken by ${email}`).waitFor();
  await hub.call('PUT', `/api/v1/approvals/${id}`, { cookie, body: { approved: true } });
  noFaults(visit);
  await visit.context.close();
});

it('takes a group back by a key, and drops a decision with the connection', async () => {
  const ids = await askMany('undone', 2, 900);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/inbox');
  await page.locator('.live-live').waitFor();
  const bar = page.getByRole('region', { name: 'Bulk decision' });
  const deny = async (): Promise<void> => {
    await page.getByRole('button', { name: /^Review 2/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Deny 2' }).click();
    await bar.getByText(/^Denying 2 calls/).waitFor();
  };
  await deny();
  await page.keyboard.press('z');
  await page.getByText('Decision taken back. Nothing was sent.').waitFor();
  await deny();
  await hub.kill();
  await page.getByText(/^The connection is lost. The decision was not sent/).waitFor();
  await hub.start();
  await reconnect(page);
  await page.locator('.live-live').waitFor();
  const { body } = await hub.call('GET', `/api/v1/approvals/${ids[0]}`, { cookie });
  expect(body.status).toBe('pending');
  noFaults(visit);
  await visit.context.close();
});

it('opens no call that another query or environment does not match, and keeps the focus in the query', async () => {
  const [id = ''] = await askMany('narrowed', 2, 300);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const query = page.getByRole('combobox', { name: 'Query' });
  const environment = page.getByRole('radiogroup', { name: 'Environment' });
  const selectAll = page.getByText(/^Select all/);
  const open = card(page);
  const text = 'tool:narrowed args.amount:>100';
  const search = async (): Promise<void> => {
    await query.fill(text);
    await query.press('Enter');
  };
  const hasFocus = (): Promise<boolean> => query.evaluate((field) => field === document.activeElement);
  // The first call is open on its own, then by its address.
  for (const address of ['', `?id=${id}`]) {
    await page.goto(`/dashboard/inbox${address}`);
    await open.getByText('narrowed number 0').waitFor();
    await open.getByRole('textbox', { name: 'Reason' }).fill('not yet');
    await search();
    await open.getByText('narrowed number 1').waitFor();
    expect(new URL(page.url()).searchParams.get('id')).toBe(null);
    expect(await selectAll.count()).toBe(0);
    await page.keyboard.press('d');
    expect(await query.inputValue()).toBe(`${text}d`);
    await page.getByRole('button', { name: 'Clear query' }).click();
    await selectAll.waitFor();
    expect(await hasFocus()).toBe(true);
  }
  await page.goto(`/dashboard/inbox?id=${id}`);
  await open.getByRole('textbox', { name: 'Reason' }).fill('not yet');
  await environment.getByRole('radio', { name: 'Production' }).check({ force: true });
  await page.getByText('No pending approvals', { exact: true }).waitFor();
  expect(await open.count()).toBe(0);
  await environment.getByRole('radio', { name: 'Staging' }).check({ force: true });
  await open.getByText('narrowed number 0').waitFor();
  expect(await open.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('not yet');
  // Back replaces the text in the bar.
  await search();
  await open.getByText('narrowed number 1').waitFor();
  await page.goBack();
  await expect.poll(() => query.inputValue()).toBe('');
  noFaults(visit);
  await visit.context.close();
});
