// An approval as a page of its own, and what may be approved: only what was in view to its end; keys in the reason; and
// the card that comes after a decision.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { rowsOfRun } from '../runs.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

const { hub, cookie, key } = await tenantWithKey();

const statusOf = async (id: string): Promise<{ status: string; decision_reason: string | null }> =>
  (await hub.call('GET', `/api/v1/approvals/${id}`, { cookie })).body;

const approve = (page: Page) => page.getByRole('button', { name: /^Approve/ });
const unread = (page: Page) => page.getByText('To approve, first read the arguments to the end.');
const longCommand = Array.from({ length: 80 }, (_, n) => `echo step ${n}`).join('\n');

describe('the page of an approval', () => {
  it.each(
    rowsOfRun(
      [
        [360, 740],
        [1440, 900],
      ],
      1,
    ),
  )('approves at %d px once the arguments were in view to their end', async (width, height) => {
    const command = `${longCommand}\nrm -rf / # the end`;
    const id = await ask(hub, key, { tool_name: `long_${width}`, tool_args: { command }, timeout: 3_600 });
    const visit = await view(hub.url, { cookie, width, height, touch: width === 360 });
    const { page } = visit;
    await page.goto(`/dashboard/approvals/${id}`);
    await page.getByRole('heading', { name: 'Approval', level: 1 }).waitFor();
    await unread(page).waitFor();
    expect(await approve(page).isDisabled()).toBe(true);
    await expect.poll(() => page.getByRole('button', { name: /^Deny/ }).isEnabled()).toBe(true);
    await page.keyboard.press('a');
    await accessible(page);
    expect((await statusOf(id)).status).toBe('pending');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    await page.locator('.read-end').evaluate((end) => end.scrollIntoView({ block: 'center' }));
    await unread(page).waitFor({ state: 'detached' });
    await approve(page).click();
    // A phone asks once more in production.
    if (width === 360) await page.getByRole('button', { name: /^Approve echo step 0/ }).click();
    await page.getByText('Approved by admin@example.com').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('counts nothing as read while a part is folded', async () => {
    const text = `${'a harmless beginning '.repeat(40)}; rm -rf / ;${' and a harmless end'.repeat(40)}`;
    const patch = `@@ -1 +1 @@\n+${'x'.repeat(3_000)}`;
    const id = await ask(hub, key, { tool_name: 'folded', tool_args: { note: text, patch }, timeout: 3_600 });
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard/approvals/${id}`);
    const end = page.locator('.read-end');
    await unread(page).waitFor();
    await end.scrollIntoViewIfNeeded();
    await page.getByRole('button', { name: /^Show all [\d,]+ characters/ }).click();
    await page.getByText('rm -rf /').waitFor();
    expect(await approve(page).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Wrap long lines' }).click();
    await end.scrollIntoViewIfNeeded();
    await expect.poll(() => approve(page).isEnabled()).toBe(true);
    noFaults(visit);
    await visit.context.close();
  });

  it('names nobody who decided an approval that expired, and no key decides it after its deadline', async () => {
    const timeout = 25;
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PUT') sent.push(request.url());
    });
    await page.clock.install();
    const open = async (id: string): Promise<void> => {
      await page.goto(`/dashboard/approvals/${id}`);
      await expect.poll(() => page.getByRole('button', { name: /^Deny/ }).isEnabled()).toBe(true);
    };
    const late = await ask(hub, key, { tool_name: 'too_late', timeout });
    await open(late);
    await page.clock.fastForward(timeout * 1_000);
    await page.getByText('The time limit has passed. The hub is closing this approval.').waitFor();
    await page.keyboard.press('d');
    await page.waitForTimeout(200);
    expect(sent).toEqual([]);
    const id = await ask(hub, key, { tool_name: 'lost_to_none', timeout: 3_600 });
    const { body } = await hub.call('GET', `/api/v1/approvals/${id}`, { cookie });
    const ended = { ...body, status: 'timeout', decided_at: new Date().toISOString() };
    const refusal = { error: 'conflict', detail: 'Approval already decided or timed out.' };
    let isEnded = false;
    // Before the page opens: in the first moment after a first route, a request of an open page can pass it by.
    await page.route(`**/api/v1/approvals/${id}`, (route) => {
      if (route.request().method() === 'PUT') isEnded = true;
      if (!isEnded) return route.fallback();
      const isRead = route.request().method() === 'GET';
      return route.fulfill(isRead ? { status: 200, json: ended } : { status: 409, json: refusal });
    });
    await open(id);
    await page.keyboard.press('d');
    await page.getByText('Expired: the call was denied').waitFor();
    expect(await page.getByText('Another user decided first.').count()).toBe(0);
    const denial = { cookie, body: { approved: false, decided_via: 'dashboard' } };
    await hub.call('PUT', `/api/v1/approvals/${late}`, denial);
    noFaults(visit);
    await visit.context.close();
  });

  it('is in the navigation under Inbox, says what does not exist, and leads to the next', async () => {
    const [first, second] = [
      await ask(hub, key, { tool_name: 'first_of_two', timeout: 20 * 60 }),
      await ask(hub, key, { tool_name: 'second_of_two', timeout: 21 * 60 }),
    ];
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard/approvals/${first}`);
    const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: /^Inbox/ });
    await expect.poll(() => link.getAttribute('aria-current')).toBe('page');
    await page.getByRole('main', { name: 'Inbox' }).waitFor();
    await page.getByRole('heading', { name: 'first_of_two' }).waitFor();
    await page.keyboard.press('d');
    await page.getByText('Denied by admin@example.com').waitFor();
    await page.getByRole('link', { name: /^Next: second_of_two/ }).click();
    await page.waitForURL(new RegExp(`/dashboard/approvals/${second}$`));
    await page.getByRole('heading', { name: 'second_of_two' }).waitFor();
    await page.goto('/dashboard/approvals/00000000-0000-4000-8000-000000000000');
    await page.getByText('Approval not found').waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('the reason by keys', () => {
  it('is left and kept by Escape, after which letters decide; Ctrl Enter decides from the field', async () => {
    const ids = [
      await ask(hub, key, { tool_name: 'by_keys', timeout: 601 }, 'keys-1'),
      await ask(hub, key, { tool_name: 'by_keys', timeout: 602 }, 'keys-2'),
      await ask(hub, key, { tool_name: 'by_keys', timeout: 603 }, 'keys-3'),
    ];
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const card = page.getByRole('article', { name: 'Approval of by_keys' });
    const next = (agent: string) => card.filter({ hasText: `${agent} asked` });
    const write = async (text: string): Promise<void> => {
      await expect.poll(() => approve(page).isEnabled()).toBe(true);
      await page.keyboard.press('r');
      await page.keyboard.type(text);
    };
    await page.goto('/dashboard/inbox?search=by_keys');
    await next('keys-1').waitFor();
    await write('looked at a path');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('looked at a path');
    await page.keyboard.press('a');
    await next('keys-2').waitFor();
    await card.getByText('Approved by admin@example.com').waitFor();
    expect(await statusOf(ids[0] ?? '')).toMatchObject({
      status: 'approved',
      decision_reason: 'looked at a path',
    });
    await accessible(page);
    await write('fine');
    await page.keyboard.press('ControlOrMeta+Enter');
    await next('keys-3').waitFor();
    expect(await statusOf(ids[1] ?? '')).toMatchObject({ status: 'approved', decision_reason: 'fine' });
    await write('no');
    await page.keyboard.press('ControlOrMeta+Shift+Enter');
    await card.getByText('Denied by admin@example.com').waitFor();
    expect(await statusOf(ids[2] ?? '')).toMatchObject({ status: 'denied', decision_reason: 'no' });
    noFaults(visit);
    await visit.context.close();
  });

  it('decide one call, however long a key is held', async () => {
    const ids = [
      await ask(hub, key, { tool_name: 'held_key', timeout: 701 }, 'held-1'),
      await ask(hub, key, { tool_name: 'held_key', timeout: 702 }, 'held-2'),
    ];
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/inbox?search=held_key');
    await expect.poll(() => approve(page).isEnabled()).toBe(true);
    await page.keyboard.down('a');
    await page.getByText('Approved by admin@example.com').waitFor();
    const card = page.getByRole('article').filter({ hasText: 'held-2 asked' });
    await expect.poll(() => card.getByRole('button', { name: /^Approve/ }).isEnabled()).toBe(true);
    for (let n = 0; n < 5; n += 1) await page.keyboard.down('a');
    await page.keyboard.up('a');
    expect((await statusOf(ids[1] ?? '')).status).toBe('pending');
    noFaults(visit);
    await visit.context.close();
  });
});
