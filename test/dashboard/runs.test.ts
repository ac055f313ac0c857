// Runs in the console: one as a timeline, and its signed evidence verified in the browser by keys that the reader
// pinned.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/dashboard/lib/sha256.ts';
import type { HubProcess } from '../e2e/process.ts';
import { accessible, noFaults, startedHub, view } from './browser.ts';

let hub: HubProcess;
let cookie: string;

beforeAll(async () => {
  ({ hub, cookie } = await startedHub());
});
afterAll(() => hub.remove());

describe('the runs page', () => {
  it('loads the sample run, shows it as a timeline, and verifies its evidence by a pinned key', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    await page.goto('/dashboard/runs');
    await page.getByText('There is no run yet').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Load the sample run' }).click();
    await page.getByRole('table').getByRole('button', { name: 'sample-session' }).click();
    const panel = page.getByRole('dialog', { name: 'Run' });
    const timeline = panel.getByRole('region', { name: 'Timeline' });
    await timeline.getByText('blocked').first().waitFor();
    await timeline.getByText('deploy_service').first().click();
    await panel.getByRole('region', { name: 'Workflow' }).getByText('active').waitFor();
    await accessible(page);
    const evidence = panel.getByRole('region', { name: 'Evidence' });
    await evidence.getByRole('button', { name: 'Verify the bundle' }).click();
    await evidence.getByText('Whole, but by whom?').waitFor();
    await evidence.getByRole('button', { name: 'Pin this key' }).click();
    await evidence.getByText(/are whole and signed by your pinned key .*checked by Web Crypto/).waitFor();
    await accessible(page);
    const download = page.waitForEvent('download');
    await evidence.getByRole('button', { name: 'Download it' }).click();
    expect((await download).suggestedFilename()).toBe('decision-bundle-sample-agent-sample-session.json');
    noFaults(seen);
    await seen.context.close();
  });

  it('refuses a bundle that no pinned key signed, and checks with tweetnacl where Web Crypto is hidden', async () => {
    const seen = await view(hub.url, { cookie });
    const { page } = seen;
    // As it is on plain http beyond this machine.
    await seen.context.addInitScript(
      `Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined });`,
    );
    await page.goto('/dashboard/runs?agent=sample-agent&session=sample-session');
    const evidence = page.getByRole('region', { name: 'Evidence' });
    await evidence.getByText('no pinned keys').click();
    await evidence.getByLabel('Public key to pin').fill('58'.padEnd(64, '6'));
    await evidence.getByRole('button', { name: 'Pin key' }).click();
    await evidence.getByRole('button', { name: 'Verify the bundle' }).click();
    await evidence.getByText(/Do not rely on it:.*not signed by a key that you trust/).waitFor();
    await evidence.getByRole('button', { name: 'Pin this key' }).click();
    await evidence.getByText(/are whole and signed by your pinned key .*checked by tweetnacl/).waitFor();
    noFaults(seen);
    await seen.context.close();
  });

  it('says what is not there, and filters by status in the address', async () => {
    const seen = await view(hub.url, { cookie, width: 360, height: 740 });
    const { page } = seen;
    await page.goto('/dashboard/runs?agent=nobody&session=nothing');
    await page.getByText('There is no such run.').waitFor();
    await page.goto('/dashboard/runs?status=stale');
    await page.getByText('No run fits').waitFor();
    await accessible(page);
    noFaults(seen);
    await seen.context.close();
  });

  it('hashes as Node does where Web Crypto is hidden', () => {
    for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1_000]) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 31) % 256);
      expect(Buffer.from(sha256(bytes)).toString('hex')).toBe(
        createHash('sha256').update(bytes).digest('hex'),
      );
    }
  });
});
