// Keys in the console: one is made and shown once, an agent connects with it, and it is revoked; who is no admin is
// told so.
import { describe, expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { AgentStreams } from './agent-streams.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();

describe('the keys page', () => {
  it('makes a key, shows it once, and revokes it', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/admin/keys');
    await page.getByText('No API keys yet').waitFor();
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Label').fill('first key');
    await dialog.getByLabel('Environment').selectOption('staging');
    await accessible(page);
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const key = await dialog.getByText(/^svk_staging_/).textContent();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('table').getByText('first key').waitFor();
    await accessible(page);
    expect((await hub.call('GET', '/api/v1/stats/overview', { key: key ?? '' })).status).toBe(200);
    await page.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('No API keys yet').waitFor();
    expect((await hub.call('GET', '/api/v1/stats/overview', { key: key ?? '' })).status).toBe(401);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('keeps what was typed in a dialog while the session ends and is begun again', async () => {
    const own = await hub.login();
    const visit = await view(hub.url, { cookie: own });
    const { page } = visit;
    await page.goto('/dashboard/admin/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create key' });
    await dialog.getByLabel('Label').fill('typed before');
    // Nothing is pressed: the stream tells.
    await hub.call('POST', '/api/v1/auth/logout', { cookie: own });
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.getByLabel('Password').fill('correct horse battery');
    await accessible(page);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'hidden' });
    expect(await dialog.getByLabel('Label').inputValue()).toBe('typed before');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await page.getByText(/^svk_production_[^…]*$/).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page
      .getByRole('dialog')
      .getByText(/no connected agents use it/)
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('No API keys yet').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('says how many streams one key has open, and ends those alone', async () => {
    const [one, other] = [await hub.key(cookie), await hub.key(cookie)];
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/admin/keys');
    await page.getByRole('button', { name: 'Revoke' }).nth(1).waitFor();
    const first = new AgentStreams(hub, one.key);
    const second = new AgentStreams(hub, other.key);
    await first.open('streamer-1');
    await first.open('streamer-2');
    await second.open('streamer-3');
    const dialog = page.getByRole('dialog', { name: 'Revoke key' });
    // The newest stands first, and hears of its streams without being asked again.
    await page.getByRole('button', { name: 'Revoke' }).nth(1).click();
    await dialog.getByText(/2 agent streams use it/).waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Revoke' }).nth(1).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Revoke' }).click();
    await dialog.getByText(/1 agent stream uses it/).waitFor();
    second.close();
    await dialog.getByText(/no connected agents use it/).waitFor();
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('No API keys yet').waitFor();
    first.close();
    noFaults(visit);
    await visit.context.close();
  });

  it('remembers theme, hidden columns and density for each person by themselves', async () => {
    const other = { email: hub.emailOf('other'), password: 'correct horse battery' };
    expect((await hub.call('POST', '/api/v1/users', { cookie, body: other })).status).toBe(201);
    await hub.key(cookie);
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/admin/keys');
    await page.getByRole('button', { name: 'Columns for keys' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Prefix' }).click();
    await page.keyboard.press('Escape');
    await page.goto('/dashboard/me');
    await page.getByLabel('Theme').selectOption('dark');
    await page.goto('/dashboard/admin/keys');
    await page.getByRole('columnheader', { name: 'Label' }).waitFor();
    expect(await page.getByRole('columnheader', { name: 'Prefix' }).count()).toBe(0);
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark');
    // Somebody else on the same browser.
    const [name = '', value = ''] = (await hub.login(other.email, other.password)).split('=');
    await visit.context.addCookies([{ name, value, url: hub.url, httpOnly: true }]);
    await page.goto('/dashboard/admin/keys');
    await page.getByRole('columnheader', { name: 'Prefix' }).waitFor();
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('light');
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('offers nothing that a member may not do', async () => {
    const member = { email: hub.emailOf('member'), password: 'correct horse battery' };
    expect((await hub.call('POST', '/api/v1/users', { cookie, body: member })).status).toBe(201);
    const visit = await view(hub.url, { cookie: await hub.login(member.email, member.password) });
    const { page } = visit;
    await page.goto('/dashboard/admin/keys');
    await page.getByText('Only admins can create and revoke keys.').waitFor();
    expect(await page.getByRole('button', { name: 'Create key' }).count()).toBe(0);
    noFaults(visit);
    await visit.context.close();
  });
});
