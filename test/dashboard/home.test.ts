// The overview: figures that follow the agents by the stream alone and add up, what needs attention, and what changed.
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { AgentStreams } from './agent-streams.ts';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();

describe('the figures of the fleet', () => {
  it('follow agents that come and go, without asking for their list', async () => {
    const { key } = await hub.key(cookie);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const asked: string[] = [];
    visit.context.on('request', (request) => asked.push(request.url()));
    const connected = (tab: typeof page, value: string) =>
      tab.locator('.figure', { hasText: 'Connected agents' }).getByText(value, { exact: true }).waitFor();
    await page.goto('/dashboard/');
    await connected(page, '0');
    const agents = new AgentStreams(hub, key);
    await agents.open('agent-7');
    await connected(page, '1');
    // A tab that is opened later shares the connection, which told the numbers before.
    const later = await visit.context.newPage();
    await later.goto('/dashboard/');
    await connected(later, '1');
    // An agent is known where it was last seen, and connected where its stream is.
    const { key: stagingKey } = await hub.key(cookie, 'staging');
    const payload = { decision_name: 'no-prod-sql' };
    const call = { call_id: 'c', agent_id: 'agent-7', tool_name: 'deploy', verdict: 'call_allowed' };
    const events = [{ ...call, payload }];
    await hub.call('POST', '/api/v1/events', { key: stagingKey, agent: 'agent-7', body: { events } });
    await later.goto('/dashboard/?env=production');
    await connected(later, '1');
    await later.locator('.figure', { hasText: 'Connected agents' }).getByText('of 1 known').waitFor();
    agents.close();
    await connected(page, '0');
    await connected(later, '0');
    // The first steps of a new hub ask for one agent, to name it.
    const lists = asked.filter((url) => url.includes('/agents/status') && !url.endsWith('?limit=1'));
    expect(lists).toEqual([]);
    noFaults(visit);
    await visit.context.close();
  });
});

describe('the figures of a person who loses a role', () => {
  it('count no more in that environment', async () => {
    const { key } = await hub.key(cookie);
    const agents = new AgentStreams(hub, key);
    await agents.open('agent-of-production');
    const person = { email: hub.emailOf('mover'), password: 'correct horse battery' };
    const rolesIn = (...envs: readonly string[]) => envs.map((env) => ({ role: 'operator', env }));
    const body = { ...person, roles: rolesIn('production', 'staging') };
    const { body: user } = await hub.call('POST', '/api/v1/users', { cookie, body });
    const visit = await view(hub.url, { cookie: await hub.login(person.email, person.password) });
    const { page } = visit;
    // The connection is the page's own, because a worker keeps the browser's time.
    await page.addInitScript('delete globalThis.SharedWorker');
    await page.clock.install();
    await page.goto('/dashboard/');
    const connected = (value: string) =>
      page.locator('.figure', { hasText: 'Connected agents' }).getByText(value, { exact: true }).waitFor();
    await connected('1');
    // A connection of this age is opened again without a pause.
    await page.clock.fastForward(10_000);
    const change = { cookie, body: { roles: rolesIn('staging') } };
    expect((await hub.call('PATCH', `/api/v1/users/${user.user_id}`, change)).status).toBe(200);
    await connected('0');
    await expect.poll(() => page.getByRole('radio', { name: 'Production' }).isDisabled()).toBe(true);
    agents.close();
    noFaults(visit);
    await visit.context.close();
  });
});

const figure = (page: Page, name: string) =>
  page.getByRole('main').getByRole('link', { name: new RegExp(`^${name} `) });

describe('calls of the chosen range and environment', () => {
  it('add up: figures, lanes, and the lists of most denials', async () => {
    for (const [env, calls] of [
      ['production', 30],
      ['staging', 2],
    ] as const) {
      const { key } = await hub.key(cookie, env);
      const events = Array.from({ length: calls }, (_, i) => ({
        call_id: `${env}-${i}`,
        agent_id: `figures-${env}`,
        tool_name: `tool-${i % 2}`,
        verdict: i % 6 === 5 ? 'call_allowed' : 'call_denied',
        mode: 'enforce',
        timestamp: new Date().toISOString(),
        payload: { decision_name: 'no-prod-sql' },
      }));
      expect((await hub.call('POST', '/api/v1/events', { key, body: { events } })).status).toBe(200);
    }
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const numberIn = async (place: ReturnType<Page['locator']>): Promise<number> =>
      Number((await place.textContent())?.replaceAll(/\D/g, ''));
    for (const [scope, calls, denied] of [
      // One call of staging is that of the figures above.
      ['', 33, 27],
      ['?env=staging', 3, 2],
      ['?env=staging&from=now-7d', 3, 2],
      ['?env=staging&from=now-30d', 3, 2],
      ['?env=staging&from=now-26w', 3, 2],
    ] as const) {
      await page.goto(`/dashboard/${scope}`);
      await figure(page, 'Denied')
        .locator('.figure-value')
        .getByText(String(denied), { exact: true })
        .waitFor();
      await expect.poll(() => numberIn(figure(page, 'Calls').locator('.figure-value'))).toBe(calls);
      const lanes = page.getByRole('figure', { name: 'Calls over time' });
      await lanes.locator('.chart-track', { hasText: 'calls' }).getByText(String(calls)).waitFor();
      await expect.poll(() => numberIn(lanes.locator('.chart-track', { hasText: /^denied/ }))).toBe(denied);
      for (const list of ['Top contracts', 'Top tools', 'Top agents']) {
        const rows = page.getByRole('region', { name: list }).getByRole('listitem');
        await rows.first().waitFor();
        const totals = await rows.locator('.numbers').allTextContents();
        expect([list, totals.reduce((sum, one) => sum + Number(one), 0)]).toEqual([list, calls]);
      }
    }
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });
});

it('shows the figures of the range before, until a person turns the comparison off for all pages', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const range = page.getByRole('button', { name: /^Time range/ });
  const compare = page.getByRole('button', { name: 'Compare with previous' });
  const before = figure(page, 'Calls').getByText('none in the range before');
  await page.goto('/dashboard/');
  await before.waitFor();
  await range.filter({ hasText: 'Last 24 hours ± compare' }).click();
  expect(await compare.getAttribute('aria-pressed')).toBe('true');
  await accessible(page);
  await compare.click();
  await before.waitFor({ state: 'detached' });
  expect(new URL(page.url()).searchParams.get('compare')).toBe('off');
  await page.keyboard.press('Escape');
  expect(await range.textContent()).not.toContain('compare');
  await page.getByRole('link', { name: 'Fleet' }).click();
  await page.waitForURL(
    (url) => url.pathname.endsWith('/fleet') && url.searchParams.get('compare') === 'off',
  );
  const comparing: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('compare=previous')) comparing.push(request.url());
  });
  await page.goto('/dashboard/');
  await figure(page, 'Calls').waitFor();
  expect(await before.count()).toBe(0);
  expect(comparing).toEqual([]);
  // Another page has no figures of the range before.
  await page.goto('/dashboard/explore');
  await range.click();
  expect(await compare.getAttribute('title')).toMatch(/^Only Overview/);
  noFaults(visit);
  await visit.context.close();
});

describe('what needs attention', () => {
  it('leads from unusual denials to the calls, and shows what changed before, in two steps', async () => {
    await hub.call('POST', '/api/v1/contracts/import', { cookie, body: { yaml_content: library } });
    const deploy = { cookie, body: { env: 'production' } };
    expect((await hub.call('POST', '/api/v1/compositions/shop/deploy', deploy)).status).toBe(201);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    const attention = page.getByRole('region', { name: /^Needs attention/ });
    await attention
      .getByText(/no-prod-sql denies or would deny \d+ times as many calls as usual: 2[57] calls/)
      .first()
      .waitFor();
    const changes = page.getByRole('region', { name: 'Recent changes' });
    await changes.getByRole('link', { name: 'shop v1' }).waitFor();
    const marker = page.getByRole('list', { name: 'Deployments in this range' }).getByRole('link');
    await page.getByRole('slider', { name: 'Calls over time' }).waitFor();
    await accessible(page, 'twice');
    await marker.click();
    await page.getByRole('heading', { name: 'Deployment of shop v1 to production' }).waitFor();
    await page.goBack();
    await attention.getByRole('link', { name: 'Explore no-prod-sql' }).click();
    await page.waitForURL(
      (url) => url.searchParams.get('q') === 'verdict:(denied,would_deny) contract:no-prod-sql',
    );
    expect(new URL(page.url()).searchParams.get('env')).toBe('production');
    await page.getByRole('grid', { name: 'Events' }).getByText('tool-1').first().waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('leads to the approval that expires next, at 360 px too', async () => {
    const { key } = await hub.key(cookie);
    const id = await ask(hub, key, { tool_name: 'urgent_tool', timeout: 100 }, 'hurried');
    const visit = await view(hub.url, { cookie, width: 360, height: 740 });
    const { page } = visit;
    await page.goto('/dashboard/');
    await figure(page, 'Pending approvals')
      .getByText(/^the next expires in/)
      .waitFor();
    const item = page.getByRole('region', { name: /^Needs attention/ }).getByRole('listitem');
    await item.filter({ hasText: 'urgent_tool from hurried waits' }).getByText(/left$/).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await accessible(page);
    await item.getByRole('link', { name: 'Review urgent_tool' }).click();
    await page.waitForURL((url) => url.pathname.endsWith(id));
    noFaults(visit);
    await visit.context.close();
  });
});

describe('the reach of a deployment', () => {
  it('stands beside documents that the first page of the matrix lacks, too', async () => {
    const yaml_content = library.replace('name: shop', 'name: zoo');
    const { body } = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content } });
    const next = { yaml_content: yaml_content.replace('Secrets stay', 'Secrets remain') };
    expect((await hub.call('POST', '/api/v1/bundles', { cookie, body: next })).body.version).toBe(2);
    const target = { cookie, body: { env: 'production' } };
    for (const version of [2, 1])
      expect((await hub.call('POST', `/api/v1/bundles/zoo/${version}/deploy`, target)).status).toBe(201);
    const agents = new AgentStreams(hub, (await hub.key(cookie)).key);
    await agents.open('keeper', `&bundle_name=zoo&policy_version=${body.revision_hash}`);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.route('**/api/v1/fleet/matrix*', async (route) => {
      const answer = await route.fetch();
      const json = { ...(await answer.json()), bundles: [{ name: 'a', cells: [] }], next_cursor: 'next' };
      await route.fulfill({ response: answer, json });
    });
    const rolloutPaths: string[] = [];
    page.on('request', (request) => {
      if (/\/deployments\/[^/]+\/rollout/.test(request.url()))
        rolloutPaths.push(new URL(request.url()).pathname);
    });
    await page.goto('/dashboard/');
    const changes = page.getByRole('region', { name: 'Recent changes' }).getByRole('listitem');
    await changes.filter({ hasText: 'zoo v1' }).getByText('1 of 1 agent').waitFor();
    await changes.filter({ hasText: 'zoo v2' }).waitFor();
    // Only the newest deployment of a name can still reach agents.
    const deployments = (await hub.call('GET', '/api/v1/deployments?limit=10', { cookie })).body;
    const oldDeployment = deployments.find(
      (one: { readonly bundle_name: string; readonly bundle_version: number }) =>
        one.bundle_name === 'zoo' && one.bundle_version === 2,
    );
    expect(rolloutPaths.some((path) => path.includes(oldDeployment.id))).toBe(false);
    agents.close();
    noFaults(visit);
    await visit.context.close();
  });
});
