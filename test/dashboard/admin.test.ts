// The pages of who runs the hub, the playground, and the palette.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { programArgs } from '../../packages/agent/test/program.ts';
import { itAtNight } from '../runs.ts';
import { accessible, go, noFaults, view } from './browser.ts';
import { hubOfFile } from './file-hub.ts';

const { hub, cookie } = await hubOfFile();

describe('settings, system, playground and palette', () => {
  it('adds a user, changes the own password, and rotates the key only once the word is typed', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/admin/people');
    await page.getByRole('button', { name: 'Add user' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill('second@example.com');
    await dialog.getByLabel('Initial password').fill('correct horse battery');
    await dialog.getByRole('button', { name: 'Add user' }).click();
    await page.getByRole('region', { name: 'Users' }).getByText('second@example.com').waitFor();
    await accessible(page);
    await go(page, '/evidence');
    await page.getByRole('button', { name: 'Rotate signing key' }).click();
    const rotate = dialog.getByRole('button', { name: 'Rotate signing key' });
    expect(await rotate.isDisabled()).toBe(true);
    await dialog.getByLabel('Type rotate to confirm').fill('rotate');
    await rotate.click();
    await page.getByText(/signed with the new key/).waitFor();
    // A purge says how many events it would remove before it asks for the word.
    await go(page, '/admin/retention');
    await page.getByLabel('Older than (days)').fill('1');
    await page.getByRole('button', { name: 'Purge events' }).click();
    await dialog.getByText(/The purge removes no events received before .* from all environments/).waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    // Retention says what it would remove before it is saved.
    const retention = page.getByRole('region', { name: 'Retention' });
    await retention.getByText('Nothing is removed by itself yet.').waitFor();
    await retention.getByLabel('Events (days)').fill('30');
    await retention.getByRole('button', { name: 'Preview retention' }).click();
    await dialog.getByText('These days remove nothing now.').waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Save retention' }).click();
    await retention.getByText(/Changed by .* on/).waitFor();
    expect(await retention.getByLabel('Events (days)').inputValue()).toBe('30');
    await go(page, '/admin/assistant');
    const assistant = page.getByRole('region', { name: 'Assistant' });
    await assistant.getByText('No assistant is configured').waitFor();
    await assistant.getByLabel('Provider', { exact: true }).selectOption('local');
    await assistant.getByLabel('Model', { exact: true }).fill('a-model');
    await assistant.getByLabel('Base URL').fill('ftp://nowhere');
    await assistant.getByRole('button', { name: 'Save assistant' }).click();
    await assistant.locator('.field-error, [role=alert]').first().waitFor();
    await page.goto('/dashboard/me/security');
    await page.getByLabel('Current password').fill('not the password');
    await page.getByLabel('New password').fill('another long password');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByRole('alert').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('saves only the changed days of retention, over those of another admin', async () => {
    const path = '/api/v1/settings/retention';
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    const retention = page.getByRole('region', { name: 'Retention' });
    const bodies: unknown[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET' && request.url().includes(path)) bodies.push(request.postDataJSON());
    });
    await page.goto('/dashboard/admin/retention');
    await retention.getByLabel('Approvals (days)').fill('7');
    expect((await hub.call('PUT', path, { cookie, body: { runs_days: 40 } })).status).toBe(200);
    await retention.getByRole('button', { name: 'Preview retention' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save retention' }).click();
    await expect.poll(() => retention.getByLabel('Runs (days)').inputValue()).toBe('40');
    expect(bodies).toEqual([{ approvals_days: 7 }, { approvals_days: 7 }]);
    const { body } = await hub.call('GET', path, { cookie });
    expect(body).toMatchObject({ approvals_days: 7, runs_days: 40 });
    noFaults(visit);
    await visit.context.close();
  });

  it('says how the hub is', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/admin/system');
    await page.getByText('Single process, 256 of 256 shards owned').waitFor();
    const health = page.getByRole('region', { name: 'Health' });
    await health.getByText(/^event loop: mean/).waitFor();
    await expect
      .poll(() => health.getByRole('term').allTextContents())
      .toEqual([
        'Lag',
        'Store',
        'Disk',
        'Key-value store',
        'Workers',
        'Connected agents',
        'Address',
        'Sign-in',
        'Version',
      ]);
    const figures = page.getByRole('region', { name: 'Node metrics' });
    await figures.getByRole('table').getByText('GET /api/v1/auth/me', { exact: true }).waitFor();
    for (const text of [/stored since start/, /no file by reeve backup/])
      await figures.getByText(text).waitFor();
    await figures.getByRole('button', { name: 'Requests' }).click();
    await figures
      .getByRole('columnheader', { name: 'Requests' })
      .and(page.locator('[aria-sort=ascending]'))
      .waitFor();
    await accessible(page);
    // A problem stands in the head with its remedy.
    await page.route('**/api/v1/health/details', async (route) => {
      const answer = await route.fetch();
      const details = await answer.json();
      await route.fulfill({ json: { ...details, storage: { ...details.storage, state: 'full' } } });
    });
    await page.reload();
    await page.getByText('Action needed: the disk is full, so writes fail. Free disk space.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('judges a call in the browser, as the hub does', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/test');
    const result = page.getByRole('region', { name: 'Result' });
    await result.getByRole('heading', { name: /denied/ }).waitFor();
    await result.getByText('/srv/app/.env').first().waitFor();
    await accessible(page);
    // Letters that are keys of the page elsewhere belong to the text: `g h` leads nowhere from here, `?` opens nothing.
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('# gh?');
    await page.locator('.cm-line').filter({ hasText: '# gh?' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await result.getByText(/same result, denied/).waitFor();
    await page.getByLabel('Tool', { exact: true }).fill('deploy');
    await result.getByRole('heading', { name: /asked/ }).waitFor();
    const cases = page.getByRole('region', { name: 'Cases' });
    await cases.getByLabel('Case name').fill('a deploy asks');
    await cases.getByRole('button', { name: 'Save case', exact: true }).click();
    await cases.getByText('1 of 1 case as expected.').waitFor();
    await cases
      .getByRole('table', { name: 'kept cases' })
      .getByText('as expected', { exact: true })
      .waitFor();
    await accessible(page);
    const folder = mkdtempSync(join(tmpdir(), 'reeve-cases-'));
    for (const [button, name] of [
      ['Download cases', 'cases.yaml'],
      ['Download document', 'bundle.yaml'],
    ] as const) {
      const download = page.waitForEvent('download');
      await cases.getByRole('button', { name: button }).click();
      await (await download).saveAs(join(folder, name));
    }
    // The agent's own program runs the files.
    const said = execFileSync(process.execPath, [...programArgs(), 'test', join(folder, 'cases.yaml')], {
      encoding: 'utf8',
    });
    expect(said).toContain('1 of 1 cases passed');
    await cases.getByRole('button', { name: 'Delete a deploy asks' }).click();
    await cases.getByLabel('Load cases').setInputFiles(join(folder, 'cases.yaml'));
    await cases.getByRole('button', { name: 'a deploy asks', exact: true }).waitFor();
    await cases.getByLabel('Load cases').setInputFiles(join(folder, 'bundle.yaml'));
    await cases.getByRole('alert').waitFor();
    rmSync(folder, { recursive: true });
    await page.getByLabel('Arguments as JSON').fill('{');
    await result.getByText(/not valid JSON/).waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('leads anywhere from the palette', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Command/ }).fill('syst');
    await accessible(page);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'System' }).waitFor();
    noFaults(visit);
    await visit.context.close();
  });
});
