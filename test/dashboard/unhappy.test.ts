// The console's messages about trouble: a right that was taken away, an answer of something in between, and a
// hub that is gone and comes back.
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { isNightly, itAtNight } from '../runs.ts';
import { accessible, ask, noFaults, reconnect, view } from './browser.ts';
import { hubWithKey } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie, key } = await hubWithKey();

beforeAll(async () => {
  await hub.call('POST', '/api/v1/contracts/import', { cookie, body: { yaml_content: library } });
});

const statusOf = async (id: string): Promise<string> =>
  (await hub.call('GET', `/api/v1/approvals/${id}`, { cookie })).body.status;

const live = (page: Page) => page.getByRole('status').filter({ hasText: /^Live$/ });

/** Once, in place of the hub: what a proxy before it may answer to a change. Reads go through. */
function answerOnce(page: Page, path: RegExp, status: number, headers: { [name: string]: string }) {
  let isAnswered = false;
  return page.route(path, (route) => {
    if (isAnswered || !['PUT', 'POST'].includes(route.request().method())) return route.continue();
    isAnswered = true;
    return route.fulfill({
      status,
      headers,
      contentType: 'application/json',
      body: '{"detail":"Not now.","code":"overloaded"}',
    });
  });
}

describe('approvals', { timeout: 60_000 }, () => {
  it.runIf(isNightly).each([
    [429, '7'],
    [503, '2'],
  ])(
    'a %d leaves the call waiting, says when to try again, and the next press decides',
    async (status, after) => {
      const id = await ask(hub, key, { tool_name: `busy_${status}` }, 'agent-u');
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      await page.goto(`/dashboard/approvals/${id}`);
      await answerOnce(page, new RegExp(`/approvals/${id}$`), status, { 'Retry-After': after });
      await page.getByRole('button', { name: /^Approve/ }).click();
      await page.getByText(`Try again in ${after} s.`).waitFor();
      await accessible(page);
      expect(await statusOf(id)).toBe('pending');
      await page.getByRole('button', { name: /^Approve/ }).click();
      await page.getByText('Approved by admin@example.com').waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );

  it('a 403 says that one may not, and whom to ask', async () => {
    const id = await ask(hub, key, { tool_name: 'not_mine' }, 'agent-u');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard/approvals/${id}`);
    await answerOnce(page, new RegExp(`/approvals/${id}$`), 403, {});
    await page.getByRole('button', { name: /^Deny/ }).click();
    await page.getByText('Permission denied.').waitFor();
    await page.getByText('Ask an admin to do this').waitFor();
    await accessible(page);
    expect(await statusOf(id)).toBe('pending');
    noFaults(visit);
    await visit.context.close();
  });

  it('while the hub is gone nothing is pretended; when it is back the same press decides', async () => {
    const id = await ask(hub, key, { tool_name: 'through_restart', timeout: 600 }, 'agent-u');
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto(`/dashboard/approvals/${id}`);
    await live(page).waitFor();
    await page.getByLabel('Reason', { exact: true }).fill('kept through it');
    await hub.kill();
    try {
      await page.getByRole('button', { name: /^Deny/ }).click();
      // The page itself may say so, too.
      await page.getByText('The hub did not respond, so your action').waitFor();
    } finally {
      // The other tests need it.
      await hub.start();
    }
    await reconnect(page);
    await live(page).waitFor();
    await page.getByRole('button', { name: /^Deny/ }).click();
    await page.getByText('Denied by admin@example.com').waitFor();
    const { body } = await hub.call('GET', `/api/v1/approvals/${id}`, { cookie });
    expect(body).toMatchObject({ status: 'denied', decision_reason: 'kept through it' });
    noFaults(visit);
    await visit.context.close();
  });
});

describe('deploys', { timeout: 60_000 }, () => {
  it('refused for a right that was taken away meanwhile', async () => {
    const broken = library.replace('name: shop', 'name: broken').replace('args.path:', 'argz.path:');
    await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: broken } });
    const person = { email: 'second@example.com', password: 'correct horse battery', is_admin: true };
    const { body: user } = await hub.call('POST', '/api/v1/users', { cookie, body: person });
    const own = await hub.login(person.email, person.password);
    const visit = await view(hub.url, { cookie: own });
    const { page } = visit;
    await page.goto('/dashboard/bundles/broken');
    await page.getByRole('button', { name: 'Deploy v1' }).click();
    const plan = page.getByRole('region', { name: /^(Change|Deployment of) broken/ });
    await plan.getByRole('button', { name: 'Deploy v1 to production' }).click();
    await plan.getByLabel('Reason').fill('it must be');
    await plan.getByLabel('Type production to confirm').fill('production');
    const { status } = await hub.call('PATCH', `/api/v1/users/${user.user_id}`, {
      cookie,
      body: { is_admin: false },
    });
    expect(status).toBe(200);
    // The streams of somebody whose roles change end, and the page reads the roles again. Nobody is signed out.
    await plan
      .getByText('Only an admin can deploy a document with errors. Fix the errors, or ask an admin.')
      .waitFor();
    expect((await hub.call('GET', '/api/v1/deployments', { cookie })).body).toEqual([]);
    noFaults(visit);
    await visit.context.close();
  });

  it('without an answer the plan says that the outcome is unknown; when the hub is back it deploys', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/compositions/shop');
    await live(page).waitFor();
    await page.getByRole('button', { name: 'Deploy shop' }).click();
    const plan = page.getByRole('region', { name: /^(Change|Deployment of) shop/ });
    await plan.getByText(/added/).first().waitFor();
    await answerOnce(page, /\/compositions\/shop\/deploy/, 503, { 'Retry-After': '3' });
    const deploy = plan.getByRole('button', { name: 'Deploy to production' });
    await deploy.click();
    await plan.getByText('Try again in 3 s.').waitFor();
    await page.route(/\/compositions\/shop\/deploy/, (route) => route.abort(), { times: 1 });
    await deploy.click();
    await plan
      .getByText(/your action may have taken effect\. Check the result before you try again\./)
      .waitFor();
    await plan.getByText(/^The deployment may have taken effect\./).waitFor();
    await hub.kill();
    try {
      await deploy.click();
      // Nothing is sent before the text is compared with the reviewed one.
      await plan.getByText('The hub did not respond. Check that it is running, then try again.').waitFor();
      expect(await plan.getByText(/may have taken effect/).count()).toBe(0);
    } finally {
      await hub.start();
    }
    await page.locator('.live-live').waitFor({ timeout: 40_000 });
    await deploy.click();
    await plan.getByText('shop v1 is deployed to production.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('slow answers', { timeout: 60_000 }, () => {
  itAtNight(
    'leave the shape of what comes, and the other pages; what was asked for is shown when it is there',
    async () => {
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      let letGo = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      await page.route(/\/api\/v1\/contracts\?/, async (route) => {
        await held;
        await route.continue();
      });
      await page.goto('/dashboard/policies');
      await page.getByRole('heading', { name: 'Policies', level: 1 }).waitFor();
      await page.locator('.skeleton').first().waitFor();
      await accessible(page);
      await page.getByRole('link', { name: 'Changes' }).click();
      await page.getByRole('heading', { name: 'Changes', level: 1 }).waitFor();
      await page.goBack();
      await page.locator('.skeleton').first().waitFor();
      letGo();
      await page.getByRole('link', { name: 'no-secrets' }).waitFor();
      expect(await page.locator('.skeleton').count()).toBe(0);
      noFaults(visit);
      await visit.context.close();
    },
  );
});
