// Roles and accessible names that programs and people who use screen readers rely on. Each name here begins so for
// good.
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight, rowsOfCommit } from '../runs.ts';
import { ask, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { seed } from './seed.ts';

const { hub, cookie } = await tenantOfFile();
let addresses: { readonly [name: string]: string } = {};

beforeAll(async () => {
  addresses = await seed(hub, cookie);
  await hub.call('POST', '/api/v1/compositions/shop/deploy', { cookie, body: { env: 'production' } });
  const { key } = await hub.key(cookie, 'staging');
  for (const agent of ['pair-1', 'pair-2']) await ask(hub, key, { tool_name: 'pair', timeout: 900 }, agent);
});

type Role = Parameters<Page['getByRole']>[0];
type Names = readonly (readonly [role: Role, ...names: readonly string[]])[];

const begins = (name: string) => ({ name: new RegExp(`^${name}`) });

const find = (page: Page, role: Role, name: string) => page.getByRole(role, begins(name)).first();

/** The names on the page of each address. */
const byAddress: readonly (readonly [address: string, Names])[] = [
  [
    '/',
    [
      ['radiogroup', 'Environment'],
      ['radio', 'All', 'Development', 'Staging', 'Production'],
      ['button', 'Time range', 'Search', 'Account'],
      ['region', 'Needs attention'],
      ['status', 'Live'],
    ],
  ],
  [
    '/inbox',
    [
      ['tab', 'Pending', 'Decided'],
      ['grid', 'Approvals'],
      ['button', 'Approve', 'Deny', 'Take', 'Snooze', 'Review'],
      ['textbox', 'Reason'],
    ],
  ],
  ['/inbox?view=decided', [['grid', 'Approvals']]],
  [
    '/explore',
    [
      ['combobox', 'Query'],
      ['tab', 'Search', 'Tail'],
      ['grid', 'Events'],
      ['button', 'Save view'],
    ],
  ],
  [
    '/fleet',
    [
      ['tab', 'Matrix', 'Agents', 'Assignment'],
      ['grid', 'Matrix'],
    ],
  ],
  ['/fleet?view=agents', [['grid', 'Agents']]],
  ['/policies', [['tab', 'Contracts', 'Compositions', 'Documents']]],
  ['/bundles/shop', [['button', 'Deploy', 'Roll back']]],
  [
    '/changes/new?bundle=shop&version=1&env=production',
    [
      ['region', 'Impact', 'Replay'],
      ['textbox', 'Reason'],
      ['button', 'Deploy'],
    ],
  ],
  ['events-one', [['region', 'Explain']]],
  [
    'run-one',
    [
      ['region', 'Seal'],
      ['button', 'Verify'],
    ],
  ],
  ['/audit', [['button', 'Verify']]],
  ['/evidence', [['button', 'Verify']]],
  ['/admin/keys', [['button', 'Create key']]],
];

describe('names of the console', () => {
  it('stand on the pages where they are looked for, with rows in the grids', {
    timeout: 120_000,
  }, async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    const missing: string[] = [];
    const { rows, seed: choice } = rowsOfCommit(byAddress, 2);
    for (const [address, names] of rows) {
      await page.goto(`/dashboard${addresses[address] ?? address}`);
      for (const [role, ...all] of names) {
        for (const name of all) {
          const one = find(page, role, name);
          const here = role === 'grid' ? one.getByRole('row').nth(1) : one;
          await here.waitFor({ timeout: 15_000 }).catch(() => missing.push(`${address}: ${role} ${name}`));
        }
      }
    }
    expect(missing, `SEED=${choice}`).toEqual([]);
    noFaults(seen);
    await seen.context.close();
  });

  itAtNight(
    'stand in what opens by a press: the range, the command menu, the account, and a group',
    async () => {
      const seen = await view(hub.url, { cookie });
      const { page } = seen;
      await page.goto('/dashboard/');
      await find(page, 'button', 'Time range').click();
      await find(page, 'button', 'Last 7 days').click();
      await find(page, 'button', 'Search').click();
      await find(page, 'combobox', 'Command').waitFor();
      await page.keyboard.press('Escape');
      await find(page, 'button', 'Account').click();
      await find(page, 'menuitem', 'Sign out').waitFor();
      await page.keyboard.press('Escape');
      await page.goto('/dashboard/inbox');
      await find(page, 'button', 'Review').click();
      await page.getByRole('dialog').getByRole('button', begins('Deny')).click();
      await find(page, 'button', 'Undo').click();
      await page.getByText('Decision taken back. Nothing was sent.').waitFor();
      noFaults(seen);
      await seen.context.close();
    },
  );

  itAtNight(
    'of the way out of an error is Retry, on every page whose answer fails',
    {
      timeout: 120_000,
    },
    async () => {
      const seen = await view(hub.url, { cookie });
      const { page } = seen;
      const detail = 'The store is not reachable.';
      await page.route(/\/(api\/v1|v1)\/(?!auth|health|stream|version|settings)/, (route) =>
        route.fulfill({ status: 500, json: { code: 'internal', detail } }),
      );
      for (const path of ['/inbox', '/explore', '/fleet', '/policies', '/runs', '/audit', '/admin/keys']) {
        await page.goto(`/dashboard${path}`);
        await page.getByRole('main').getByRole('button', begins('Retry')).first().waitFor();
      }
      await seen.context.close();
    },
  );
});
