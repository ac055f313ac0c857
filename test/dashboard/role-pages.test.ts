// Every page for each role, and for people of one environment: what they may read is there, what they may not do is off
// and says which role is missing, and nothing of another environment is on the screen.
import type { Locator, Request } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { consoleRoutes, type Operation } from '../../src/dashboard/lib/api.ts';
import { adminPages, ownPages, pages } from '../../src/dashboard/pages/registry.ts';
import { type EnvRole, includesRole, roleIn } from '../../src/shared/env-roles.ts';
import type { Env } from '../../src/shared/ids.ts';
import { type OperatorRole, operatorRoles } from '../../src/shared/principal.ts';
import { rowsOfCommit } from '../runs.ts';
import { ask, go, noFaults, type View, view } from './browser.ts';
import { adminWords } from './every-page.ts';
import { tenantWithKey } from './file-hub.ts';
import { seed } from './seed.ts';

const { hub, cookie, key } = await tenantWithKey();
let approval = '';

beforeAll(async () => {
  await seed(hub, cookie);
  approval = await ask(hub, key, { tool_name: 'tool_of_production', timeout: 3_600 }, 'agent-of-production');
  const { key: staging } = await hub.key(cookie, 'staging');
  await ask(hub, staging, { tool_name: 'tool_of_staging', timeout: 3_600 }, 'agent-of-staging');
  for (const [env, by] of [
    ['production', key],
    ['staging', staging],
  ] as const) {
    const call = { call_id: env, agent_id: `agent-of-${env}`, tool_name: `tool_of_${env}` };
    const payload = { session_id: `session-of-${env}` };
    const body = { events: [{ ...call, verdict: 'call_allowed', payload }] };
    expect((await hub.call('POST', '/api/v1/events', { key: by, body })).status).toBe(200);
  }
});

const people: { readonly [name: string]: readonly EnvRole[] } = {
  ...Object.fromEntries(operatorRoles.map((role) => [`${role} everywhere`, [{ role, env: '*' }]])),
  'viewer of staging': [{ role: 'viewer', env: 'staging' }],
  'operator of staging': [{ role: 'operator', env: 'staging' }],
};

interface Act {
  readonly button: string | RegExp;
  readonly operation: Operation;
  /** Where the role is needed. Default: in any environment. */
  readonly env?: Env;
}

/** The acts of pages, which are on the page for all who may read it. */
const acts: { readonly [path: string]: readonly Act[] } = {
  '/policies': [
    { button: 'New contract', operation: 'createContract' },
    { button: 'Import bundle', operation: 'createContract' },
  ],
  '/policies?view=compositions': [{ button: 'New composition', operation: 'createComposition' }],
  '/policies?view=documents': [{ button: 'Upload bundle', operation: 'uploadBundle' }],
  '/contracts/watch-refunds': [
    { button: 'Edit contract', operation: 'updateContract' },
    { button: 'Delete', operation: 'deleteContract' },
  ],
  '/compositions/shop': [{ button: 'Deploy shop', operation: 'deployComposition' }],
  '/bundles/shop': [
    { button: 'Deploy v1', operation: 'deployBundle' },
    { button: 'Undeploy from staging', operation: 'undeployBundle', env: 'staging' },
  ],
  '/changes/new?bundle=shop&version=1&env=staging': [
    { button: 'Deploy v1 to staging', operation: 'deployBundle', env: 'staging' },
  ],
  '/fleet?view=assignment': [{ button: 'New rule', operation: 'createRule' }],
  '/inbox?search=tool_of_staging': [{ button: /^Approve/, operation: 'decideApproval', env: 'staging' }],
};

const labels = [...pages, ...adminPages, ...ownPages].map(({ path, label }) => [path, label] as const);
const places = [
  ...Object.keys(acts),
  ...['/fleet?view=agents', '/inbox?view=decided', '/explore?view=tail', '/tools?view=settings'],
  ...labels.map(([path]) => path),
].filter((path, at, all) => all.indexOf(path) === at);

/** True if the roles reach the role that the hub's route declares. */
const mayDo = (roles: readonly EnvRole[], { operation, env }: Pick<Act, 'operation' | 'env'>): boolean => {
  const { role } = consoleRoutes[operation] as { readonly role?: OperatorRole };
  return role === undefined || includesRole(roleIn(roles, env ?? null), role);
};

const missingRole = /You need the role \w+/;

/** True if the button is off for a role that is missing, as its tooltip or the page says. */
async function isRefused(button: Locator): Promise<boolean> {
  if (missingRole.test((await button.getAttribute('title')) ?? '')) return true;
  const main = button.page().getByRole('main');
  return (await button.isDisabled()) && (await main.getByText(missingRole).count()) > 0;
}

const password = 'correct horse battery';
const chosen = rowsOfCommit(Object.keys(people), 1);
const visited = rowsOfCommit(places, 6);

describe.each(chosen.rows)(`a person who is %s (SEED=${chosen.seed})`, (name) => {
  const roles = people[name] ?? [];
  const isAdmin = roles.some(({ role }) => role === 'admin');
  const isOfStaging = roles.every(({ env }) => env === 'staging');
  let visit: View | undefined;
  afterEach(async () => {
    await visit?.context.close();
  });

  it('reads every page, and is told what is not theirs', { timeout: 120_000 }, async () => {
    const email = hub.emailOf(name.replaceAll(' ', '-'));
    const added = await hub.call('POST', '/api/v1/users', { cookie, body: { email, password, roles } });
    expect(added.status).toBe(201);
    visit = await view(hub.url, { cookie: await hub.login(email, password) });
    const { page } = visit;
    const refused: string[] = [];
    /** Requests without an answer, which a page that is left would pass on to the next, by their page. */
    const open = new Map<Request, string>();
    let place = '';
    let isRefusedBefore = false;
    const isOfPage = (url: string): boolean => url.includes('/v1/') && !url.includes('/stream');
    page.on('request', (request) => void (isOfPage(request.url()) && open.set(request, place)));
    page.on('requestfailed', (request) => void open.delete(request));
    page.on('response', (answer) => {
      const of = open.get(answer.request());
      open.delete(answer.request());
      if (answer.status() !== 403) return;
      if (of === place) refused.push(new URL(answer.url()).pathname);
      else isRefusedBefore = true;
    });
    const wrong: string[] = [];
    await page.goto('/dashboard/');
    const main = page.getByRole('main');
    for (const path of visited.rows) {
      refused.length = 0;
      place = path;
      // The page before stays until the code of this one has loaded.
      for (const oldPage of await main.locator('.thing-page, .change-page').all())
        await oldPage.evaluate((element) => element.setAttribute('data-old', ''));
      await go(page, path);
      await page.waitForURL((url) => `${url.pathname}${url.search}`.startsWith(`/dashboard${path}`));
      const [, label] = labels.find(([one]) => one === path.replace(/\?.*/, '')) ?? [];
      if (label) await page.getByRole('heading', { name: label, level: 1 }).waitFor();
      else await page.locator(':is(.thing-page, .change-page):not([data-old])').first().waitFor();
      await expect.poll(() => main.locator('.skeleton, [aria-busy=true]').count(), { message: path }).toBe(0);
      await expect.poll(() => open.size, { message: path }).toBe(0);
      const says = adminWords[path]?.replace('production', isOfStaging ? 'staging' : 'production');
      if (says)
        await expect.poll(() => main.getByText(says).count(), { message: path }).toBe(isAdmin ? 0 : 1);
      // A refusal is on the page, with the way out; a page asks for nothing that it does not show.
      const isRefusalShown = async (): Promise<boolean> =>
        /Permission denied\..*Ask an admin/s.test((await main.textContent()) ?? '');
      if (refused.length > 0)
        await expect.poll(isRefusalShown, { message: `${path}: ${refused.join()} was refused` }).toBe(true);
      const isTold = await isRefusalShown();
      // A refusal is kept: a page may show that of another page's question.
      if (refused.length === 0 && !isRefusedBefore && isTold)
        wrong.push(`${path}: refused without a question`);
      isRefusedBefore ||= refused.length > 0;
      for (const act of acts[path] ?? []) {
        const button = main
          .getByRole('button', { name: act.button })
          .or(main.getByRole('link', { name: act.button }));
        await button
          .first()
          .waitFor({ timeout: 5_000 })
          .catch(() => wrong.push(`${path}: no ${act.button}`));
        await expect
          .poll(() => isRefused(button.first()), { message: `${path}: ${act.button}` })
          .toBe(!mayDo(roles, act));
      }
      // No control is off for a role that the person has.
      for (const one of await main.locator('[aria-disabled=true][title*="You need the role"]').all()) {
        const [, role, env] = /role (\w+)(?: in (\w+))?/.exec((await one.getAttribute('title')) ?? '') ?? [];
        if (includesRole(roleIn(roles, env ?? null), role as OperatorRole))
          wrong.push(`${path}: ${await one.textContent()} is off for ${role}`);
      }
      const others = /(?:agent|session|tool)[-_]of[-_]production/.exec(
        (await page.locator('body').textContent()) ?? '',
      );
      if (isOfStaging && others) wrong.push(`${path}: ${others[0]} is of another environment`);
    }
    expect(wrong).toEqual([]);
    noFaults(visit);
  });

  it('finds an approval of production where they have a role there, and nothing elsewhere', async () => {
    visit = await view(hub.url, {
      cookie: await hub.login(hub.emailOf(name.replaceAll(' ', '-')), password),
    });
    const { page } = visit;
    await page.goto(`/dashboard/approvals/${approval}`);
    const main = page.getByRole('main');
    if (isOfStaging) await main.getByText('Approval not found').waitFor();
    else {
      const button = main.getByRole('button', { name: /^Approve/ });
      await button.waitFor();
      await expect
        .poll(() => isRefused(button))
        .toBe(!mayDo(roles, { operation: 'decideApproval', env: 'production' }));
    }
    expect((await page.getByText('tool_of_production').count()) > 0).toBe(!isOfStaging);
    noFaults(visit);
  });
});
