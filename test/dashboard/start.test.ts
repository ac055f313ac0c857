// The first steps on an empty hub: each is ticked when the hub hears of it, and what is shown to run does run.
import { spawn } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import { accessible, noFaults, startedHub, view } from './browser.ts';

const { hub, cookie } = await startedHub();
afterAll(() => hub.remove());

describe('the first steps', () => {
  it('can be looked at with the sample run, which goes away without a trace', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/');
    await page.getByRole('button', { name: 'Or load the sample run' }).click();
    await page.getByText('The sample run is there.').waitFor();
    await accessible(page);
    await page.getByRole('link', { name: 'Look at its calls' }).click();
    await page.getByRole('table', { name: 'events' }).getByRole('button').first().waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Three steps to a governed agent' }).waitFor();
    await page.getByRole('button', { name: 'Or load the sample run' }).click();
    await page.getByRole('link', { name: 'Decide its call' }).click();
    await page
      .getByRole('article')
      .getByRole('button', { name: /^Approve/ })
      .waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Or load the sample run' }).click();
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.getByRole('button', { name: 'Or load the sample run' }).waitFor();
    expect((await hub.call('GET', '/api/v1/approvals', { cookie })).body).toEqual([]);
    noFaults(seen);
    await seen.context.close();
  });

  it('end with an agent that runs the snippet, is heard, and is denied its first call', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/');
    await page.getByRole('heading', { name: 'Three steps to a governed agent' }).waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Create key for production' }).click();
    await page.getByText('Waiting to hear its stream.').waitFor();
    await page.getByRole('button', { name: 'Deploy the starter to production' }).click();
    await page.getByRole('button', { name: 'Deploy the starter to production' }).waitFor({ state: 'hidden' });
    const languages = ['curl', 'Python', 'TypeScript'];
    const shown: { [language: string]: string } = {};
    for (const language of languages) {
      await page.getByLabel('Language').selectOption(language);
      shown[language] = (await page.locator('pre.code').textContent()) ?? '';
    }
    for (const text of Object.values(shown)) expect(text).toContain(`${hub.url}`);
    // As a person would: the text as it stands, in a file of a project that has the library.
    const agent = spawn(process.execPath, ['--input-type=module', '-e', shown.TypeScript ?? '']);
    let said = '';
    agent.stdout.on('data', (part) => {
      said += part;
    });
    agent.stderr.on('data', (part) => {
      said += part;
    });
    try {
      await page.getByText(/The hub heard first-agent open its stream/).waitFor();
      await page.getByRole('heading', { name: 'An agent is governed by this hub' }).waitFor();
      await accessible(page);
      await expect.poll(() => said).toContain('Secrets stay where they are');
    } finally {
      agent.kill();
    }
    noFaults(seen);
    await seen.context.close();
  });
});
