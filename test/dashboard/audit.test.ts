// The audit list: its pages while the time passes, and new entries.
import { beforeAll, expect, it } from 'vitest';
import { noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();
const keys = 105;

beforeAll(async () => {
  for (let n = 0; n < keys; n += 1) await hub.key(cookie);
});

it('loads the second page in a later minute than the first one', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const periods: string[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === '/v1/audit' && searchParams.get('limit') === '100')
      periods.push(`${searchParams.has('cursor')} ${searchParams.get('to')}`);
  });
  await page.clock.install();
  await page.goto('/dashboard/audit');
  const list = page.getByRole('table', { name: 'audit entries' });
  await list.getByRole('row').nth(5).waitFor();
  await page.clock.fastForward(90_000);
  const second = page.waitForResponse((response) => response.url().includes('cursor='));
  await list.getByRole('row').nth(5).hover();
  await page.mouse.wheel(0, 20_000);
  expect((await second).status()).toBe(200);
  const [first, ...later] = periods;
  expect(later.at(-1)).toBe(first?.replace('false', 'true'));
  noFaults(visit);
  await visit.context.close();
});

it('lists new entries while the address names an entry that it does not list', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/audit?peek=elsewhere');
  const table = page.getByRole('table', { name: 'audit entries' });
  await table.getByRole('row').nth(5).waitFor();
  const person = { email: hub.emailOf('new'), password: 'correct horse battery' };
  expect((await hub.call('POST', '/api/v1/users', { cookie, body: person })).status).toBe(201);
  // No frame announces a person: the page looks every 15 s.
  await table.getByText(person.email).first().waitFor({ timeout: 30_000 });
  noFaults(visit);
  await visit.context.close();
});
