// The pages of who runs the hub, the playground, and the palette.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HubProcess } from '../e2e/process.ts';
import { accessible, noFaults, startedHub, view } from './browser.ts';

let hub: HubProcess;
let cookie: string;

beforeAll(async () => {
  ({ hub, cookie } = await startedHub());
});
afterAll(() => hub.remove());

describe('settings, system, playground and palette', () => {
  it('adds a user, changes the own password, and rotates the key only once the word is typed', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/settings');
    await page.getByRole('button', { name: 'Add user' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill('second@example.com');
    await dialog.getByLabel('First password').fill('correct horse battery');
    await dialog.getByRole('button', { name: 'Add user' }).click();
    await page.getByRole('region', { name: 'Users' }).getByText('second@example.com').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Rotate signing key' }).click();
    const go = dialog.getByRole('button', { name: 'Rotate signing key' });
    expect(await go.isDisabled()).toBe(true);
    await dialog.getByLabel('Type rotate to go on').fill('rotate');
    await go.click();
    await page.getByText(/signed with the new key/).waitFor();
    await page.getByLabel('Present password').fill('not the password');
    await page.getByLabel('New password').fill('another long password');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByRole('alert').waitFor();
    noFaults(seen);
    await seen.context.close();
  });

  it('says how the hub is', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/system');
    await page.getByText('One process, 256 of 256 shards owned').waitFor();
    await accessible(page);
    noFaults(seen);
    await seen.context.close();
  });

  it('judges a call in the browser, as the hub does', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/playground');
    const result = page.getByRole('region', { name: 'Result' });
    await result.getByRole('heading', { name: /deny/ }).waitFor();
    await result.getByText('/srv/app/.env').first().waitFor();
    await accessible(page);
    await result.getByRole('button', { name: 'Ask the hub' }).click();
    await result.getByText(/The hub says deny.*as this browser does/).waitFor();
    await page.getByLabel('Tool', { exact: true }).fill('deploy');
    await result.getByRole('heading', { name: /approve|asks/ }).waitFor();
    await page.getByLabel('Arguments as JSON').fill('{');
    await result.getByText(/Not JSON yet/).waitFor();
    noFaults(seen);
    await seen.context.close();
  });

  it('leads anywhere from the palette', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/');
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('syst');
    await accessible(page);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'System' }).waitFor();
    noFaults(seen);
    await seen.context.close();
  });
});
