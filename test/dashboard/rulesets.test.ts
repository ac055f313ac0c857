// Rulesets and the audit feed in the console: one is saved, deployed, compared and rolled back; every step is in the
// feed and in the chain.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { programArgs } from '../../packages/agent/test/program.ts';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();
const folder = mkdtempSync(join(tmpdir(), 'reeve-downloads-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The public key that the hub signs with. */
async function signingKey(): Promise<string> {
  const yaml = library.replace('name: shop', 'name: keyed');
  await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml } });
  await hub.call('POST', '/api/v1/bundles/keyed/1/deploy', { cookie, body: { env: 'development' } });
  const { body } = await hub.call('GET', '/api/v1/bundles/keyed/current?env=development', { cookie });
  return body.public_key;
}

describe('rulesets and audit', () => {
  it('saves and deploys a ruleset, saves a second version, compares and deploys it, and takes it away', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/policies?view=documents');
    await page.getByText('No rulesets yet').waitFor();
    await page.getByRole('button', { name: 'New ruleset' }).click();
    const dialog = page.getByRole('dialog', { name: 'New ruleset' });
    await dialog.getByLabel('Deploy to').selectOption('staging');
    await accessible(page);
    await dialog.getByRole('button', { name: 'Save and deploy to staging' }).click();
    const panel = page.getByRole('region', { name: /^Ruleset / });
    await panel.getByText('runs v1').waitFor();
    await accessible(page);
    await panel.getByRole('button', { name: 'Edit as new version' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit ruleset' });
    await edit.getByRole('textbox', { name: 'Ruleset as YAML' }).click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('# the second\n');
    await edit.getByRole('button', { name: 'Save ruleset' }).click();
    const address = page.url();
    await panel.getByRole('button', { name: 'Deploy v2' }).click();
    const deploy = page.getByRole('region', { name: /^Change / });
    await deploy.getByText('Document (no bundle is deployed to production)').waitFor();
    await deploy.getByLabel('Environment to deploy to').selectOption('staging');
    await deploy.getByText('1 line added').waitFor();
    await deploy
      .getByRole('region', { name: 'Impact' })
      .getByText(/^No contract changes/)
      .waitFor();
    await accessible(page);
    await deploy.getByRole('button', { name: 'Deploy v2 to staging' }).click();
    const deployment = page.getByRole('region', { name: /^Deployment of / });
    await deployment.getByRole('button', { name: 'Roll back staging to v1' }).click();
    await deploy.getByRole('button', { name: 'Roll back staging to v1' }).click();
    await deployment.getByText(/v1$/).first().waitFor();
    await page.goto(address);
    await panel.getByText('runs v1').waitFor();
    await panel.getByLabel('Version', { exact: true }).selectOption('1');
    await panel.getByLabel('Compare with').selectOption('2');
    await panel.getByRole('button', { name: 'Replay v1 against v2' }).click();
    const result = panel.getByText('No agent reported a call in this period.');
    await result.waitFor();
    await accessible(page);
    // A result belongs to the environment that it was read for.
    const environment = page.getByRole('radiogroup', { name: 'Environment' });
    await environment.getByRole('radio', { name: 'Development' }).check({ force: true });
    await panel.getByText(/sessions, in development\.$/).waitFor();
    expect(await result.count()).toBe(0);
    await environment.getByRole('radio', { name: 'All' }).check({ force: true });
    await panel.getByRole('button', { name: 'Undeploy' }).click();
    await page
      .getByRole('region', { name: /^Undeploy / })
      .getByRole('button', { name: 'Undeploy from staging' })
      .click();
    await page.getByText(/undeployed from staging\.$/).waitFor();
    await page.goto(address);
    await panel.getByText('Not deployed to any environment. Select a version to deploy it.').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight('says what is wrong with a document, and takes none that does not compile', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/policies?view=documents');
    await page.getByRole('button', { name: 'New ruleset' }).click();
    const dialog = page.getByRole('dialog', { name: 'New ruleset' });
    await dialog.getByRole('textbox', { name: 'Ruleset as YAML' }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('nonsense: 1');
    await dialog.getByRole('button', { name: 'Save ruleset' }).click();
    await dialog.getByRole('alert').waitFor();
    noFaults(visit);
    await visit.context.close();
  });

  it('deploys a ruleset with errors only after its person typed the environment', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/policies?view=documents');
    await page.getByRole('button', { name: 'New ruleset' }).click();
    const dialog = page.getByRole('dialog', { name: 'New ruleset' });
    await dialog.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.insertText(
      '\n  - {id: broken, type: pre, tool: refund, when: {argz.path: {equals: 1}}, then: {action: block, message: no}}',
    );
    await dialog.getByLabel('Deploy to').selectOption('development');
    await dialog.getByRole('button', { name: 'Save and deploy to development' }).click();
    await dialog.getByLabel('Reason').fill('it must be');
    const force = dialog.getByRole('button', { name: 'Save despite errors' });
    const word = dialog.getByLabel('Type development to confirm');
    await word.fill('staging');
    expect(await force.isDisabled()).toBe(true);
    await accessible(page);
    // Without a deployment, nothing is to be typed.
    await dialog.getByLabel('Deploy to').selectOption('');
    await expect.poll(() => force.isEnabled()).toBe(true);
    await dialog.getByLabel('Deploy to').selectOption('development');
    expect(await force.isDisabled()).toBe(true);
    await word.fill('development');
    await force.click();
    await page.getByText(/^v\d saved; deployed to development/).waitFor();
    await visit.context.close();
  });

  it('shows who did what, filters it in the address, and downloads a chain that the offline check takes', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/audit?subject=ruleset');
    const table = page.getByRole('table');
    await table.getByText('ruleset deployed').first().waitFor();
    expect(await table.getByText(/^login /).count()).toBe(0);
    await accessible(page);
    await table.getByRole('row').nth(1).getByRole('button').click();
    const panel = page.getByRole('complementary', { name: 'Audit entry' });
    await panel.getByText('admin@example.com').first().waitFor();
    await accessible(page);
    await panel.getByRole('button', { name: 'Close' }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download chain' }).click();
    const file = join(folder, 'chain.ndjson');
    await (await downloading).saveAs(file);
    const said = execFileSync(process.execPath, [...programArgs(), 'verify', file], { encoding: 'utf8' });
    expect(said).toMatch(/are unchanged and complete/);
    // The same in the browser, by a key that the reader pinned, and of a file that somebody changed.
    const chain = page.getByRole('region', { name: 'Audit chain' });
    await chain.getByRole('button', { name: 'Verify chain' }).click();
    await chain.getByText('Intact, signer unknown.').waitFor();
    await chain.getByText('no pinned keys').click();
    await chain.getByLabel('Public key to pin').fill(await signingKey());
    await chain.getByRole('button', { name: 'Pin key' }).click();
    await chain.getByText('Verified.').waitFor();
    await chain.getByText(/signed by a trusted key/).waitFor();
    await accessible(page);
    const [first = '', second = '', ...rest] = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, [first, second.replace('"entry":{', '"entry":{"added":1,'), ...rest].join('\n'));
    await chain.getByLabel('Verify file').setInputFiles(file);
    await chain.getByText(/Verification failed:.*line 2 link 2 was changed/).waitFor();
    writeFileSync(file, [first, ...rest].join('\n'));
    await chain.getByLabel('Verify file').setInputFiles(file);
    await chain.getByText(/a line was removed, added or moved/).waitFor();
    await accessible(page);
    noFaults(visit);
    await visit.context.close();
  });

  itAtNight(
    'shows what comes, behind a word while an entry is read, whether a frame tells of it or not',
    async () => {
      const visit = await view(hub.url, { cookie });
      const { page } = visit;
      await page.goto('/dashboard/audit');
      const table = page.getByRole('table');
      await table.getByText('ruleset deployed').first().waitFor();
      // A frame tells of a deployment, none of a person.
      const name = 'told';
      const yaml = library.replace('name: shop', `name: ${name}`);
      await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml } });
      await hub.call('POST', `/api/v1/bundles/${name}/1/deploy`, { cookie, body: { env: 'staging' } });
      const said = `Version 1 of ${name} was deployed to staging.`;
      await table.getByRole('cell', { name: said, exact: true }).waitFor();
      await table.getByRole('row').nth(1).getByRole('button').click();
      const panel = page.getByRole('complementary', { name: 'Audit entry' });
      await panel.getByText(/was deployed to staging/).waitFor();
      const person = { email: hub.emailOf('quiet'), password: 'correct horse battery' };
      expect((await hub.call('POST', '/api/v1/users', { cookie, body: person })).status).toBe(201);
      const pill = page.locator('.pill').filter({ hasText: 'Show new entries' });
      await pill.waitFor({ timeout: 30_000 });
      expect(await table.getByText(person.email).count()).toBe(0);
      await panel.getByRole('button', { name: 'Close' }).click();
      await table.getByText(person.email).first().waitFor();
      noFaults(visit);
      await visit.context.close();
    },
  );
});
