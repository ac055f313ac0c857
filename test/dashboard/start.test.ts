// The first steps on an empty hub: each is ticked when the hub hears of it.
import { afterAll, describe, expect, it } from 'vitest';
import { accessible, noFaults, startedHub, view } from './browser.ts';

const { hub, cookie } = await startedHub();
afterAll(() => hub.remove());

describe('the first steps', () => {
  it('end with an agent that the hub heard, and with a bundle that is deployed', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/');
    await page.getByRole('heading', { name: 'Three steps to a governed agent' }).waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Create key for production' }).click();
    const snippet = await page.getByText(/^curl -N/).textContent();
    const key = /Bearer (\S+)'/.exec(snippet ?? '')?.[1] ?? '';
    await page.getByText('Waiting to hear of it.').waitFor();
    const stop = new AbortController();
    const stream = await fetch(`${hub.url}/api/v1/stream?env=production`, {
      headers: { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': 'first-agent' },
      signal: stop.signal,
    });
    expect(stream.status).toBe(200);
    await page.getByText('The hub heard first-agent.').waitFor();
    await page.getByRole('button', { name: 'Deploy the starter to production' }).click();
    await page.getByRole('heading', { name: 'An agent is governed by this hub' }).waitFor();
    await accessible(page);
    stop.abort();
    noFaults(seen);
    await seen.context.close();
  });
});
