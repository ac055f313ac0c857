// Tabs of one browser: a logout ends every tab, and a tab never goes on as one person while another is signed in.
import { beforeAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();
const admin = { email: hub.emailOf('admin'), password: 'correct horse battery' };
const member = { email: hub.emailOf('member'), password: 'correct horse battery' };

beforeAll(async () => {
  expect((await hub.call('POST', '/api/v1/users', { cookie, body: member })).status).toBe(201);
});

describe('tabs of one browser', () => {
  it('all end with a logout in one, and all are of who signs in then', async () => {
    const visit = await view(hub.url, {});
    const { page: first, context } = visit;
    const signIn = async (page: typeof first, as: { email: string; password: string }): Promise<void> => {
      await page.getByLabel('E-mail').fill(as.email);
      await page.getByLabel('Password').fill(as.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
    };
    await first.goto('/dashboard/test');
    await signIn(first, admin);
    await first.getByText('Live', { exact: true }).waitFor();
    await first.getByLabel('Tool', { exact: true }).fill('my-own-tool');
    await first
      .getByRole('region', { name: 'Result' })
      .getByText('No contract applies to this tool.')
      .waitFor();
    const second = await context.newPage();
    await second.goto('/dashboard/evidence');
    await second.getByRole('button', { name: 'Rotate signing key' }).waitFor();
    await first.getByRole('button', { name: `Account ${admin.email}` }).click();
    await first.getByRole('menuitem', { name: 'Sign out' }).click();
    await first.getByRole('button', { name: 'Sign in' }).waitFor();
    // The other tab shows nothing of it any more.
    await second.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await second.getByRole('button', { name: 'Rotate signing key' }).count()).toBe(0);
    await accessible(second);
    await signIn(second, member);
    await second.getByText(/^Only admins can verify and download the audit chain/).waitFor();
    await second.getByText('Live', { exact: true }).waitFor();
    // The text of the previous user is gone with their logout.
    await first.goto('/dashboard/test');
    await first.getByRole('button', { name: `Account ${member.email}` }).waitFor();
    expect(await first.getByLabel('Tool', { exact: true }).inputValue()).toBe('read_file');
    noFaults(visit);
    await context.close();
  });

  itAtNight('follow a sign-in of somebody else in another one', async () => {
    const visit = await view(hub.url, { cookie });
    const { page: first, context } = visit;
    await first.goto('/dashboard/evidence');
    await first.getByRole('button', { name: 'Rotate signing key' }).waitFor();
    const second = await context.newPage();
    await context.clearCookies();
    await second.goto('/dashboard/');
    await second.getByLabel('E-mail').fill(member.email);
    await second.getByLabel('Password').fill(member.password);
    await second.getByRole('button', { name: 'Sign in' }).click();
    await first.getByText(/^Only admins can verify and download the audit chain/).waitFor();
    expect(await first.getByRole('button', { name: 'Rotate signing key' }).count()).toBe(0);
    noFaults(visit);
    await context.close();
  });
});
