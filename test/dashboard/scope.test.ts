// Lists of more than a page, and what an address and Back bring back: all changes of a range, the place in a list, the
// time zone; and a list without a match names what narrows it.
import { beforeAll, expect, it } from 'vitest';
import { isNightly } from '../runs.ts';
import { noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library, someEvents } from './seed.ts';

const { hub, cookie } = await tenantOfFile();
const environments = ['development', 'staging', 'production'] as const;
/** More than a page. */
const deployments = isNightly ? 204 : 102;

beforeAll(async () => {
  const { key } = await hub.key(cookie);
  const post = async (path: string, body: object): Promise<void> => {
    const { status } = await hub.call('POST', path, { cookie, body });
    expect(status, path).toBeLessThan(300);
  };
  for (const version of [1, 2]) {
    await post('/api/v1/bundles', {
      yaml_content: library.replace('What the', `Version ${version} of what the`),
    });
  }
  const deploy = async (env: string): Promise<void> => {
    for (let at = 0; at < deployments / environments.length; at += 1) {
      await post(`/api/v1/bundles/shop/${(at % 2) + 1}/deploy`, { env });
    }
  };
  await Promise.all(environments.map(deploy));
  await hub.call('POST', '/api/v1/events', { key, agent: 'shop-agent', body: { events: someEvents(180) } });
}, 180_000);

it('lists more than a page of changes, and flags all of them above the chart', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/changes');
  await page.getByText('100+ deployments; scroll for more').waitFor();
  await page.getByRole('columnheader', { name: 'Reason' }).getByRole('button').click();
  // A sort reads all pages.
  await page.getByText(`${deployments} deployments`).waitFor();
  await page.goto('/dashboard/');
  await page
    .getByRole('list', { name: 'Deployments in this range' })
    .getByText(`${deployments}`, { exact: false })
    .first()
    .waitFor();
  noFaults(visit);
  await visit.context.close();
});

it('names what narrows a list without a match, and takes it away at a press', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore?env=staging&from=now-1h&q=tool:nothing mode:enforce');
  await page.getByText('No events match these filters').waitFor();
  await page.getByRole('button', { name: 'Show last 6 hours' }).waitFor();
  await page.getByRole('button', { name: 'Remove tool:nothing' }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('mode:enforce');
  await page.getByRole('button', { name: 'Show all environments' }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('env')).toBeNull();
  noFaults(visit);
  await visit.context.close();
});

it('restores the place in a list after Back', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore?from=now-7d');
  const box = page.getByRole('region', { name: 'events', exact: true });
  await box.waitFor();
  const offset = () => box.evaluate((element) => (element as unknown as { scrollTop: number }).scrollTop);
  await box.evaluate((element) => {
    (element as unknown as { scrollTop: number }).scrollTop = 2_000;
  });
  await expect.poll(offset).toBe(2_000);
  // A press opens its peek, beside which rows are cards, and Open page its page.
  const chosen = box.locator('[aria-current]');
  const isInSight = async (one = chosen): Promise<boolean> => {
    const [row, list] = [await one.boundingBox(), await box.boundingBox()];
    return row !== null && list !== null && row.y >= list.y && row.y + row.height <= list.y + list.height;
  };
  // The rows of the new place have come.
  const row = box.getByRole('row').nth(16);
  await expect.poll(() => isInSight(row)).toBe(true);
  await row.getByRole('link').click();
  await expect.poll(() => isInSight()).toBe(true);
  const name = (await chosen.getByRole('link').textContent()) ?? '';
  await page.getByRole('link', { name: 'Open page' }).click();
  await page.getByRole('heading', { name: 'Explain' }).first().waitFor();
  await page.goBack();
  await box.waitFor();
  await expect.poll(() => isInSight()).toBe(true);
  await expect.poll(() => chosen.getByRole('link').textContent()).toBe(name);
  await expect.poll(offset).toBeGreaterThan(1_000);
  noFaults(visit);
  await visit.context.close();
});

it('shows the times of an address with tz=utc in UTC, and writes the choice into the address', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/explore?from=2026-01-05T10:00:00Z&to=2026-01-05T11:00:00Z');
  const range = page.getByRole('button', { name: /^Time range/ });
  await range.filter({ hasText: '11:00' }).filter({ hasText: '12:00' }).waitFor();
  await page.goto('/dashboard/explore?from=2026-01-05T10:00:00Z&to=2026-01-05T11:00:00Z&tz=utc');
  await range.filter({ hasText: '10:00' }).filter({ hasText: '11:00' }).waitFor();
  await page.getByRole('button', { name: 'Account' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Show times in UTC' }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('tz')).toBeNull();
  await range.filter({ hasText: '12:00' }).waitFor();
  await page.getByRole('menuitemcheckbox', { name: 'Show times in UTC' }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get('tz')).toBe('utc');
  noFaults(visit);
  await visit.context.close();
});

it('leaves a chosen environment its arrows and Space, and the page its letters', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const env = () => new URL(page.url()).searchParams.get('env');
  await page.goto('/dashboard/inbox');
  await page.getByText('No pending approvals').first().waitFor();
  await page.getByRole('radio', { name: 'Staging' }).focus();
  await page.keyboard.press('Space');
  await expect.poll(env).toBe('staging');
  await page.keyboard.press('ArrowLeft');
  await expect.poll(env).toBe('development');
  expect(await page.evaluate('document.activeElement.type')).toBe('radio');
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
  await page.getByRole('radio', { name: 'Development' }).focus();
  await page.keyboard.press('t');
  await page.getByRole('dialog', { name: 'Time range' }).waitFor();
  noFaults(visit);
  await visit.context.close();
});

it('rolls back and undeploys by key in the chosen environment', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const ready = page.getByRole('button', { name: 'Undeploy from staging' });
  await page.goto('/dashboard/bundles/shop?env=staging');
  await ready.waitFor();
  await page.keyboard.press('Shift+B');
  await page.getByRole('button', { name: /^Roll back staging to v/ }).waitFor();
  await page.goto('/dashboard/bundles/shop?env=staging');
  await ready.waitFor();
  await page.keyboard.press('Shift+U');
  await page.getByRole('region', { name: 'Undeploy shop from staging' }).waitFor();
  expect(new URL(page.url()).searchParams.get('env')).toBe('staging');
  noFaults(visit);
  await visit.context.close();
});
