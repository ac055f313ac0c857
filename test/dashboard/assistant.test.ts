// The assistant's settings in the console: chosen, asked, its usage drawn and told in numbers, forgotten.
import { afterAll, beforeAll, expect } from 'vitest';
import { type FakeProvider, startProvider } from '../ai-provider.ts';
import { itAtNight } from '../runs.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();
let provider: FakeProvider;

beforeAll(async () => {
  provider = await startProvider();
});
afterAll(async () => {
  await provider.close();
});

itAtNight('chooses an assistant, asks it, shows what it was asked, and forgets it', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/admin/assistant');
  const assistant = page.getByRole('region', { name: 'Assistant', exact: true });
  await assistant.getByLabel('Provider API key').fill('k'.repeat(20));
  await assistant.getByLabel('Model', { exact: true }).fill('a-model');
  await assistant.getByLabel('Base URL').fill(provider.url);
  await assistant.getByRole('button', { name: 'Save assistant' }).click();
  await assistant.getByText('The assistant helps you write contracts.').waitFor();
  expect(await page.content()).not.toContain('k'.repeat(20));
  provider.play({ text: ['Yes.'], usage: { input: 1_200, output: 34 } });
  await assistant.getByRole('button', { name: 'Test assistant' }).click();
  await assistant.getByText(/Test passed: a-model/).waitFor();
  const { status } = await hub.call('POST', '/api/v1/contracts/generate-description', {
    cookie,
    body: { name: 'one', type: 'pre', definition_yaml: 'tool: read_file' },
  });
  expect(status).toBe(200);
  await page.reload();
  const usage = page.getByRole('region', { name: 'Assistant usage' });
  await usage.getByText(/^[12] questions? /).waitFor();
  await usage
    .getByText(/1,200|2,400/)
    .first()
    .waitFor();
  await accessible(page);
  await usage.getByRole('button', { name: 'Show table' }).click();
  await usage
    .getByRole('table')
    .getByText(/1,200|2,400/)
    .waitFor();
  await accessible(page);
  await assistant.getByRole('button', { name: 'Remove assistant' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove assistant' }).click();
  await assistant.getByText('No assistant is configured').waitFor();
  noFaults(visit);
  await visit.context.close();
});
