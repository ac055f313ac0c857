// The names by which people, scripts and screen readers find their way: they stay what they are, on wide screens and on
// phones. And what a browser tells while nobody looks at it.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HubProcess } from '../e2e/process.ts';
import { rowsOfRun } from '../runs.ts';
import { AgentStreams } from './agent-streams.ts';
import { ask, go, noFaults, view } from './browser.ts';
import { tenantOfFile, tenantWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();
const empty = await tenantOfFile();
/** Not set up until the last test. */
const newHub = new HubProcess({ LOG_LEVEL: 'error' });

beforeAll(async () => {
  await newHub.start();
  for (const text of [library, library.replace('Deploy {args.service}', 'Really deploy {args.service}')]) {
    await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: text } });
  }
  for (const version of [1, 2]) {
    await hub.call('POST', `/api/v1/bundles/shop/${version}/deploy`, { cookie, body: { env: 'production' } });
  }
});
afterAll(() => newHub.remove());

const pages = [
  ...['Overview', 'Inbox', 'Explore', 'Fleet', 'Policies', 'Tools', 'Changes', 'Test'],
  ...['Runs', 'Audit', 'Evidence'],
];

const accountPages = [
  ...['Profile', 'Security', 'Keys', 'Channels', 'People', 'Service accounts', 'Environments'],
  ...['Assistant', 'Retention', 'System'],
];

const begins = (name: string) => ({ name: new RegExp(`^${name}`) });

/** The navigation; on a phone most of it is behind a button. */
async function navigation(page: Page, width: number) {
  if (width > 640) return page.getByRole('navigation', { name: 'Main' });
  await page.getByRole('button', { name: 'More' }).click();
  return page.getByRole('navigation', { name: 'All pages' });
}

describe.each(rowsOfRun([1440, 1024, 360], 1))('at %d px', (width) => {
  it('every page is a link of the navigation that begins with its name, and leads there', {
    timeout: 120_000,
  }, async () => {
    const visit = await view(hub.url, { cookie, width, height: 800 });
    const { page } = visit;
    await page.goto('/dashboard/');
    await page.getByRole('status').filter({ hasText: /^Live/ }).waitFor();
    for (const name of pages) {
      const all = await navigation(page, width);
      await all.getByRole('link', begins(name)).click();
      await page.getByRole('heading', { ...begins(name), level: 1 }).waitFor();
    }
    await page.getByRole('button', begins('Account')).click();
    for (const name of [...accountPages, 'Sign out'])
      await page.getByRole('menuitem', begins(name)).waitFor();
    await page.keyboard.press('Escape');
    for (const name of rowsOfRun(accountPages, 4)) {
      await page.getByRole('button', begins('Account')).click();
      await page.getByRole('menuitem', begins(name)).click();
      await page.getByRole('heading', { ...begins(name), level: 1 }).waitFor();
    }
    noFaults(visit);
    await visit.context.close();
  });

  it('fields and buttons begin with their names', async () => {
    const first = await view(newHub.url, { width, height: 800 });
    await first.page.goto('/dashboard/');
    for (const field of ['E-mail', 'Password', 'Setup token'])
      await first.page.getByRole('main').getByLabel(field).waitFor();
    await first.page.getByRole('button', begins('Create admin')).waitFor();
    await first.context.close();

    await ask(hub, key, {}, `named-${width}`);
    const visit = await view(hub.url, { width, height: 800 });
    const { page } = visit;
    await page.goto('/dashboard/admin/keys');
    await page.getByRole('textbox', begins('E-mail')).fill(hub.emailOf('admin'));
    await page.getByLabel('Password').fill('correct horse battery');
    await page.getByRole('button', begins('Sign in')).click();
    await page.getByRole('button', begins('Create key')).first().waitFor();
    await page.goto('/dashboard/bundles/shop');
    await page.getByRole('button', begins('Deploy')).first().waitFor();
    await page.getByRole('button', begins('Roll back')).first().waitFor();
    await page.goto('/dashboard/inbox');
    await page.getByRole('textbox', begins('Reason')).waitFor();
    await page.getByRole('button', begins('Approve')).waitFor();
    await page.getByRole('button', begins('Deny')).waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('the parts of pages, for an admin', () => {
  const button = (page: Page, name: string) => page.getByRole('button', begins(name)).first();
  const region = (page: Page, name: string) => page.getByRole('region', begins(name)).first();

  it('begin with their names: tabs, grids with rows, regions, comboboxes and buttons', {
    timeout: 120_000,
  }, async () => {
    const agents = new AgentStreams(hub, key);
    await agents.open('named-agent', '&bundle_name=shop');
    const event = {
      ...{ call_id: 'named', agent_id: 'named-agent', tool_name: 'read_file', verdict: 'call_denied' },
      payload: { tool_args: { path: '/srv/.env' }, decision_name: 'no-secrets' },
    };
    expect((await hub.call('POST', '/api/v1/events', { key, body: { events: [event] } })).status).toBe(200);
    expect((await hub.call('POST', '/api/v1/sample-run', { cookie })).status).toBeLessThan(300);
    for (const agent of ['named-a', 'named-b']) await ask(hub, key, { tool_name: 'named_group' }, agent);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const open = (path: string) => go(page, path);
    const tabs = async (...names: string[]): Promise<void> => {
      for (const name of names) await page.getByRole('tab', begins(name)).click();
    };
    const rowsOf = (grid: string) => page.getByRole('grid', begins(grid)).getByRole('row').nth(1).waitFor();

    await page.goto('/dashboard/');
    await region(page, 'Needs attention').waitFor();
    const environments = page.getByRole('radiogroup', { name: 'Environment' });
    await expect.poll(() => environments.getByRole('radio').count()).toBe(4);
    for (const name of ['Development', 'Staging', 'Production', 'All'])
      await environments.getByRole('radio', begins(name)).check();
    await button(page, 'Time range').click();
    await button(page, 'Last 7 days').click();
    await button(page, 'Search').click();
    await page.getByRole('combobox', begins('Command')).press('Escape');

    await open('/inbox');
    await tabs('Decided', 'Pending');
    await rowsOf('Approvals');
    await button(page, 'Take').waitFor();
    await button(page, 'Snooze').waitFor();
    await button(page, 'Review').click();
    await page.getByRole('dialog').getByRole('button', begins('Deny')).click();
    await button(page, 'Undo').click();

    await open('/explore');
    await tabs('Tail', 'Search');
    await rowsOf('Events');
    const query = page.getByRole('combobox', begins('Query'));
    await query.fill('verdict:denied');
    await query.press('Enter');
    await expect.poll(() => button(page, 'Save view').isEnabled()).toBe(true);
    await page.getByRole('grid', begins('Events')).getByText('/srv/.env').click();
    await region(page, 'Explain').waitFor();

    await open('/fleet');
    await rowsOf('Matrix');
    await tabs('Assignment', 'Matrix', 'Agents');
    await rowsOf('Agents');
    await open('/policies');
    await tabs('Documents', 'Compositions', 'Contracts');
    await open('/changes/new?bundle=shop&version=1&env=staging');
    await region(page, 'Impact').waitFor();
    await region(page, 'Replay').waitFor();
    await button(page, 'Deploy').waitFor();
    await open('/runs/sample-agent/sample-session');
    await region(page, 'Seal').getByRole('button', begins('Verify')).first().waitFor();

    await page.route(/\/api\/v1\/keys\?/, (route) =>
      route.fulfill({ status: 500, contentType: 'application/json', body: '{"detail":"It broke."}' }),
    );
    await open('/admin/keys');
    await button(page, 'Retry').waitFor();
    noFaults(visit);
    agents.close();
    await visit.context.close();
  });
});

describe('while nobody looks', () => {
  it('the title counts what waits, and who opted in is told once by the browser, which leads to the call', async () => {
    const visit = await view(hub.url, { cookie });
    const { page, context } = visit;
    await context.grantPermissions(['notifications']);
    // The browser of a test shows no notification: what is asked of it is kept.
    await page.addInitScript(`
      globalThis.told = [];
      globalThis.Notification = class {
        static permission = 'granted';
        static requestPermission = async () => 'granted';
        constructor(title, options) { this.title = title; this.options = options; told.push(this); }
      };
      Object.defineProperty(document, 'hidden', { get: () => globalThis.away === true });`);
    await page.goto('/dashboard/inbox');
    await page.getByRole('status').filter({ hasText: /^Live/ }).waitFor();
    await ask(hub, key, { tool_name: 'before_opt_in' }, 'teller');
    await page.getByRole('grid', { name: 'Approvals' }).getByText('before_opt_in').waitFor();
    await page.getByRole('button', { name: 'Turn on notifications' }).click();
    await page.getByRole('button', { name: 'Turn off notifications' }).waitFor();
    await page.evaluate('globalThis.away = true');
    const id = await ask(hub, key, { tool_name: 'while_away', message: '<b>look</b>' }, 'teller');
    const told = () => page.evaluate('told.map(({ title, options }) => [title, options.body, options.tag])');
    await expect.poll(told).toEqual([['teller requests approval of while_away', '<b>look</b>', id]]);
    const { body: waiting } = await hub.call('GET', '/api/v1/stats/overview', { cookie });
    await expect.poll(() => page.title()).toBe(`(${waiting.pending_approvals}) Inbox · Reeve`);
    await page.evaluate('told[0].onclick()');
    await page.waitForURL(new RegExp(`/approvals/${id}`));
    // A permission that is taken back is no opt-in.
    await page.addInitScript(`Notification.permission = 'denied'`);
    await page.goto('/dashboard/inbox');
    await page.getByRole('button', { name: 'Turn on notifications' }).waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a browser whose clock is an hour wrong', () => {
  it.each(rowsOfRun([3_600_000, -3_600_000], 1))(
    'counts down by the clock of the hub (%d ms)',
    async (wrong) => {
      await ask(hub, key, { tool_name: `clock_${wrong}`, timeout: 800 }, `clock-${wrong}`);
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      await page.addInitScript(`const own = Date.now; Date.now = () => own() + ${wrong};`);
      await page.goto(`/dashboard/inbox?search=clock_${wrong}`);
      const card = page.getByRole('article', { name: /^Approval of clock_/ });
      await card.getByText(/^1[23] min left$/).waitFor();
      await card.getByText(/asked (just now|\d+ s ago)/).waitFor();
      await card.getByRole('button', begins('Approve')).click();
      await card.getByText('Approved by admin@example.com').waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );
});

describe('a page without the clipboard of secure pages', () => {
  it('copies the first snippet all the same', async () => {
    const visit = await view(empty.hub.url, { cookie: empty.cookie });
    const { page } = visit;
    await page.addInitScript(`Object.defineProperty(navigator, 'clipboard', { value: undefined });
      globalThis.copied = null;
      document.execCommand = (name) => { globalThis.copied = name === 'copy' ? String(document.activeElement.value) : null; return true; };`);
    await page.goto('/dashboard/');
    await page.getByRole('button', begins('Create key')).click();
    await page.getByRole('button', { name: 'Copy code' }).click();
    await page.getByText('Code copied.').waitFor();
    expect(await page.evaluate('copied')).toBe(await page.locator('pre.code').textContent());
    await page.evaluate('document.execCommand = () => false');
    await page.getByRole('button', { name: 'Copy code' }).click();
    await page.getByText('The browser blocked the clipboard. Select the code and copy it.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a hub that somebody else sets up first', () => {
  it('says so and leads to the sign-in', async () => {
    const visit = await view(newHub.url);
    const { page } = visit;
    await page.goto('/dashboard/inbox');
    await page.getByRole('textbox', begins('E-mail')).fill('late@example.com');
    await page.getByLabel('Password').fill('correct horse battery');
    await newHub.admin();
    await page.getByRole('button', begins('Create admin')).click();
    await page.getByText(/^Another user already set up this hub/).waitFor();
    await page.getByRole('button', begins('Sign in')).waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});
