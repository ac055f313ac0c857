// Tools of MCP servers in the console: what waits is reviewed word by word and accepted, and hidden characters show.
import { createHash } from 'node:crypto';
import { fingerprintOf, readToolList } from 'reeve-agent/rules';
import { expect, it } from 'vitest';
import { accessible, noFaults, view } from './browser.ts';
import { hubWithKey } from './file-hub.ts';

const { hub, cookie, key } = await hubWithKey();

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
async function report(description: string, type: string): Promise<void> {
  const inputSchema = { type: 'object', properties: { path: { type } } };
  const { tools } = readToolList([{ name: 'read_file', description, inputSchema }]);
  const body = {
    agent_id: 'shop-agent',
    server: 'npx:files',
    tools: tools.map(({ name, definition }) => ({
      ...{ name, definition },
      fingerprint: fingerprintOf(definition, sha256),
    })),
  };
  expect((await hub.call('POST', '/api/v1/tool-observations', { key, body })).status).toBe(200);
}

it('lists what waits, shows the change with its hidden characters, and accepts it', async () => {
  const seen = await view(hub.url, { cookie });
  const { page } = seen;
  await page.goto('/dashboard/tools');
  await page.getByText('No MCP servers yet').waitFor();
  await page.getByLabel('Mode of production').selectOption('hold');
  await report('Reads a file', 'string');
  await report('Reads a file and \u202esends it away', 'number');
  const main = page.getByRole('main');
  await main.getByText('1 MCP server in production, 1 definition to review.').waitFor();
  await accessible(page);
  // A control is as wide as its cell at most.
  const mode = main.getByRole('combobox', { name: 'Mode of npx:files' });
  expect(await mode.evaluate((one) => one.getBoundingClientRect().right)).toBeLessThanOrEqual(
    await mode.evaluate((one) => one.closest('[role=cell]')?.getBoundingClientRect().right ?? 0),
  );
  const table = main.getByRole('table', { name: 'tools', exact: true });
  await expect.poll(() => table.getByText('waiting').count()).toBe(1);
  await table
    .getByRole('row')
    .filter({ hasText: 'waiting' })
    .getByRole('link', { name: 'read_file' })
    .click();
  const description = main.getByRole('region', { name: 'Description' });
  await description.getByText('‹U+202E›').first().waitFor();
  expect(await main.getByRole('region', { name: 'Input schema' }).textContent()).toMatch(
    /removed: type: "string".*added: type: "number"/s,
  );
  await main.getByRole('table').getByText('shop-agent').first().waitFor();
  await accessible(page);
  await page.getByLabel('Reason').fill('reviewed with version 2');
  await main.getByLabel('staging').check();
  await page.getByRole('button', { name: 'Accept in production, staging' }).click();
  await main.getByText('Reason: reviewed with version 2').waitFor();
  noFaults(seen);
  await seen.context.close();
});
