// Evidence for others: what an audit entry changed, and files of one run and of a period of the audit chain.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nodeCrypto } from '../../packages/agent/src/cli/signed.ts';
import { ChainCheck } from '../../packages/agent/src/evidence/chain.ts';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await tenantOfFile();
const folder = mkdtempSync(join(tmpdir(), 'reeve-downloads-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  const imported = { cookie, body: { yaml_content: library } };
  expect((await hub.call('POST', '/api/v1/contracts/import', imported)).status).toBeLessThan(300);
  const changed = { cookie, body: { description: 'No secret leaves' } };
  expect((await hub.call('PUT', '/api/v1/contracts/no-secrets', changed)).status).toBe(200);
  await hub.key(cookie);
});

/** The file that a press saves. */
async function fileOf(page: Page, button: Locator): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  const path = join(folder, 'download');
  await download.saveAs(path);
  return { name: download.suggestedFilename(), text: readFileSync(path, 'utf8') };
}

itAtNight(
  'shows environments and reasons in the audit list, and of an entry the fields before and after',
  async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/audit?q=action%3Acontract.updated');
    const list = page.getByRole('table', { name: 'audit entries' });
    for (const name of ['Environment', 'Reason']) await list.getByRole('columnheader', { name }).waitFor();
    await list.locator('.cell-link').first().click();
    const change = page.getByRole('table', { name: 'Change', exact: true });
    const row = change.getByRole('row', { name: /^description/ });
    await row.getByRole('cell', { name: 'No secret leaves' }).waitFor();
    await expect
      .poll(() => change.getByRole('columnheader').allTextContents())
      .toEqual(['Field', 'Before', 'After']);
    await accessible(page);
    await page.goto('/dashboard/audit?q=action%3Akey.created');
    await list.getByRole('cell', { name: 'production' }).first().waitFor();
    noFaults(visit);
    await visit.context.close();
  },
);

it('saves the bundle of one run, and the chain of a period that the offline check takes', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/runs');
  await page.getByRole('button', { name: 'Load sample run' }).click();
  await page.getByRole('link', { name: 'sample-session' }).waitFor();
  await page.goto('/dashboard/evidence');
  const run = page.getByRole('form', { name: 'Run' });
  const save = run.getByRole('button', { name: 'Download run' });
  expect(await save.isDisabled()).toBe(true);
  await run.getByLabel('Agent').fill('sample-agent');
  await run.getByLabel('Session').fill('no-such-session');
  await save.click();
  await run.getByText(/not found/i).waitFor();
  await accessible(page);
  await run.getByLabel('Session').fill('sample-session');
  const bundle = await fileOf(page, save);
  expect(bundle.name).toBe('decision-bundle-sample-agent-sample-session.json');
  expect(JSON.parse(bundle.text).signatures).toHaveLength(1);
  const range = page.getByRole('form', { name: 'Range of the audit chain' });
  // By default the last day, with the present minute.
  const end = range.getByLabel(/^To/);
  const chain = await fileOf(page, range.getByRole('button', { name: 'Download range' }));
  expect(chain.name).toMatch(/^audit-\d{4}-\d\d-\d\dT\d{4}-.*\.ndjson$/);
  // A file that is dropped on the button is verified like a chosen one.
  const drop = async (name: string, text: string): Promise<void> => {
    const dataTransfer = await page.evaluateHandle(
      `(() => { const all = new DataTransfer(); all.items.add(new File([${JSON.stringify(text)}], 'file')); return all; })()`,
    );
    await page.locator('label', { hasText: name }).dispatchEvent('drop', { dataTransfer });
  };
  await drop('Verify bundle file', bundle.text);
  await page.getByText('Intact, signer unknown.').waitFor();
  await drop('Verify bundle file', 'no bundle');
  await page.getByText(/^Verification failed:/).waitFor();
  await drop('Verify file', chain.text);
  await page.getByRole('region', { name: 'Audit chain', exact: true }).getByRole('status').first().waitFor();
  await accessible(page);
  const check = new ChainCheck([], nodeCrypto);
  const lines = chain.text.trimEnd().split('\n');
  for (const line of lines) expect(await check.take(line)).toBeNull();
  expect(check.end()).toBeNull();
  expect(lines.some((line) => line.includes('contract.updated'))).toBe(true);
  await range.getByLabel(/^From/).fill('2001-01-01T00:00');
  await end.fill('2001-01-02T00:00');
  await range.getByRole('button', { name: 'Download range' }).click();
  await range.getByText(/has no entries/).waitFor();
  // A long download tells its progress, and stops.
  await page.route('**/v1/audit/export?**', () => undefined);
  await range.getByRole('button', { name: 'Download range' }).click();
  await range.getByText('Reading part 1…').waitFor();
  await accessible(page);
  await range.getByRole('button', { name: 'Stop' }).click();
  await expect.poll(() => range.getByText('Reading part').count()).toBe(0);
  await expect.poll(() => range.getByRole('button', { name: 'Download range' }).isEnabled()).toBe(true);
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Download range');
  expect(await range.getByRole('alert').count()).toBe(0);
  noFaults(visit);
  await visit.context.close();
});

it('keeps the instants of a period when the time zone changes', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/evidence');
  const range = page.getByRole('form', { name: 'Range of the audit chain' });
  await range.getByLabel('From (local time)').fill('2026-01-05T11:00');
  await range.getByLabel('To (local time)').fill('2026-07-05T12:30');
  const switchZone = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Show times in UTC' }).click();
  };
  await switchZone();
  // Berlin is one hour ahead in winter, and two in summer.
  await expect.poll(() => range.getByLabel('From (UTC)').inputValue()).toBe('2026-01-05T10:00');
  expect(await range.getByLabel('To (UTC)').inputValue()).toBe('2026-07-05T10:30');
  await page.getByRole('menuitemcheckbox', { name: 'Show times in UTC' }).click();
  await expect.poll(() => range.getByLabel('From (local time)').inputValue()).toBe('2026-01-05T11:00');
  noFaults(visit);
  await visit.context.close();
});
