// Replays: before a deploy, and between two versions, what with a different decision on calls that agents reported.
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();

beforeAll(async () => {
  const post = async (path: string, body: unknown) => {
    const answer = await hub.call('POST', path, { cookie, body });
    expect({ path, status: answer.status }).toEqual({ path, status: 201 });
  };
  await post('/api/v1/bundles', { yaml_content: library });
  await post('/api/v1/bundles/shop/1/deploy', { env: 'production' });
  await post('/api/v1/bundles', { yaml_content: library.replace('mode: observe', 'mode: enforce') });
  const { key } = await hub.key(cookie);
  const events = [100, 600, '[REDACTED]'].map((amount, n) => ({
    call_id: `refund-${n}`,
    agent_id: 'till-1',
    tool_name: 'refund',
    verdict: 'call_allowed',
    mode: 'enforce',
    timestamp: new Date(Date.now() - 60_000 * (n + 1)).toISOString(),
    payload: { tool_args: { amount }, principal: null },
  }));
  const { status } = await hub.call('POST', '/api/v1/events', { key, agent: 'till-1', body: { events } });
  expect(status).toBe(200);
});

const press = { name: 'Replay newest 10,000 calls' };

describe('replays', () => {
  it('tells before a deploy what would now be denied, and what is uncertain', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/bundles/shop');
    await page.getByRole('button', { name: 'Deploy v2' }).click();
    const panel = page
      .getByRole('region', { name: /^(Change|Deployment of) shop/ })
      .getByRole('region', { name: 'Replay of past calls' });
    // It begins by itself.
    await panel.getByText('3 calls: 1 unchanged, 2 would now be denied.').waitFor();
    await panel.getByText(/^1 uncertain/).waitFor();
    const rows = panel.getByRole('table').getByRole('row');
    // The first is the head.
    await expect.poll(() => rows.count()).toBe(3);
    await expect
      .poll(() => rows.nth(1).textContent())
      .toMatch(/^refund[\s\S]*A refund of 600 is large[\s\S]*till-1/);
    await expect.poll(() => rows.nth(1).textContent()).toMatch(/would deny\s*denied/);
    await expect.poll(() => rows.nth(2).textContent()).toContain('redacted or truncated arguments');
    await accessible(page);
    // Asking has deployed nothing.
    const { body } = await hub.call('GET', '/api/v1/bundles/shop/current?env=production', { cookie });
    expect(body.version).toBe(1);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('compares two versions either way, and says when there is nothing to look at', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/bundles/shop');
    const panel = page.getByRole('region', { name: 'Replay of past calls' });
    await page.getByLabel('From', { exact: true }).selectOption('2');
    await page.getByLabel('To', { exact: true }).selectOption('1');
    await panel.getByText(/with version 2 for the newest/).waitFor();
    await panel.getByRole('button', press).click();
    await panel.getByText('3 calls: 1 unchanged, 2 would now only be observed.').waitFor();
    await accessible(page);
    await page.goto('/dashboard/bundles/shop?env=staging');
    await panel.getByRole('button', press).click();
    await panel.getByText('No agent reported a call in this environment in the last 7 days.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});

describe('a bundle with more versions than its page lists', () => {
  itAtNight('shows one that is older than the list where it runs, and undeploys it', async () => {
    const old = library.replace('name: shop', 'name: old');
    const upload = () => hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: old } });
    await upload();
    await hub.call('POST', '/api/v1/bundles/old/1/deploy', { cookie, body: { env: 'staging' } });
    const maxVersions = 200;
    for (let n = 0; n < maxVersions; n += 1) expect((await upload()).status).toBe(201);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/bundles/old');
    await page.getByText(`newest ${maxVersions} versions`).waitFor();
    await page.getByText('runs v1').waitFor();
    await page.getByRole('button', { name: 'Undeploy from staging' }).click();
    await page.getByText('old v1', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Undeploy from staging' }).click();
    await page.getByText('Not deployed to any environment. Select a version to deploy it.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});
