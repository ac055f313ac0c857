// The help of a model, where one is configured: a description, and an answer whose YAML goes into the definition.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FakeProvider, startProvider } from '../ai-provider.ts';
import { accessible, go, noFaults, view } from './browser.ts';
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

it('keeps the conversation while it is hidden, a description that a person typed, and no request behind its page', async () => {
  const body = { provider: 'hosted_a', api_key: 'k'.repeat(20), model: 'm', base_url: provider.url };
  expect((await hub.call('PUT', '/api/v1/settings/ai', { cookie, body })).status).toBe(200);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/contracts/no-secrets');
  await page.getByRole('button', { name: 'Edit contract' }).click();
  const description = page.getByLabel('Description');
  const before = await description.inputValue();
  provider.play({ text: ['From the model.'] });
  let answer = (): void => undefined;
  const isTyped = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route('**/generate-description', async (route) => {
    await isTyped;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Generate description' }).click();
  await description.fill('From a person.');
  answer();
  const use = page.getByRole('button', { name: 'Use this description' });
  await use.waitFor();
  await accessible(page);
  expect(await description.inputValue()).toBe('From a person.');
  await use.click();
  expect(await description.inputValue()).toBe('From the model.');
  await use.waitFor({ state: 'detached' });
  await description.fill(before);
  await page.getByRole('button', { name: 'Open assistant' }).click();
  const question = page.getByLabel('Question for the assistant');
  provider.play({ text: ['An answer without an end'], then: 'silence' });
  await question.fill('How long?');
  await page.getByRole('button', { name: 'Send question' }).click();
  await page.getByText('An answer without an end').waitFor();
  await question.fill('And the next one?');
  await page.getByRole('button', { name: 'Hide assistant' }).click();
  await question.waitFor({ state: 'hidden' });
  await accessible(page);
  await page.getByRole('button', { name: 'Open assistant' }).click();
  await page.getByText('An answer without an end').waitFor();
  expect(await question.inputValue()).toBe('And the next one?');
  await page.getByRole('button', { name: 'Stop answer' }).waitFor();
  const [request] = provider.requests;
  await go(page, '/fleet');
  await question.waitFor({ state: 'detached' });
  await request?.closed;
  noFaults(visit);
  await visit.context.close();
});
