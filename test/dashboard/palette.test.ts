// The palette and the keys of actions: what each leads to, where the focus is then, and what it says to who may not.
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight, rowsOfRun } from '../runs.ts';
import { accessible, noFaults, type View, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { seed } from './seed.ts';

const { hub, cookie } = await tenantOfFile();
beforeAll(async () => {
  await seed(hub, cookie);
});

const focusedName = (page: Page): Promise<string> =>
  page.evaluate(`(() => {
    const one = document.activeElement;
    return one?.labels?.[0]?.textContent ?? one?.getAttribute('aria-label') ?? one?.tagName ?? '';
  })()`) as Promise<string>;

async function opened(path: string, options: Parameters<typeof view>[1] = { cookie }): Promise<View> {
  const visit = await view(hub.url, options);
  await visit.page.goto(`/dashboard${path}`);
  await visit.page.locator('main h1').waitFor();
  return visit;
}

const field = (page: Page) => page.getByRole('combobox', { name: /^Command/ });

/** Types into the palette, and takes the first that fits. */
async function choose(page: Page, text: string, first: string | RegExp): Promise<void> {
  await page.keyboard.press('Control+k');
  await field(page).fill(text);
  await page.getByRole('option', { selected: true }).filter({ hasText: first }).waitFor();
  await page.keyboard.press('Enter');
  // Until the dialog is gone, keys are its own.
  await page.locator('.dialog-palette').waitFor({ state: 'detached' });
}

describe('the palette', () => {
  it('lists what the page offers, pages with their keys and actions, and the last choice first', async () => {
    const visit = await opened('/policies');
    const { page } = visit;
    await page.keyboard.press('Control+k');
    const here = page.getByRole('group', { name: 'On this page' });
    await here.getByRole('option', { name: /^New contract/ }).waitFor();
    await accessible(page);
    await field(page).fill('utc');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+k');
    const recent = page.getByRole('group', { name: 'Recent' });
    await recent.getByRole('option', { name: /^Show local times/ }).waitFor();
    await page.keyboard.press('Enter');
    noFaults(visit);
    await visit.context.close();
  });

  it('finds a key by its whole label, which may be longer than the text of a search', async () => {
    const label = `key ${'long-'.repeat(45)}end`;
    const { status } = await hub.call('POST', '/api/v1/keys', { cookie, body: { env: 'staging', label } });
    expect(status).toBe(201);
    const visit = await opened('/');
    const { page } = visit;
    await page.keyboard.press('Control+k');
    await field(page).fill(label);
    await page.getByRole('option', { name: /^key long-/ }).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it.each(
    rowsOfRun(
      [
        ['create key', /^Create key/, '/admin/keys', 'Label'],
        ['comp new', /^New composition/, '/policies', 'Name'],
        ['add user', /^Add user/, '/admin/people', 'E-mail'],
        ['your password', /^Change your password/, '/me/security', 'Current password'],
        ['rotate', /^Rotate signing key/, '/evidence', 'Type rotate to confirm'],
        ['purge', /^Purge old events/, '/admin/retention', 'Older than (days)'],
      ],
      1,
    ),
  )('leads from Home by "%s" to the field that is filled in first', async (text, first, path, field) => {
    const visit = await opened('/');
    const { page } = visit;
    await choose(page, text, first);
    await expect.poll(() => focusedName(page)).toBe(field);
    expect(new URL(page.url()).pathname).toBe(`/dashboard${path}`);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight(
    'deploys a composition, rolls a bundle back and takes it away by name, in the environment that was meant',
    async () => {
      // A second version, so that there is one to go back to.
      const { body } = await hub.call('GET', '/api/v1/bundles/shop/1/yaml', { cookie });
      const text = String(body).replace('What the agents of the shop may do', 'What they may do');
      const bundle = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: text } });
      const path = `/api/v1/bundles/shop/${bundle.body.version}/deploy`;
      await hub.call('POST', path, { cookie, body: { env: 'staging' } });
      const visit = await opened('/');
      const { page } = visit;
      await choose(page, 'deploy shop', /^Deploy shop/);
      await page
        .getByRole('region', { name: /^(Change|Deployment of) shop/ })
        .getByRole('button', { name: /^Deploy to/ })
        .waitFor();
      await choose(page, 'roll shop stag', /^Roll back shop in staging/);
      await page
        .getByRole('region', { name: /^(Change|Deployment of) shop/ })
        .getByRole('button', { name: /^Roll back staging/ })
        .waitFor();
      await choose(page, 'undep shop prod', /^Undeploy shop from production/);
      await page
        .getByRole('region', { name: /^Undeploy shop from production/ })
        .getByRole('button', { name: 'Undeploy from production' })
        .waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );

  it('opens a contract, a ruleset, a run and a waiting call by a part of the name', async () => {
    await hub.call('POST', '/api/v1/sample-run', { cookie, body: {} });
    const visit = await opened('/');
    const { page } = visit;
    await choose(page, 'nosecr', /^no-secrets/);
    await page.getByRole('region', { name: 'Contract no-secrets' }).waitFor();
    await choose(page, 'sample-guard ruleset', /^sample-guardrails/);
    await page.getByRole('region', { name: /^Ruleset / }).waitFor();
    await choose(page, 'sample-session run', /^sample-session/);
    await page.getByRole('region', { name: /^Run / }).waitFor();
    await choose(page, 'decide deploy shop-agent', /^Decide deploy from shop-agent-1/);
    await page.getByRole('button', { name: /^Approve/ }).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('finds what the hub finds: an event by its id, a person, and calls by a query', async () => {
    const { body } = await hub.call('GET', '/api/v1/events?limit=1', { cookie });
    const visit = await opened('/');
    const { page } = visit;
    await choose(page, body[0].id, new RegExp(body[0].tool_name));
    await page.waitForURL((url) => url.pathname.endsWith(`/events/${body[0].id}`));
    await choose(page, 'admin@example', /^admin@example\.com/);
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    await choose(page, 'tool:refund', /^Search calls: tool:refund/);
    await page.waitForURL((url) => url.searchParams.get('q') === 'tool:refund');
    noFaults(visit);
    await visit.context.close();
  });

  it('does by a key what it lists, pauses the list and the tail, and decides the call that is looked at', async () => {
    const visit = await opened('/explore');
    const { page } = visit;
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Follow live' }).waitFor();
    await choose(page, 'follow', /^Follow live/);
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await choose(page, 'copy link', /^Copy link/);
    await page.getByText('Link copied.').waitFor();
    await page.keyboard.press('l');
    await expect.poll(() => new URL(page.url()).searchParams.get('view')).toBe('tail');
    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keys' });
    await keys.getByText('Close live tail').waitFor();
    await accessible(page);
    // For who slips, or speaks to the machine: letters alone do nothing then.
    await keys.getByLabel('Use single-letter keys').uncheck();
    await page.keyboard.press('Escape');
    await keys.waitFor({ state: 'hidden' });
    await page.keyboard.press('l');
    expect(new URL(page.url()).searchParams.get('view')).toBe('tail');
    await choose(page, 'letter on', /^Turn on single-letter keys/);
    await page.keyboard.press('l');
    await expect.poll(() => new URL(page.url()).searchParams.get('view')).toBe(null);
    await page.goto('/dashboard/inbox');
    await page.getByRole('button', { name: /^Approve/ }).waitFor();
    await choose(page, 'deny', /^Deny \S+ from shop-agent/);
    await page.getByText('Denied by admin@example.com').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('switches to no environment in which a person has no role', async () => {
    const body = {
      email: hub.emailOf('stager'),
      password: 'correct horse battery',
      roles: [{ role: 'approver', env: 'staging' }],
    };
    expect((await hub.call('POST', '/api/v1/users', { cookie, body })).status).toBe(201);
    const visit = await opened('/', { cookie: await hub.login(body.email) });
    const { page } = visit;
    await page.keyboard.press('Control+k');
    await field(page).fill('switch to production');
    const option = page.getByRole('option', { name: /^Switch to production You have no role in production/ });
    await expect.poll(() => option.getAttribute('aria-disabled')).toBe('true');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    expect(new URL(page.url()).searchParams.get('env')).toBeNull();
    await choose(page, 'switch to staging', /^Switch to staging/);
    await page.waitForURL((url) => url.searchParams.get('env') === 'staging');
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('says to who is no admin why an action is not for them', async () => {
    const body = { email: hub.emailOf('member'), password: 'correct horse battery' };
    expect((await hub.call('POST', '/api/v1/users', { cookie, body })).status).toBe(201);
    const visit = await opened('/', { cookie: await hub.login(body.email) });
    const { page } = visit;
    await page.keyboard.press('Control+k');
    await field(page).fill('rotate');
    const option = page.getByRole('option', { name: /^Rotate signing key You need the role admin/ });
    await option.waitFor();
    await expect.poll(() => option.getAttribute('aria-disabled')).toBe('true');
    await page.keyboard.press('Enter');
    await page.getByText('Rotate signing key: You need the role admin. Ask an admin.').waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });
});
