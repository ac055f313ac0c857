// The console's frame: set-up, sign-in, the live state through a restart of the hub, and a session that ends under an
// open page.
import { afterAll, describe, expect, it } from 'vitest';
import { HubProcess, lines, run } from '../e2e/process.ts';
import { rowsOfRun } from '../runs.ts';
import { accessible, ask, noFaults, reconnect, view } from './browser.ts';
import { hubWithKey } from './file-hub.ts';

const { hub, key } = await hubWithKey({ RATE_LIMIT_MAX_ATTEMPTS: '1000' });
const newHub = new HubProcess({ LOG_LEVEL: 'error' });
afterAll(() => newHub.remove());

const email = 'admin@example.com';
const password = 'correct horse battery';
const noRecords = ['/events/no-uuid', '/tools/no-uuid', '/contracts/nowhere', '/bundles/nowhere'];

describe('the web console', () => {
  it('sets a new hub up, signs in, and is live, within 200 KB', async () => {
    await newHub.start();
    const visit = await view(newHub.url);
    const { page } = visit;
    const sentAt = new Map<string, number>();
    const loads: { at: number; bytes: number }[] = [];
    const session = await visit.context.newCDPSession(page);
    await session.send('Network.enable');
    session.on('Network.requestWillBeSent', ({ requestId, wallTime }) =>
      sentAt.set(requestId, wallTime * 1000),
    );
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength: bytes }) => {
      loads.push({ at: sentAt.get(requestId) ?? 0, bytes });
    });
    // Code that loads after the page is complete does not count, however late this test looks.
    await page.addInitScript(`new MutationObserver(() => {
      if (document.body?.textContent.includes('Pending approvals')) window.usableAt ??= Date.now();
    }).observe(document, { childList: true, subtree: true })`);
    await page.goto('/');
    expect(page.url()).toBe(`${newHub.url}/dashboard/`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill('short');
    await page.getByLabel('Setup token').waitFor();
    await accessible(page);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Create admin' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page
      .getByRole('status')
      .filter({ hasText: /^Live$/ })
      .waitFor();
    await page.getByText('Pending approvals', { exact: true }).waitFor();
    const usableAt = Number(await page.evaluate('window.usableAt'));
    const first = loads.filter(({ at }) => at <= usableAt);
    expect(first.length).toBeGreaterThan(10);
    expect(first.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(200 * 1024);
    noFaults(visit);
    await visit.context.close();
  });

  it('signs in where somebody wanted to go, and says why it cannot', async () => {
    const visit = await view(hub.url, { theme: 'dark' });
    const { page } = visit;
    await page.goto('/dashboard/inbox?view=decided');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill('wrong horse battery');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await accessible(page);
    expect(await page.getByLabel('E-mail').inputValue()).toBe(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    expect(page.url()).toBe(`${hub.url}/dashboard/inbox?view=decided`);
    noFaults(visit);
    await visit.context.close();
  });

  it('says that an address has no record, without a Retry that cannot help', async () => {
    const cookie = await hub.login();
    const visit = await view(hub.url, { cookie });
    for (const path of rowsOfRun(noRecords, 2)) {
      await visit.page.goto(`/dashboard${path}`);
      await visit.page
        .getByRole('alert')
        .filter({ hasText: /not found/i })
        .waitFor();
      expect(await visit.page.getByRole('button', { name: 'Retry' }).count()).toBe(0);
    }
    noFaults(visit);
    await visit.context.close();
  });

  it('says that it reconnects while the hub is away, and is live again by itself', async () => {
    const cookie = await hub.login();
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const state = page.getByRole('status');
    await page.goto('/dashboard/');
    await state.filter({ hasText: /^Live$/ }).waitFor();
    await hub.kill();
    try {
      await state.filter({ hasText: /^Reconnecting$/ }).waitFor();
      await page.getByText(/The hub has not responded since/).waitFor();
      await accessible(page);
      await state.filter({ hasText: /^Stale since \d\d:\d\d$/ }).waitFor();
      // The bar stays as long as the hub is away, so the button cannot go from under the pointer.
      await page.getByRole('button', { name: 'Reconnect now' }).click();
    } finally {
      await hub.start();
    }
    await reconnect(page);
    await state.filter({ hasText: /^Live$/ }).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('asks for the password over the page when the session ends, and keeps what was typed', async () => {
    const cookie = await hub.login();
    await ask(hub, key);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/inbox');
    await page.getByLabel('Reason', { exact: true }).fill('because of this');
    const other = await visit.context.newPage();
    await other.goto('/dashboard/policies');
    await other.getByRole('heading', { name: 'Policies' }).waitFor();
    // Nothing is pressed: the stream tells that the session is over, in every tab.
    await hub.call('POST', '/api/v1/auth/logout', { cookie });
    const elsewhere = other.getByRole('dialog', { name: 'Sign in again' });
    await elsewhere.waitFor();
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await dialog.waitFor();
    await accessible(page);
    await dialog.getByLabel('Password').fill(password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await elsewhere.waitFor({ state: 'hidden' });
    await other.locator('.live-live').waitFor();
    await other.close();
    expect(await page.getByLabel('Reason', { exact: true }).inputValue()).toBe('because of this');
    await page.getByRole('button', { name: /^Approve/ }).click();
    await page.getByText(`Approved by ${email}`).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('leads by keys and names every page in the navigation', async () => {
    const cookie = await hub.login();
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    const main = page.getByRole('navigation', { name: 'Main' });
    await main.getByRole('link', { name: /^Overview/ }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  it('keeps theme and times by the menu of the person, which a first press loads, and signs out', async () => {
    const cookie = await hub.login();
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    const account = page.getByRole('button', { name: `Account ${email}` });
    await account.focus();
    await page.keyboard.press('Enter');
    const menu = page.getByRole('menu');
    await menu.getByRole('menuitemradio', { name: 'Dark' }).click();
    await page.locator('html[data-theme=dark]').waitFor();
    await menu.getByRole('menuitemcheckbox', { name: 'Times in UTC' }).click();
    await menu.getByRole('menuitemcheckbox', { name: 'Times in UTC', checked: true }).waitFor();
    await page.keyboard.press('Escape');
    await menu.waitFor({ state: 'hidden' });
    await expect.poll(() => account.evaluate((button) => button === document.activeElement)).toBe(true);
    await page.reload();
    await page.locator('html[data-theme=dark]').waitFor();
    // Loaded by itself, it takes the place of the button that has the focus.
    await account.focus();
    await page.locator('button[aria-label^=Account][id]').waitFor();
    await expect.poll(() => account.evaluate((button) => button === document.activeElement)).toBe(true);
    await page.keyboard.press('Enter');
    await menu.getByRole('menuitemcheckbox', { name: 'Times in UTC', checked: true }).waitFor();
    await menu.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Password').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('signs in by a link that was made through the data folder, once', async () => {
    const { text, code } = await run({ DATA_DIR: hub.dataDir, BASE_URL: hub.url }, ['login-link']);
    expect(code).toBe(0);
    const [url = ''] = lines(text);
    expect(url).toMatch(new RegExp(`^${hub.url}/dashboard/#login=[\\w-]{43}$`));
    const visit = await view(hub.url);
    await visit.page.goto(url);
    await visit.page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(visit.page.url()).toBe(`${hub.url}/dashboard/`);
    await visit.page.getByRole('button', { name: `Account ${email}` }).waitFor();
    const other = await view(hub.url);
    await other.page.goto(url);
    await other.page.getByText(/This sign-in link is not valid/).waitFor();
    expect(hub.printed).not.toContain(url.slice(-43));
    noFaults(visit);
    await Promise.all([visit.context.close(), other.context.close()]);
  });
});
