// People in the console: roles of a user, an invitation from its link to the first page, sessions, and environments.
import { expect, it } from 'vitest';
import { accessible, noFaults, view } from './browser.ts';
import { hubOfFile } from './file-hub.ts';

const { hub, cookie } = await hubOfFile();

it('invites a user, who chooses a password behind the link, and whose roles and sessions an admin changes', async () => {
  const seen = await view(hub.url, { cookie });
  const { page } = seen;
  await page.goto('/dashboard/settings');
  await page.getByRole('button', { name: 'Add user' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('E-mail').fill('invited@example.com');
  await dialog.getByLabel('Every environment').selectOption('viewer');
  await dialog.getByLabel('Staging').selectOption('operator');
  await dialog.getByRole('button', { name: 'Add user' }).click();
  const link = (await dialog.getByText('#invite=').textContent())?.trim() ?? '';
  await accessible(page);
  await page.keyboard.press('Escape');
  const users = page.getByRole('region', { name: 'Users' });
  await users.getByText('Viewer everywhere, operator in staging').waitFor();
  await users.getByText('invited', { exact: true }).waitFor();

  const guest = await view(hub.url);
  await guest.page.goto(new URL(link).pathname + new URL(link).hash);
  await guest.page.getByRole('heading', { name: 'Choose a password' }).waitFor();
  expect(guest.page.url()).not.toContain('invite');
  await guest.page.getByLabel('New password').fill('a password of my own');
  await accessible(guest.page);
  await guest.page.getByRole('button', { name: 'Set password and sign in' }).click();
  await guest.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  await guest.page.goto('/dashboard/settings');
  const sessions = guest.page.getByRole('region', { name: 'Your sessions' });
  await sessions.getByText('this one').waitFor();
  await sessions.getByText('invitation', { exact: true }).waitFor();
  await guest.page.getByText('Only an admin can change the provider.').waitFor();
  expect(await guest.page.getByLabel('Protect production').count()).toBe(1);
  expect(await guest.page.getByLabel('Protect production').isDisabled()).toBe(true);

  await page.getByRole('button', { name: 'Change roles of invited@example.com' }).click();
  await dialog.getByLabel('Every environment').selectOption('admin');
  await dialog.getByRole('button', { name: 'Save roles' }).click();
  await guest.page.getByRole('region', { name: 'Users' }).waitFor();

  await page.getByRole('button', { name: 'Sessions of invited@example.com' }).click();
  await dialog.getByRole('button', { name: 'Sign out everywhere' }).click();
  await guest.page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
  await page.keyboard.press('Escape');

  await page.getByLabel('Protect production').click();
  await expect
    .poll(async () => (await hub.call('GET', '/api/v1/environments', { cookie })).body.environments[0])
    .toMatchObject({ env: 'production', protected: true });
  await page.getByLabel('Protect production').click();
  noFaults(seen);
  await guest.context.close();
  await seen.context.close();
});
