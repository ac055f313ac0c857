// Without sight or a mouse: every page by the rules of axe-core; by keys alone to a page, into its list, into a row and
// back; and names that say what a button is about.
import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { adminPages, ownPages, pages } from '../../src/dashboard/pages/registry.ts';
import { itAtNight, rowsOfCommit, rowsOfRun } from '../runs.ts';
import { accessible, auditPage, go, noFaults, view } from './browser.ts';
import { hubOfFile } from './file-hub.ts';
import { seed } from './seed.ts';

const { hub, cookie } = await hubOfFile();
/** Pages of one thing each, second tabs, and one with a peek. */
let places: readonly string[];
beforeAll(async () => {
  const things = await seed(hub, cookie);
  const tabs = ['/fleet?view=agents', '/policies?view=documents', '/policies?view=compositions'].concat([
    ...['/inbox?view=mine', '/inbox?view=snoozed', '/tools?view=all', '/tools?view=settings'],
    ...['tools', 'runs', 'values'].map((tab) => `/agents/shop-agent-1/${tab}`),
    '/changes/new?bundle=shop&version=1&env=production',
  ]);
  places = [...Object.values(things), ...tabs, `/explore?peek=${things['events-one']?.split('/').at(-1)}`];
});

/** More stops than any way of this file has. */
const maxStops = 60;

const hasFocus = (what: Locator): Promise<boolean> => what.evaluate((one) => one === document.activeElement);

/** Presses Tab until it has the focus. */
async function tabTo(page: Page, what: Locator): Promise<void> {
  await what.waitFor();
  for (let n = 0; n < maxStops; n += 1) {
    await page.keyboard.press('Tab');
    if (await hasFocus(what)) return;
  }
  throw new Error(`${maxStops} stops did not lead to ${what}`);
}

/** By `g` and a letter. The page has the focus then, under its name. */
async function goTo(page: Page, key: string, name: string): Promise<void> {
  await page.keyboard.press('g');
  await page.keyboard.press(key);
  await page.getByRole('heading', { name, level: 1 }).waitFor();
  await expect.poll(() => hasFocus(page.getByRole('main', { name, exact: true }))).toBe(true);
}

/** By the menu of the account: Enter opens it, and letters find the page. */
async function openAccount(page: Page, name: string): Promise<void> {
  const account = page.getByRole('button', { name: /^Account/ });
  await page.locator('button[aria-label^=Account][id]').waitFor();
  await account.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name, exact: true }).waitFor();
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name, level: 1 }).waitFor();
}

const widths = rowsOfCommit([1440, 360], 1);

it.each(widths.rows)('no page breaks a rule of axe-core at %d px', { timeout: 240_000 }, async (width) => {
  const { rows, seed: choice } = rowsOfCommit(places, 3);
  const visit = await view(hub.url, { cookie, width });
  const { page } = visit;
  const faults: string[] = [];
  const auditAt = async (path: string): Promise<void> => {
    await expect.poll(() => page.locator('[aria-busy=true], .skeleton').count(), { message: path }).toBe(0);
    await auditPage(page).catch((error: Error) => faults.push(`${path}: ${error.message}`));
  };
  await page.goto('/dashboard/');
  for (const { path, label } of [...pages, ...adminPages, ...ownPages]) {
    await go(page, path);
    await page.getByRole('heading', { name: label, level: 1 }).waitFor();
    await auditAt(path);
  }
  for (const path of rows) {
    await page.goto(`/dashboard${path}`);
    await page.locator('main h1').first().waitFor();
    await auditAt(path);
  }
  expect(faults, `SEED=${choice}`).toEqual([]);
  noFaults(visit);
  await visit.context.close();
});

describe('keys alone', () => {
  it.each(
    rowsOfRun(
      [
        ['r', 'Runs', /sample-session/, /^Run sample-session/],
        ['a', 'Audit', /: Notification channel 'On call' was created/, 'Audit entry'],
      ] as const,
      1,
    ),
  )('peek at a row of the page at g %s and come back to it', async (key, name, row, title) => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await goTo(page, key, name);
    const first = page.getByRole('table').locator('.cell-link').filter({ hasText: row }).first();
    await tabTo(page, first);
    await page.keyboard.press('Space');
    const peek = page.getByRole('complementary', { name: title });
    await peek.waitFor();
    await page.keyboard.press('Escape');
    await peek.waitFor({ state: 'hidden' });
    await expect.poll(() => hasFocus(first)).toBe(true);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('open the page of a row by Enter, and come back by the browser', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await goTo(page, 'f', 'Fleet');
    await tabTo(page, page.getByRole('tab', { name: 'Matrix' }));
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('grid', { name: 'Agents' }).getByRole('link', { name: 'shop-agent-0' }));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Agent shop-agent-0', level: 1 }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Fleet', level: 1 }).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('make a key and revoke it', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await openAccount(page, 'Keys');
    await tabTo(page, page.getByRole('button', { name: 'Create key' }));
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await tabTo(page, dialog.getByLabel('Label'));
    await page.keyboard.type('by keys');
    await page.keyboard.press('Enter');
    // The form has a button Close too, which goes when the key arrives.
    await dialog.getByRole('heading', { name: 'Copy the key now' }).waitFor();
    await tabTo(page, dialog.getByRole('button', { name: 'Close' }));
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await tabTo(page, page.getByRole('button', { name: 'Revoke by keys' }));
    await page.keyboard.press('Enter');
    await tabTo(page, dialog.getByRole('button', { name: 'Revoke key' }));
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Revoke by keys' }).waitFor({ state: 'detached' });
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('choose a theme and add a user in the settings, where each button names its person', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await openAccount(page, 'Profile');
    await tabTo(page, page.getByLabel('Theme'));
    await page.keyboard.type('Dark');
    await page.locator('html[data-theme=dark]').waitFor();
    await openAccount(page, 'People');
    await tabTo(page, page.getByRole('button', { name: 'Add user' }));
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Add user' });
    await tabTo(page, dialog.getByLabel('E-mail'));
    await page.keyboard.type('keys@example.com');
    await tabTo(page, dialog.getByLabel('Password'));
    await page.keyboard.type('correct horse battery');
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('button', { name: 'Change roles of keys@example.com' }));
    await tabTo(page, page.getByRole('button', { name: 'Remove keys@example.com' }));
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  it('leave the editor of a dialog by Escape, which closes the dialog only from its other controls', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/policies');
    await page.getByRole('button', { name: 'New contract' }).click();
    const dialog = page.getByRole('dialog', { name: 'New contract' });
    await dialog.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('# kept');
    const editor = dialog.locator('.editor');
    await expect.poll(() => hasFocus(editor)).toBe(true);
    // The first one closes the words that the editor offers, if it does.
    const left = async (): Promise<boolean> => {
      await page.keyboard.press('Escape');
      return !(await hasFocus(editor));
    };
    expect((await left()) || (await left())).toBe(true);
    await expect.poll(() => dialog.evaluate((one) => one.contains(document.activeElement))).toBe(true);
    await dialog.locator('.cm-line').filter({ hasText: '# kept' }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    noFaults(visit);
    await visit.context.close();
  });

  it('begin a page at its top, and lead from the navigation into it', async () => {
    const visit = await view(hub.url, { cookie, height: 500 });
    const { page } = visit;
    await page.goto('/dashboard/admin/system');
    await page.getByRole('region', { name: 'Node metrics' }).waitFor();
    const top = (): Promise<number> => page.getByRole('main').evaluate((main) => main.scrollTop);
    await page.getByRole('main').evaluate((main) => main.scrollTo(0, 300));
    await expect.poll(top).toBeGreaterThan(200);
    const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Policies' });
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Policies', level: 1 }).waitFor();
    await expect.poll(top).toBe(0);
    await page.keyboard.press('Tab');
    await expect.poll(() => hasFocus(page.getByRole('tab', { name: 'Contracts' }))).toBe(true);
    noFaults(visit);
    await visit.context.close();
  });
});
