// New events in the console: the list follows live, and holds still while a person reads it.
import { describe, expect, it } from 'vitest';
import { noFaults, view } from './browser.ts';
import { tenantWithKey } from './file-hub.ts';

const { hub, cookie, key } = await tenantWithKey();

const send = async (events: readonly object[]): Promise<void> => {
  const { status } = await hub.call('POST', '/api/v1/events', {
    key,
    agent: 'shop-agent-0',
    body: { events },
  });
  expect(status).toBe(200);
};

describe('the list of events', () => {
  it('follows live, holds still while one is read, and says how many came', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/explore?agent_id=late-agent&from=now-1h');
    await page.getByText('No events match these filters').waitFor();
    await page
      .getByRole('status')
      .filter({ hasText: /^Live$/ })
      .waitFor();
    const event = (n: number): object => ({
      call_id: `late-${n}`,
      agent_id: 'late-agent',
      tool_name: `late_${n}`,
      verdict: 'call_allowed',
      mode: 'enforce',
      timestamp: new Date().toISOString(),
      payload: { tool_args: { n } },
    });
    await send([event(1)]);
    await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'late_1' }).click();
    await send([event(2)]);
    await page.getByRole('button', { name: /Show 1 new event from the whole hub/ }).click();
    await page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: 'late_2' }).waitFor();
    noFaults(seen);
    await seen.context.close();
  });

  it('holds still while the focus is in a row, and then shows all without a press', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/explore?agent_id=focus-agent&from=now-1h');
    await page.getByText('No events match these filters').waitFor();
    await page
      .getByRole('status')
      .filter({ hasText: /^Live$/ })
      .waitFor();
    const event = (n: number): object => ({
      call_id: `focus-${n}`,
      agent_id: 'focus-agent',
      tool_name: `focus_${n}`,
      verdict: 'call_allowed',
      mode: 'enforce',
      timestamp: new Date().toISOString(),
      payload: { tool_args: { n } },
    });
    const link = (n: number) =>
      page.getByRole('grid', { name: 'Events' }).getByRole('link', { name: `focus_${n}` });
    const pill = page.getByRole('button', { name: /^Show \d+ new events? from the whole hub$/ });
    await send([event(1)]);
    await link(1).focus();
    await send([event(2), event(3)]);
    await page.getByRole('button', { name: 'Show 2 new events from the whole hub' }).waitFor();
    expect(await link(2).count()).toBe(0);
    await link(1).blur();
    await send([event(4)]);
    for (const n of [1, 2, 3, 4]) await link(n).waitFor();
    await pill.waitFor({ state: 'detached' });
    noFaults(seen);
    await seen.context.close();
  });
});
