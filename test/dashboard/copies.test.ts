// Texts that the console copies for other people and programs: the link of the thing on screen, and a request as curl.
import { execFileSync } from 'node:child_process';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { accessible, ask, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

const { hub, cookie, key } = await tenantWithKey();

const clipboard = (page: Page): Promise<string> => page.evaluate('navigator.clipboard.readText()');

async function copiedLink(page: Page): Promise<URL> {
  await page.evaluate(`navigator.clipboard.writeText('nothing')`);
  await page.keyboard.press('y');
  await expect.poll(() => clipboard(page)).not.toBe('nothing');
  await page.getByText('Link copied.').last().waitFor();
  return new URL(await clipboard(page));
}

it('copies the link of the open thing, else of the page, and lists the key', async () => {
  const approval = await ask(hub, key);
  const events = [{ call_id: '1', agent_id: 'agent-1', tool_name: 'read_file', verdict: 'call_denied' }];
  expect((await hub.call('POST', '/api/v1/events', { key, body: { events } })).status).toBe(200);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await visit.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto('/dashboard/explore?q=tool%3Aread_file&env=production');
  const row = page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'read_file' });
  await row.waitFor();
  expect((await copiedLink(page)).href).toBe(page.url());
  await row.click();
  const link = page.getByRole('complementary').getByRole('link', { name: 'Open page' });
  const target = await link.getAttribute('href');
  expect(target).toMatch(/^\/dashboard\/events\/[0-9a-f-]{36}\?env=production$/);
  expect((await copiedLink(page)).href).toBe(`${hub.url}${target}`);
  await page.keyboard.press('Escape');
  await link.waitFor({ state: 'hidden' });
  expect((await copiedLink(page)).pathname).toBe('/dashboard/explore');
  await page.goto('/dashboard/inbox');
  await page.getByRole('article', { name: /^Approval of deploy/ }).waitFor();
  expect((await copiedLink(page)).pathname).toBe(`/dashboard/approvals/${approval}`);
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByText('Copy link').waitFor();
  await accessible(page);
  noFaults(visit);
  await visit.context.close();
});

it('copies the request of an explanation as a command without secrets, which a service account can run', async () => {
  const [event] = (await hub.call('GET', '/api/v1/events', { cookie })).body;
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await visit.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`/dashboard/events/${event.id}?env=production`);
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await page.getByText('Command copied.').waitFor();
  const command = await clipboard(page);
  expect(command).toMatch(/-H "Authorization: Bearer \$REEVE_TOKEN"$/);
  const body = { name: 'reader', roles: [{ role: 'viewer', env: '*' }] };
  const account = await hub.call('POST', '/api/v1/service-accounts', { cookie, body });
  const path = `/api/v1/service-accounts/${account.body.service_account_id ?? account.body.id}/tokens`;
  const token = await hub.call('POST', path, { cookie, body: { label: 'curl' } });
  expect(token.status).toBe(201);
  const env = { ...process.env, REEVE_TOKEN: token.body.token };
  const answer = JSON.parse(execFileSync('sh', ['-c', command], { env, encoding: 'utf8' }));
  expect(answer.similar.q).toMatch(/tool:read_file/);
  noFaults(visit);
  await visit.context.close();
});
