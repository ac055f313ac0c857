// Pictures of every page of the console, wide and narrow, light and dark: node --import tsx
// test/dashboard/screenshots.ts FOLDER [PAGE...] Not a test: `npm run screenshots` runs it, and people look at what it
// made.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { adminPages, ownPages, pages } from '../../src/dashboard/pages/registry.ts';
import { browser, startedHub, view } from './browser.ts';
import { seed } from './seed.ts';

const [folder = 'dist/screenshots', ...wanted] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const { hub, cookie } = await startedHub();
try {
  const details = await seed(hub, cookie);
  const places = [
    ...[...pages, ...adminPages, ...ownPages].map(({ path, label }) => ({
      name: label.toLowerCase().replaceAll(' ', '-'),
      path,
    })),
    ...Object.entries(details).map(([name, path]) => ({ name, path })),
  ].filter(({ name }) => wanted.length === 0 || wanted.includes(name));
  for (const theme of ['light', 'dark'] as const) {
    for (const [width, height] of [
      [1440, 900],
      [360, 740],
    ] as const) {
      const visit = await view(hub.url, { theme, width, height, cookie });
      for (const { name, path } of places) {
        await visit.page.goto(`/dashboard${path}`);
        await visit.page.locator('main h1').first().waitFor();
        await visit.page.waitForTimeout(800);
        await visit.page.locator('.chart-place:not(:has(canvas))').first().waitFor({ state: 'hidden' });
        // A drawing that is there is painted with the next frames.
        await visit.page.waitForTimeout(300);
        await visit.page.screenshot({ path: join(folder, `${name}-${width}-${theme}.png`) });
      }
      await visit.context.close();
      if (visit.faults.length > 0) process.stderr.write(`${visit.faults.join('\n')}\n`);
    }
  }
} finally {
  await (await browser()).close();
  await hub.remove();
}
