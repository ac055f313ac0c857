// The help of a model, where one is configured: a description, and an answer whose YAML goes into the definition.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FakeProvider, startProvider } from '../ai-provider.ts';
import { accessible, noFaults, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';
import { library } from './seed.ts';

let provider: FakeProvider;
const { hub, cookie } = await tenantOfFile();

beforeAll(async () => {
  provider = await startProvider();
  await hub.call('POST', '/api/v1/contracts/import', { cookie, body: { yaml_content: library } });
});
afterAll(async () => {
  await provider.close();
});

it('says that there is none without a provider, and with one describes, answers in plain text, and says when it failed', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/contracts/no-secrets');
  await page.getByRole('button', { name: 'Edit contract' }).click();
  await page.getByRole('button', { name: 'Save as new version' }).waitFor();
  await page.getByText(/no model is configured/).waitFor();
  expect(await page.getByRole('button', { name: 'Open assistant' }).count()).toBe(0);
  const body = { provider: 'hosted_a', api_key: 'k'.repeat(20), model: 'm', base_url: provider.url };
  expect((await hub.call('PUT', '/api/v1/settings/ai', { cookie, body })).status).toBe(200);
  await page.reload();
  await page.getByRole('button', { name: 'Edit contract' }).click();
  provider.play({ text: ['Keeps secrets ', 'closed.'] });
  await page.getByRole('button', { name: 'Generate description' }).click();
  await expect.poll(() => page.getByLabel('Description').inputValue()).toBe('Keeps secrets closed.');
  const yaml =
    'tool: read_file\nwhen:\n  args.path: { contains: ".pem" }\nthen:\n  effect: deny\n  message: "From the model"\n';
  const rest =
    '- `one` of **two**\n- [a link](https://elsewhere.example) ![an image](https://elsewhere.example/x.png)\n';
  provider.play({ text: ['## A heading\n', rest, '\n<b>Like</b> this:\n\n```yaml\n', yaml, '```\n'] });
  await page.getByRole('button', { name: 'Open assistant' }).click();
  await page.getByLabel('Question for the assistant').fill('Deny .pem files');
  await page.getByRole('button', { name: 'Send question' }).click();
  await page.getByText('<b>Like</b> this:').waitFor();
  // Markdown, without HTML, links or images: those stay what was written.
  const answer = page.locator('.assistant-assistant');
  await expect.poll(() => answer.getByRole('listitem').count()).toBe(2);
  expect(await answer.getByRole('listitem').first().innerHTML()).toMatch(
    /<code[^>]*>one<\/code>.*<strong>two<\/strong>/,
  );
  await answer.getByText('[a link](https://elsewhere.example)').waitFor();
  expect(await answer.locator('a, img, b').count()).toBe(0);
  await page.getByRole('button', { name: 'Insert YAML' }).click();
  await page.getByRole('textbox', { name: 'Definition as YAML' }).getByText('From the model').waitFor();
  await accessible(page);
  provider.play({ status: 500 });
  await page.getByLabel('Question for the assistant').fill('Again');
  await page.getByRole('button', { name: 'Send question' }).click();
  await page.getByRole('alert').waitFor();
  await accessible(page);
  noFaults(visit);
  await visit.context.close();
});
