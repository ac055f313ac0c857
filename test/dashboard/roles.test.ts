// Roles and accessible names that programs and people who use screen readers rely on. Each name here begins so for
// good.
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight, rowsOfCommit } from '../runs.ts';
import { ask, go, noFaults, view } from './browser.ts';
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

/** Names that checks of others rely on. They only ever get longer. */
const promised: Names = [
  ['link', 'Overview', 'Inbox', 'Explore', 'Fleet', 'Policies', 'Tools', 'Changes', 'Test', 'Runs'],
  ['link', 'Audit', 'Evidence'],
  ['menuitem', 'Keys', 'Channels', 'People', 'Service accounts', 'Environments', 'Assistant', 'Retention'],
  ['menuitem', 'System', 'Profile', 'Security', 'Sign out'],
  ['radiogroup', 'Environment'],
  ['radio', 'All', 'Development', 'Staging', 'Production'],
  ['button', 'Account', 'Time range', 'Last 7 days', 'Search', 'Create admin', 'Sign in', 'Approve', 'Deny'],
  ['button', 'Review', 'Undo', 'Take', 'Snooze', 'Deploy', 'Roll back', 'Create key', 'Save view', 'Verify'],
  ['button', 'Retry'],
  ['combobox', 'Query', 'Command'],
  ['textbox', 'E-mail', 'Password', 'Setup token', 'Reason'],
  ['tab', 'Matrix', 'Agents', 'Assignment', 'Contracts', 'Compositions', 'Documents', 'Pending', 'Decided'],
  ['tab', 'Search', 'Tail'],
  ['region', 'Needs attention', 'Explain', 'Impact', 'Replay', 'Seal'],
  ['grid', 'Approvals', 'Events', 'Matrix', 'Agents'],
  ['status', 'Live', 'Reconnecting', 'Stale'],
];

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
      ['link', 'Overview', 'Inbox', 'Explore', 'Fleet', 'Policies', 'Tools', 'Changes', 'Test', 'Runs'],
      ['link', 'Audit', 'Evidence'],
    ],
  ],
  [
    '/inbox',
    [
      ['combobox', 'Query'],
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
  [
    '/fleet?view=agents',
    [
      ['grid', 'Agents'],
      ['combobox', 'Query'],
    ],
  ],
  ['/runs', [['combobox', 'Query']]],
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
  [
    '/audit',
    [
      ['button', 'Verify'],
      ['combobox', 'Query'],
    ],
  ],
  ['/evidence', [['button', 'Verify']]],
  ['/admin/keys', [['button', 'Create key']]],
];

/** Names that stand where something else comes first; beside each, the test that finds it. */
const elsewhere: readonly (readonly [Role, string, test: string])[] = [
  ...['Create admin', 'Sign in'].map((name) => ['button', name, 'names.test.ts'] as const),
  ...['E-mail', 'Password', 'Setup token'].map((name) => ['textbox', name, 'names.test.ts'] as const),
  ['button', 'Retry', 'names.test.ts'],
  ['status', 'Reconnecting', 'frame.test.ts'],
  ['status', 'Stale', 'frame.test.ts'],
];

/** Names in what opens by a press. */
const opened: Names = [
  ['button', 'Last 7 days', 'Undo'],
  ['combobox', 'Command'],
  ['menuitem', 'Keys', 'Channels', 'People', 'Service accounts', 'Environments', 'Assistant', 'Retention'],
  ['menuitem', 'System', 'Profile', 'Security', 'Sign out'],
];

describe('names of the console', () => {
  it('are all looked for: on pages, in what opens by a press, or in a test of what comes before', () => {
    const flat = (names: Names): string[] =>
      names.flatMap(([role, ...all]) => all.map((name) => `${role} ${name}`));
    const lookedFor = new Set([
      ...byAddress.flatMap(([, names]) => flat(names)),
      ...flat(opened),
      ...elsewhere.map(([role, name]) => `${role} ${name}`),
    ]);
    expect(flat(promised).filter((name) => !lookedFor.has(name))).toEqual([]);
    for (const [, name, file] of elsewhere)
      expect(readFileSync(new URL(file, import.meta.url), 'utf8'), `${name} in ${file}`).toContain(name);
  });

  it('stand on the pages where they are looked for, with rows in the grids', {
    timeout: 120_000,
  }, async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
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
    noFaults(visit);
    await visit.context.close();
  });

  // Per commit names.test.ts finds these on its way.
  itAtNight(
    'stand in what opens by a press: the range, the command menu, the account, and a group',
    async () => {
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      await page.goto('/dashboard/');
      await find(page, 'button', 'Time range').click();
      await find(page, 'button', 'Last 7 days').click();
      await find(page, 'button', 'Search').click();
      await find(page, 'combobox', 'Command').waitFor();
      await page.keyboard.press('Escape');
      await find(page, 'button', 'Account').click();
      for (const [role, ...names] of opened.filter(([role]) => role === 'menuitem'))
        for (const name of names) await find(page, role, name).waitFor();
      await page.keyboard.press('Escape');
      await go(page, '/inbox');
      await find(page, 'button', 'Review').click();
      await page.getByRole('dialog').getByRole('button', begins('Deny')).click();
      await find(page, 'button', 'Undo').click();
      await page.getByText('Decision taken back. Nothing was sent.').waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );

  itAtNight(
    'of the way out of an error is Retry, on every page whose answer fails',
    {
      timeout: 120_000,
    },
    async () => {
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      const detail = 'The store is not reachable.';
      await page.route(/\/(api\/v1|v1)\/(?!auth|health|stream|version|settings)/, (route) =>
        route.fulfill({ status: 500, json: { code: 'internal', detail } }),
      );
      for (const path of ['/inbox', '/explore', '/fleet', '/policies', '/runs', '/audit', '/admin/keys']) {
        await page.goto(`/dashboard${path}`);
        await page.getByRole('main').getByRole('button', begins('Retry')).first().waitFor();
      }
      await visit.context.close();
    },
  );
});
