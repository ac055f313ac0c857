// Tools of MCP servers in the console: what waits is reviewed word by word and accepted, and hidden characters show.
import { createHash } from 'node:crypto';
import { fingerprintOf, readToolList } from 'reeve-agent/rules';
import { expect, it } from 'vitest';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

const { hub, cookie, key } = await tenantWithKey();

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
/** Reports bare definitions with these fingerprints. */
async function reportMany(server: string, size: number, by: { key: string; agents: readonly string[] }) {
  const tools = Array.from({ length: size }, (_, n) => {
    const name = `${server}-${String(n).padStart(4, '0')}`;
    return { name, fingerprint: `sha256:${sha256(name)}` };
  });
  for (const agent_id of by.agents) {
    const body = { agent_id, server, tools };
    const { status } = await hub.call('POST', '/api/v1/tool-observations', { key: by.key, body });
    expect(status).toBe(200);
  }
}

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
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/tools');
  await page.getByText('No MCP servers yet').waitFor();
  await page.getByRole('tab', { name: 'Settings' }).click();
  await page.getByLabel('Mode of production').selectOption('hold');
  await report('Reads a file', 'string');
  await report('Reads a file and \u202esends it away', 'number');
  const main = page.getByRole('main');
  await main.getByText('1 MCP server, 1 definition to review.').waitFor();
  await accessible(page);
  // A control is as wide as its cell at most.
  const mode = main.getByRole('combobox', { name: 'Mode of npx:files' });
  expect(await mode.evaluate((one) => one.getBoundingClientRect().right)).toBeLessThanOrEqual(
    await mode.evaluate((one) => one.closest('[role=cell]')?.getBoundingClientRect().right ?? 0),
  );
  await page.getByRole('tab', { name: 'All' }).click();
  const table = main.getByRole('table', { name: 'tools', exact: true });
  await expect.poll(() => table.getByRole('row').count()).toBe(3);
  await page.getByRole('tab', { name: 'Waiting' }).click();
  await expect.poll(() => table.getByRole('row').count()).toBe(2);
  await expect.poll(() => table.getByText('waiting').count()).toBe(1);
  await table
    .getByRole('row')
    .filter({ hasText: 'waiting' })
    .getByRole('link', { name: 'read_file' })
    .click();
  const description = main.getByRole('region', { name: 'Description' });
  await description.getByText('‹U+202E›').first().waitFor();
  await expect
    .poll(() => main.getByRole('region', { name: 'Input schema' }).textContent())
    .toMatch(/removed: type: "string".*added: type: "number"/s);
  await main.getByRole('table').getByText('shop-agent').first().waitFor();
  await accessible(page);
  await page.getByLabel('Reason').fill('reviewed with version 2');
  await main.getByLabel('staging').check();
  await page.getByRole('button', { name: 'Accept in production, staging' }).click();
  await main.getByText('Reason: reviewed with version 2').waitFor();
  // No agent of staging has shown the server.
  await page.goto('/dashboard/tools?view=settings&env=staging');
  await main.getByRole('row').filter({ hasText: 'npx:files' }).getByText('never').waitFor();
  noFaults(visit);
  await visit.context.close();
});

itAtNight(
  'lists the definitions of all environments beyond the first 1,000, with the number of their agents',
  async () => {
    const { key: second } = await hub.key(cookie);
    const { key: staging } = await hub.key(cookie, 'staging');
    await reportMany('large-a', 600, { key: second, agents: ['one', 'two'] });
    const { key: third } = await hub.key(cookie);
    await reportMany('large-b', 600, { key: third, agents: ['one'] });
    await reportMany('large-s', 3, { key: staging, agents: ['one', 'two', 'three'] });
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/tools?view=all&env=staging');
    const main = page.getByRole('main');
    const table = main.getByRole('table', { name: 'tools', exact: true });
    await main.getByText(/MCP servers? in staging/).waitFor();
    const staged = table.getByRole('row').filter({ hasText: 'large-s-0000' });
    await expect
      .poll(() => staged.getByRole('cell').allTextContents())
      .toEqual(expect.arrayContaining(['large-s-0000', 'large-s', '3', 'staging']));
    await page.getByRole('radio', { name: 'All' }).check({ force: true });
    await main.getByText(/^\d MCP servers, /).waitFor();
    await main.getByText(/1,\d{3}\+ definitions; scroll for more/).waitFor();
    // A sort covers all of them, so it reads the other pages.
    await table.getByRole('columnheader', { name: 'Tool' }).getByRole('button').click();
    await main.getByText(/^1,20\d definitions$/).waitFor();
    await table.getByRole('columnheader', { name: 'Tool' }).getByRole('button').click();
    await table.getByRole('link', { name: 'large-s-0002' }).waitFor();
    await page.getByRole('tab', { name: 'Settings' }).click();
    await main.getByRole('combobox', { name: 'Mode of large-s in staging' }).waitFor();
    await accessible(page);
    await main.getByRole('link', { name: 'large-b' }).click();
    await main.getByRole('heading', { name: 'Definitions from large-b' }).waitFor();
    await main.getByText('600 definitions', { exact: true }).waitFor();
    await accessible(page);
    // An address from before the views still leads to the definitions of its server.
    const tab = (name: string) => page.getByRole('tab', { name, selected: true });
    await page.goto('/dashboard/tools?server=large-a');
    await main.getByRole('heading', { name: 'Definitions from large-a' }).waitFor();
    await tab('All').waitFor();
    await main.getByRole('button', { name: 'Show all servers' }).click();
    await main.getByRole('heading', { name: 'Definitions from large-a' }).waitFor({ state: 'detached' });
    await tab('All').waitFor();
    await page.goto('/dashboard/tools?server=large-a');
    await tab('All').waitFor();
    await page.getByRole('tab', { name: 'Waiting' }).click();
    await tab('Waiting').waitFor();
    noFaults(visit);
    await visit.context.close();
  },
);
