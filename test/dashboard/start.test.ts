// The first steps on an empty hub: each is ticked when the hub hears of it, and what is shown to run does run.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { rowsOfCommit } from '../runs.ts';
import { accessible, noFaults, startedHub, view } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();

describe('the first steps', () => {
  it('can be looked at with the sample run, which goes away without a trace', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    await page.getByRole('button', { name: 'Load sample run' }).click();
    await page.getByText('Sample run loaded.').waitFor();
    await accessible(page);
    await page.getByRole('link', { name: 'View sample calls' }).click();
    await page.getByRole('grid', { name: 'Events' }).getByRole('link').first().waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Govern your first agent in three steps' }).waitFor();
    await page.getByRole('button', { name: 'Load sample run' }).click();
    await page.getByRole('link', { name: 'Decide sample call' }).click();
    // Home has a card of the call too: going back before the page has changed would leave Home as it is.
    await page.getByRole('heading', { name: 'Approval', level: 1 }).waitFor();
    await page
      .getByRole('article')
      .getByRole('button', { name: /^Approve/ })
      .waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Load sample run' }).click();
    await page.getByRole('button', { name: 'Delete sample run' }).click();
    await page.getByRole('button', { name: 'Load sample run' }).waitFor();
    expect((await hub.call('GET', '/api/v1/approvals', { cookie })).body).toEqual([]);
    noFaults(visit);
    await visit.context.close();
  });

  it('end with an agent that runs the snippet, is heard, and is denied its first call', async () => {
    const visit = await view(hub.url, { cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    await page.getByRole('heading', { name: 'Govern your first agent in three steps' }).waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Create key for production' }).click();
    await page.getByText('Waiting for the agent to connect.').waitFor();
    await page.getByRole('button', { name: 'Deploy starter to production' }).click();
    await page.getByRole('button', { name: 'Deploy starter to production' }).waitFor({ state: 'hidden' });
    // As a person would: the text as it stands, in a file of a project that has the library.
    const agent = started(process.execPath, ['--input-type=module', '-e', await snippet(page, 'TypeScript')]);
    try {
      await page.getByText(/Agent first-agent connected/).waitFor();
      await page.getByRole('heading', { name: 'Your first agent is governed' }).waitFor();
      await accessible(page);
      await expect.poll(agent.said).toContain('Secrets stay where they are');
    } finally {
      await agent.stop();
    }
    noFaults(visit);
    await visit.context.close();
  });
});

/** The command on the page, in a language. */
async function snippet(page: Page, language: string): Promise<string> {
  await page.getByLabel('Language').selectOption(language);
  const text = (await page.locator('pre.code').textContent()) ?? '';
  expect(text).toContain(new URL(page.url()).origin);
  return text;
}

/** A program that runs on, and what it said so far. */
function started(command: string, args: readonly string[]) {
  const child = spawn(command, args);
  const ended = once(child, 'exit');
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part) => {
      said += part;
    });
  }
  return {
    said: () => said,
    async stop(): Promise<void> {
      child.kill();
      await ended;
    },
  };
}

const choice = rowsOfCommit(
  [
    ['Python', 'python3', '-c'],
    ['curl', 'sh', '-c'],
  ] as const,
  1,
);

describe.each(choice.rows)(`the first steps in %s (SEED=${choice.seed})`, (language, command, flag) => {
  it('end with the stream of the agent, open and told what is deployed', async () => {
    const own = await startedHub();
    const visit = await view(own.hub.url, { cookie: own.cookie });
    const { page } = visit;
    await page.goto('/dashboard/');
    await page.getByRole('button', { name: 'Deploy starter to production' }).click();
    await page.getByRole('button', { name: 'Create key for production' }).click();
    await page.getByText('Waiting for the agent to connect.').waitFor();
    const agent = started(command, [flag, await snippet(page, language)]);
    try {
      await page.getByText(/Agent first-agent connected/).waitFor();
      await page.getByRole('heading', { name: 'Your first agent is governed' }).waitFor();
      await expect.poll(agent.said).toContain('event: contract_update');
    } finally {
      await agent.stop();
    }
    noFaults(visit);
    await visit.context.close();
    await own.hub.remove();
  });
});
